"""`toolscript sync [SERVER…]`"""

import difflib
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import psutil
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.catalogue import progress_console, refresh_index, say_refusals, show
from cli.identity import operator_only
from cli.output import clean, note, say
from cli.service import prepare_database

if TYPE_CHECKING:
    from tools_catalog.models import Server, SyncRun

AT_ONCE = 8
STOP_SECONDS = 1.0
COUNTS = ("seen", "created", "changed", "unchanged", "missing", "returned", "refused")


@click.command("sync", short_help="Ask servers what they offer now.")
@click.argument("servers", nargs=-1, metavar="[SERVER…]")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--index/--no-index", default=True, show_default=True, help="Make what changed searchable at once.")
def sync(servers: tuple[str, ...], output: str, index: bool) -> None:
    """Read .toolscript.json and ask servers for their tools, prompts and resources: all of them, or those named.

    Works with or without a running service. Ends with code 1 when a server failed or the file is broken.

    \b
    Examples:
      toolscript sync
      toolscript sync github time
      toolscript sync --output json
    """
    prepare_database()
    operator_only("Syncing")
    problem = _read_configuration()
    chosen = _chosen(servers)
    rows = _synced(chosen, quiet=output == "json")
    wrote = any(row["created"] + row["changed"] + row["missing"] + row["returned"] for row in rows)
    hint = refresh_index(quiet=output == "json") if index and wrote else ""
    show(output, {"configuration_error": problem, "servers": rows}, lambda: _print(rows, problem, hint))
    if problem or any(row["state"] != "done" for row in rows):
        sys.exit(1)


def _read_configuration() -> str:
    from core.errors import ToolscriptError
    from tools_catalog.services.configuration import configuration_apply

    try:
        configuration_apply()
    except ToolscriptError as exc:
        return exc.message
    return ""


def _chosen(names: tuple[str, ...]) -> "list[Server]":
    from tools_catalog.selectors import servers_connected

    known = {server.name: server for server in servers_connected()}
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(sorted(known)) or 'none'}."
            raise click.UsageError(f"There is no active server {name} with a connection. {hint}")
    return [known[name] for name in names] if names else list(known.values())


class Board:
    """What each server is at, as a table that follows the work."""

    def __init__(self, names: list[str]) -> None:
        self._lock = threading.Lock()
        self._stages = dict.fromkeys(names, "waiting")
        self._started = time.monotonic()

    def say(self, name: str, text: str) -> None:
        with self._lock:
            self._stages[name] = clean(text)

    def __rich__(self) -> Table:
        table = Table(box=None, show_header=False)
        with self._lock:
            for name, text in self._stages.items():
                table.add_row(Text(name), Text(text))
        table.add_row("", f"{time.monotonic() - self._started:.0f} s")
        return table


def _synced(servers: "list[Server]", *, quiet: bool) -> list[dict[str, Any]]:
    board = Board([server.name for server in servers])
    before = set(psutil.Process().children())
    work = _started(servers, board)
    try:
        if quiet or not progress_console.is_terminal:
            return [future.result() for future in work]
        with Live(board, console=progress_console, refresh_per_second=8, transient=True):
            return [future.result() for future in work]
    except KeyboardInterrupt:
        _drop_everything(before)
        raise


def _started(servers: "list[Server]", board: Board) -> "list[Future[dict[str, Any]]]":
    """Not a ThreadPoolExecutor: Python waits for its threads, however the command ends."""
    work = [(server, Future[dict[str, Any]]()) for server in servers]
    waiting = iter(work)
    lock = threading.Lock()

    def take_turns() -> None:
        while True:
            with lock:
                server, future = next(waiting, (None, None))
            if server is None or future is None:
                return
            try:
                future.set_result(_sync_one(server, board))
            except BaseException as exc:  # the one who waits for it raises it
                future.set_exception(exc)

    for _ in range(min(AT_ONCE, len(work))):
        threading.Thread(target=take_turns, daemon=True).start()
    return [future for _, future in work]


def _drop_everything(before: set[psutil.Process]) -> None:
    """Ends the servers that were started since, with all they started themselves.

    Nothing was written, and the next sync marks the runs as interrupted. The loop is stopped too, or it would see
    servers fail, and count that against them. They die with its thread, so whom they started is looked up first.
    """
    from core.loop import background_loop

    doomed = _family(before)
    loop = background_loop()
    loop.call_soon_threadsafe(loop.stop)
    deadline = time.monotonic() + STOP_SECONDS
    while loop.is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    for process in doomed | _family(before):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _family(before: set[psutil.Process]) -> set[psutil.Process]:
    found = set(psutil.Process().children()) - before
    for process in list(found):
        with suppress(psutil.NoSuchProcess):
            found |= set(process.children(recursive=True))
    return found


def _sync_one(server: "Server", board: Board) -> dict[str, Any]:
    from django.db import connection

    from core.errors import ToolscriptError
    from tools_catalog.models import SyncRun
    from tools_catalog.services.sync import server_sync

    def stage(text: str) -> None:
        board.say(server.name, text)

    try:
        run = server_sync(server.pk, trigger=SyncRun.Trigger.COMMAND, stage=stage)
        while run is None:
            stage("another sync of it is under way")
            time.sleep(0.5)
            run = server_sync(server.pk, trigger=SyncRun.Trigger.COMMAND, stage=stage)
    except ToolscriptError as exc:
        stage(exc.message)
        return {
            "server": server.name,
            "state": "failed",
            **dict.fromkeys(COUNTS, 0),
            "refusals": [],
            "error": exc.message,
        }
    finally:
        connection.close()
    stage(run.state)
    return _row(server, run)


def _row(server: "Server", run: "SyncRun") -> dict[str, Any]:
    seconds = round((run.finished_at - run.started_at).total_seconds(), 3) if run.finished_at else None
    counts = {name: getattr(run, name) for name in COUNTS}
    return {
        "server": server.name,
        "state": run.state,
        **counts,
        "seconds": seconds,
        "refusals": run.refusals,
        "error": run.error,
    }


def _print(rows: list[dict[str, Any]], problem: str, hint: str) -> None:
    """What failed goes to stderr. Servers wrote much of this: none of it may steer the terminal."""
    if problem:
        note(f"The configuration was not read: {clean(problem)}")
    if not rows:
        say("There is no server to sync. Add one to .toolscript.json or in the admin.")
    for row in rows:
        if row["state"] != "done":
            note(clean(f"{row['server']}: {row['state']}: {row['error'].removeprefix(row['server'] + ': ')}"))
            continue
        parts = [f"{row[name]} {name}" for name in COUNTS[1:] if row[name]] or ["nothing published"]
        say(f"{row['server']}: {', '.join(parts)}")
        say_refusals(row["refusals"])
    if hint:
        note(clean(hint))
