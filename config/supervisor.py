"""Runs several programs as one foreground process group: starts, watches, restarts, and stops them together."""

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

STOP_SECONDS = 15.0
CRASHES_ALLOWED = 5
CRASH_WINDOW = 60.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


@dataclass(slots=True)
class Program:
    name: str
    command: list[str]
    log: Path
    stop_seconds: float = STOP_SECONDS
    """What is left of it after that is killed."""
    process: subprocess.Popen[bytes] | None = None
    crashes: list[float] = field(default_factory=list)

    def start(self, env: Mapping[str, str]) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_as_a_program,  # noqa: PLW1509 - no threads here
            )


class GaveUp(RuntimeError):
    pass


class Supervisor:
    def __init__(self, programs: list[Program], env: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._programs = programs
        self._env = env
        self._say = say
        self.stopping = False

    def start(self) -> None:
        adopt_orphans(True)
        for number in stop_signals():
            signal.signal(number, self._on_signal)
        for program in self._programs:
            program.start(self._env)

    def watch(self, also: Callable[[], None]) -> None:
        """Returns when asked to stop. A program that ends by itself is reported and started again."""
        while not self.stopping:
            self.check()
            also()
            time.sleep(0.2)

    def check(self) -> None:
        for program in self._programs:
            code = program.process.poll() if program.process else None
            if code is not None and not self.stopping:
                self._restart(program, code)

    def stop(self) -> None:
        self.stopping = True
        running = [(p, p.process) for p in self._programs if p.process and p.process.poll() is None]
        for _, process in running:
            process.terminate()
        started = time.monotonic()
        for program, process in sorted(running, key=lambda pair: pair[0].stop_seconds):
            try:
                process.wait(max(0.1, started + program.stop_seconds - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._end_orphans()

    def _end_orphans(self) -> None:
        """What a killed program left behind would keep its port, and answer with yesterday's code."""
        known = {p.process.pid for p in self._programs if p.process}
        orphans = [child for child in psutil.Process().children() if child.pid not in known]
        for orphan in orphans:
            with suppress(psutil.NoSuchProcess):
                orphan.kill()
        psutil.wait_procs(orphans, timeout=STOP_SECONDS)

    def _on_signal(self, number: int, frame: object) -> None:
        self.stopping = True

    def _restart(self, program: Program, code: int) -> None:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        self._say(f"{program.name} {how}; its log is {program.log}\n{_tail(program.log)}")
        self._end_orphans()
        now = time.monotonic()
        program.crashes = [t for t in program.crashes if now - t < CRASH_WINDOW] + [now]
        if len(program.crashes) > CRASHES_ALLOWED:
            raise GaveUp(f"{program.name} keeps ending; giving up.")
        time.sleep(min(2.0, 0.25 * len(program.crashes)))
        program.start(self._env)
        self._say(f"{program.name} started again.")


def stop_signals() -> list[signal.Signals]:
    """What ends a service, except what it was started to ignore (`nohup`, or a script's `&`)."""
    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in wanted if signal.getsignal(number) != signal.SIG_IGN]


def adopt_orphans(adopt: bool) -> None:
    """Linux: whether the children of a program that dies become ours, so that we can end them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopt))


@contextmanager
def leaving_daemons_alone() -> Iterator[None]:
    """What is started in here and goes on by itself is nobody's orphan."""
    adopt_orphans(False)
    try:
        yield
    finally:
        adopt_orphans(True)


def _as_a_program() -> None:
    """Linux: nothing is left behind, not even if the supervisor is killed.

    A script's `&` makes its commands ignore SIGQUIT, which is how a worker ends its own processes.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def _tail(log: Path, lines: int = 5) -> str:
    return "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-lines:])
