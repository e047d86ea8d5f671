"""`manage.py up`: everything on one machine, in the foreground."""

import fcntl
import signal
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from config.postgres import EmbeddedPostgres, PostgresError
from config.startup import FirstSyncs, admin_login, announced, base_url, environment, local_key, prepare, programs
from config.supervisor import GaveUp, Supervisor, leaving_daemons_alone, stop_signals
from core.errors import ToolscriptError
from core.logs import configure as configure_logs
from tools_catalog.models import Server

READY_SECONDS = 60


class Command(BaseCommand):
    help = (
        "Starts everything in the foreground: the embedded Postgres (or DATABASE_URL), migrations, starter skills "
        "and demo catalogue in an empty database, worker, beat and web server. Ctrl-C stops all of it."
    )
    requires_migrations_checks = False

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def handle(self, *args: Any, **options: Any) -> None:
        folder = settings.DATA_DIR
        folder.mkdir(parents=True, exist_ok=True)
        if settings.LOG_LEVEL == "INFO":  # what is said here is for a person; the programs have their own logs
            configure_logs("WARNING")
        with only_one(folder / "up.lock"):
            refuse_taken_port(settings.HOST, settings.PORT)
            postgres: EmbeddedPostgres | None = settings.EMBEDDED_POSTGRES
            for number in stop_signals():  # until the supervisor takes them over
                signal.signal(number, signal.default_int_handler)
            try:
                self._start_postgres(postgres)
                prepare(self.say)
                self._run(postgres)
            except KeyboardInterrupt:
                self.say("Interrupted.")
            except ToolscriptError as exc:
                raise CommandError(exc.message) from None
            except OperationalError as exc:
                raise CommandError(f"The database is not reachable: {exc}") from None
            finally:
                if postgres is not None:
                    postgres.stop()
            self.say("Stopped.")

    def _start_postgres(self, postgres: EmbeddedPostgres | None) -> None:
        if postgres is None:
            self.say("Database: DATABASE_URL")
            return
        self.say(f"Database: embedded Postgres in {postgres.home}")
        try:
            postgres.start()
        except PostgresError as exc:
            raise CommandError(str(exc)) from None

    def _run(self, postgres: EmbeddedPostgres | None) -> None:
        supervisor = Supervisor(programs(), environment(), self.say)
        syncs = FirstSyncs()
        supervisor.start()
        try:
            login = admin_login()
            key = "your own; none is made in production" if settings.PRODUCTION else local_key()
            if self._wait_until_ready(supervisor):
                syncs.report(self.say, lambda: supervisor.stopping)
                self.say(banner(login, key))
            with announced():
                supervisor.watch(lambda: self._revive(postgres))
        except GaveUp as exc:
            raise CommandError(str(exc)) from None
        finally:
            self.say("Stopping …")
            supervisor.stop()

    def _revive(self, postgres: EmbeddedPostgres | None) -> None:
        if postgres is not None and not postgres.is_running():
            self.say(f"Postgres ended; its log is {postgres.log}")
            try:
                with leaving_daemons_alone():
                    postgres.start()
                self.say("Postgres started again.")
            except PostgresError as exc:
                self.say(str(exc))

    def _wait_until_ready(self, supervisor: Supervisor) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        local = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy leads to this machine
        while time.monotonic() < deadline and not supervisor.stopping:
            supervisor.check()
            try:
                with local.open(f"{base_url()}/ready", timeout=5):
                    return True
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        if not supervisor.stopping:
            self.say(f"Not ready after {READY_SECONDS} s; see {settings.DATA_DIR / 'logs'}.")
        return False


class only_one:  # noqa: N801 - used as a function
    """Holds a lock file for as long as this process lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> None:
        self._file = self._path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CommandError(f"Toolscript runs already with the data folder {self._path.parent}.") from None

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def refuse_taken_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            raise CommandError(f"{host}:{port} cannot be used ({exc.strerror}). Try: make up PORT=8001") from None


def banner(login: str, key: str) -> str:
    url = base_url()
    return f"""
Toolscript is ready.

  search    {url}/
  admin     {url}/admin/   login: {login}
  API       {url}/api/docs
  MCP       {url}/mcp
  API key   {key}
  logs      {settings.DATA_DIR / "logs"}

Try it:

  curl -s {url}/api/v1/search -H 'Content-Type: application/json' \\
       -d '{{"query": "schedule a meeting with John tomorrow"}}'
{call_example(url, key)}
Ctrl-C stops everything.
"""


def call_example(url: str, key: str) -> str:
    """How to call a tool, as long as there is the demo server to call."""
    if not Server.objects.filter(name="demo", is_active=True).exists():
        return ""
    return f"""
  curl -s {url}/tools/demo__evaluate_expression -H 'X-API-Key: {key}' \\
       -H 'Content-Type: application/json' -d '{{"expression": "(2 + 3) * sqrt(16)"}}'
"""
