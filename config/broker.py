"""The broker that needs no server: kombu's folder of files, with files that appear whole.

Kombu opens a message under its final name and writes afterwards. A worker that looks in between takes an empty message,
loses it and ends; its tables of exchanges have the same gap. Here every file is written aside and renamed.
"""

import contextlib
import fcntl
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import structlog
from kombu.exceptions import ChannelError
from kombu.transport import filesystem, virtual
from kombu.utils.json import dumps, loads

log = structlog.get_logger(__name__)

PATIENCE = 0.3
Row = filesystem.exchange_queue_t


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:  # type: ignore[override] # the stubs disagree
        name = f"{time.time_ns():020}_{uuid.uuid4()}.{queue}.msg"
        _write(Path(self.data_folder_out, name), dumps(payload))

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        """The oldest message. It belongs to the process that removes its file."""
        for path in self._waiting(queue):
            try:
                text = path.read_text()
                path.unlink()
            except FileNotFoundError:  # another process was faster
                continue
            try:
                return dict(loads(text))
            except (ValueError, TypeError) as exc:
                log.warning("broker.message_unreadable", file=path.name, error=str(exc))
        raise Empty

    def _waiting(self, queue: str) -> list[Path]:
        found = (path for path in Path(self.data_folder_in).iterdir() if path.name.partition(".")[2] == f"{queue}.msg")
        return sorted(found, key=lambda path: path.name)

    def get_table(self, exchange: str) -> list[Row]:  # type: ignore[override] # the stubs disagree
        try:
            return [Row(*row) for row in loads(self._table(exchange).read_text())]
        except (FileNotFoundError, ValueError):  # an unreadable one is written anew by the next worker
            return []

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None) -> None:
        row = Row(routing_key or "", pattern or "", queue or "")
        with self._alone():
            table = self.get_table(exchange)
            if row not in table:
                _write(self._table(exchange), dumps([row, *table]))

    def _delete(
        self, queue: str, exchange: str, routing_key: str | None, pattern: str | None, *_: Any, **options: Any
    ) -> None:
        virtual.Channel._delete(self, queue, **options)
        row = Row(routing_key or "", pattern or "", queue or "")
        with self._alone():
            table = self.get_table(exchange)
            if row in table:
                _write(self._table(exchange), dumps([other for other in table if other != row]))

    def _table(self, exchange: str) -> Path:
        return Path(self._exchange_file(exchange))  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time changes tables; the lock ends with it."""
        self.control_folder.mkdir(parents=True, exist_ok=True)
        with (self.control_folder / "lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield


class Transport(filesystem.Transport):
    Channel = Channel

    def drain_events(  # type: ignore[override] # the stubs disagree
        self, connection: Any, timeout: float | None = None
    ) -> None:
        """A worker asks for two seconds, and sees only between two of these that it should stop."""
        super().drain_events(connection, timeout and min(timeout, PATIENCE))


def _write(path: Path, text: str) -> None:
    aside = path.with_name(f".{uuid.uuid4()}.part")
    try:
        aside.write_text(text)
        aside.rename(path)
    except OSError as exc:
        aside.unlink(missing_ok=True)
        raise ChannelError(f"{path} cannot be written: {exc}") from exc
