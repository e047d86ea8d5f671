"""`manage.py up` as a newcomer runs it, in a data folder of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil

from benchmarks.service import free_port
from config.postgres import EmbeddedPostgres
from tests.plugin import MARK
from tests.processes import ROOT, cmdline, environment, eventually


class Service:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.config = folder.parent / f"{folder.name}.toolscript.json"
        self.env = environment(
            {
                "TOOLSCRIPT_DATA_DIR": str(folder),
                "PORT": str(self.port),
                "TOOLSCRIPT_CONFIG": str(self.config),  # and not what the developer has at home
            }
        )
        self.output = folder.parent / f"{folder.name}.out"
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=15)

    @property
    def postgres(self) -> EmbeddedPostgres:
        return EmbeddedPostgres(self.folder)

    def start(self, ignoring: tuple[signal.Signals, ...] = ()) -> None:
        self.launch(ignoring)
        assert eventually(lambda: "Ctrl-C stops everything" in self.said() or self.ended(), 240), self.said()
        assert not self.ended(), self.said()

    def launch(self, ignoring: tuple[signal.Signals, ...] = ()) -> None:
        def as_a_script_would() -> None:
            for number in ignoring:
                signal.signal(number, signal.SIG_IGN)

        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=ROOT,
                env=self.env,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=as_a_script_would,  # noqa: PLW1509 - no threads here
            )

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True) if self.process else []

    def program(self, word: str) -> psutil.Process:
        assert self.process is not None
        direct = psutil.Process(self.process.pid).children()
        return next(p for p in direct if word in [Path(arg).name for arg in cmdline(p)])

    def servers(self, program: Path) -> list[psutil.Process]:
        """The MCP servers of this program that it has started."""
        return [p for p in self.children() if str(program) in cmdline(p)]

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        return self.process.wait(60)

    def search(self, query: str) -> Any:
        return self.http.post("/api/v1/search", json={"query": query})

    def credential(self) -> dict[str, str]:
        return {"X-API-Key": self.key()}

    def key(self) -> str:
        found = re.search(r"API key +(tsk_\S+)", self.said())
        assert found is not None, self.said()
        return found[1]

    def password(self) -> str:
        found = re.search(r"login: admin / (\S+)", self.said())
        assert found is not None, self.said()
        return found[1]


@contextlib.contextmanager
def running(folder: Path, *, first: bool = False) -> Iterator[Service]:
    """As on a new machine if it is the `first`; otherwise with the vectors that others have computed."""
    service = Service(folder)
    if not first:
        vectors = Path(os.environ[MARK]) / "vectors"
        vectors.mkdir(exist_ok=True)
        folder.mkdir(parents=True)
        (folder / "cache").symlink_to(vectors)
    try:
        service.start()
        yield service
    finally:
        service.http.close()
        for child in service.children() if not service.ended() else []:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        if service.process is not None and service.process.poll() is None:
            service.process.kill()
            service.process.wait()
        service.postgres.stop("immediate")
