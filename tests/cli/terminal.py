"""The command as a process: in a pipe, or in a terminal of a given size."""

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.processes import ROOT, environment

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def toolscript(
    *args: str, env: Mapping[str, str] | None = None, text: str | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli", *args],
        cwd=ROOT,
        env=environment(env or {}),
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def invoked(*args: str, env: Mapping[str, str] | None = None) -> Done:
    """The command inside this process: quicker, where no process of its own is what is tested."""
    from cli.main import run

    before = dict(os.environ)
    out, err = io.StringIO(), io.StringIO()
    try:
        os.environ.clear()
        os.environ.update(environment(env or {}))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(args))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return Done(code, out.getvalue(), err.getvalue())


@dataclass
class Screen:
    code: int
    raw: str

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


class Terminal:
    """A pseudo-terminal with the command inside."""

    def __init__(self, *args: str, columns: int = 80, env: Mapping[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        given = {"TERM": "xterm-256color", **(env or {})}
        base = {k: v for k, v in environment(given).items() if k not in {"COLUMNS", "LINES", "NO_COLOR"} or k in given}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cli", *args],
            cwd=ROOT,
            env=base,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self._said = b""

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def until(self, text: str, seconds: float = 60) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and text.encode() not in self._said:
            if not self._read(0.1):
                break
        return text.encode() in self._said

    def finish(self, seconds: float = 60) -> Screen:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._read(0.1):
            pass
        code = self.process.wait(max(0.1, deadline - time.monotonic()))
        os.close(self._master)
        return Screen(code, self._said.decode("utf-8", "replace"))

    def _read(self, seconds: float) -> bool:
        """False at the end."""
        if select.select([self._master], [], [], seconds)[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return False
            self._said += data
            return bool(data)
        return True
