"""What a transport saw that the SDK's errors do not say: the end of a server's stderr, the HTTP status."""

import asyncio
import contextlib
import os
from contextvars import ContextVar
from typing import TextIO

from tools_catalog.transports.references import Secrets

KEPT = 8192
SHOWN = 600


STATUSES: ContextVar[list[int] | None] = ContextVar("STATUSES", default=None)
"""Where a caller wants to know the HTTP status of its own request: many share one connection."""


class Diagnosis:
    def __init__(self) -> None:
        self.http_status = ""
        self.stderr = b""

    def note_status(self, status: int) -> None:
        self.http_status = f"HTTP {status}" if status >= 400 else ""
        statuses = STATUSES.get()
        if statuses is not None:
            statuses.append(status)

    def hint(self, secrets: Secrets) -> str:
        """Secrets are hidden before the text is cut: the half of one would not be recognised."""
        if self.http_status:
            return f" It answered {self.http_status}."
        text = secrets.hide(self.stderr.decode("utf-8", "replace"))
        if len(self.stderr) >= KEPT:
            text = text[secrets.longest :]  # it may begin in the middle of one
        tail = text.strip()[-SHOWN:]
        return f" Its last words on stderr: {tail}" if tail else ""


class StderrPipe:
    """A pipe for a child's stderr. Only its end is kept, however long the child talks."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._diagnosis = diagnosis
        self._loop = asyncio.get_running_loop()
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self.file: TextIO = os.fdopen(writing, "w")
        self._loop.add_reader(self._reading, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._reading, 65536)
        except BlockingIOError:
            return
        self._diagnosis.stderr = (self._diagnosis.stderr + data)[-KEPT:]
        if not data:
            self._loop.remove_reader(self._reading)

    def release(self) -> None:
        """The child has its copy: without ours, the pipe ends when the child does."""
        self.file.close()

    def close(self) -> None:
        self.release()
        with contextlib.suppress(OSError):
            self._read()
        self._loop.remove_reader(self._reading)
        os.close(self._reading)
