import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from core.errors import ToolscriptError
from tools_catalog.services.reindex import index_refresh
from tools_catalog.services.spaces import spaces_drop_others


class Command(BaseCommand):
    help = (
        "Brings the search index up to date. With another embedding model (--model, or TOOLSCRIPT_EMBEDDING_MODEL), "
        "builds its vectors beside the old ones and switches over when they are complete; searches answer all the "
        "while. Interrupted, it goes on where it was. Example: manage.py reembed --model all-MiniLM-L6-v2"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", help="default: TOOLSCRIPT_EMBEDDING_MODEL, else the live one")
        parser.add_argument("--drop-old", action="store_true", help="then delete the vectors of all other models")

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_switching_back(options["model"])
        try:
            with index_progress() as report:
                space = index_refresh(options["model"], report)
        except ToolscriptError as exc:
            raise CommandError(exc.message) from None
        if space is None:
            raise CommandError("Another process is building the index. Try again when it is done.")
        if options["drop_old"]:
            # Searches that are under way, or do not know of the change yet, still read the old vectors.
            time.sleep(settings.SKILL_CACHE_SECONDS + settings.SEARCH_TIMEOUTS["tools"])
            spaces_drop_others(space)
        self.stdout.write(f"Live: {space.model}, {space.dim} dimensions.")


def refuse_switching_back(model: str | None) -> None:
    configured = settings.TOOLSCRIPT_EMBEDDING_MODEL
    if model and configured and model != configured:
        raise CommandError(
            f"TOOLSCRIPT_EMBEDDING_MODEL is {configured}, and the worker would soon switch back to it. "
            "Set it to the new model (or to nothing) for all processes, then run this without --model."
        )


class index_progress:  # noqa: N801 - used as a function
    """A progress bar for `index_refresh`, one line for each index."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description:>8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns)
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> "index_progress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        if total == 0:
            return  # nothing to wait for
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=total)
        self._bars.update(self._tasks[label], completed=done, total=total)
