"""`manage.py up`: everything on one machine, in the foreground."""

import fcntl
import os
import secrets
import shutil
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config.postgres import EmbeddedPostgres, PostgresError
from config.supervisor import GaveUp, Program, Supervisor
from core.errors import ToolscriptError
from skills.services.starter import demo_catalog_create, starter_skills_create
from tools_catalog.management.commands.reembed import index_progress
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.reindex import index_refresh

READY_SECONDS = 60
ADMIN = "admin"


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
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        with only_one(folder / "up.lock"):
            refuse_taken_port(settings.HOST, settings.PORT)
            postgres: EmbeddedPostgres | None = settings.EMBEDDED_POSTGRES
            started = self._start_postgres(postgres)
            try:
                self._prepare()
                self._run()
            except ToolscriptError as exc:
                raise CommandError(exc.message) from None
            finally:
                if postgres is not None and started:
                    postgres.stop()
            self.say("Stopped.")

    def _start_postgres(self, postgres: EmbeddedPostgres | None) -> bool:
        if postgres is None:
            self.say("Database: DATABASE_URL")
            return False
        self.say(f"Database: embedded Postgres in {postgres.home}")
        try:
            postgres.start()
        except PostgresError as exc:
            raise CommandError(str(exc)) from None
        return True

    def _prepare(self) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        if count := starter_skills_create():
            self.say(f"Starter skills: {count}")
        if count := demo_catalog_create():
            self.say(f"Demo catalogue: {count} tools")
        if not EmbeddingSpace.objects.filter(is_live=True).exists():
            with index_progress() as report:
                index_refresh(progress=report)

    def _run(self) -> None:
        supervisor = Supervisor(programs(), environment(), self.say)
        supervisor.start()
        try:
            if self._wait_until_ready(supervisor):
                self.say(banner(admin_password()))
            supervisor.watch()
        except GaveUp as exc:
            raise CommandError(str(exc)) from None
        finally:
            self.say("Stopping …")
            supervisor.stop()

    def _wait_until_ready(self, supervisor: Supervisor) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and not supervisor.stopping:
            supervisor.check()
            try:
                with urllib.request.urlopen(f"{base_url()}/ready", timeout=5):  # noqa: S310 - our own address
                    return True
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        if not supervisor.stopping:
            self.say(f"Not ready after {READY_SECONDS} s; see {settings.DATA_DIR / 'logs'}.")
        return False


def programs() -> list[Program]:
    logs = settings.DATA_DIR / "logs"
    bin_dir = Path(sys.executable).parent
    celery = [str(bin_dir / "celery"), "-A", "config"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    beat_pid = ["--pidfile="]
    return [
        Program("web", web_command(bin_dir), logs / "web.log"),
        Program("worker", [*celery, "worker", "-c", str(settings.TASK_WORKERS), *quiet], logs / "worker.log"),
        Program("beat", [*celery, "beat", *beat_pid], logs / "beat.log"),
    ]


def web_command(bin_dir: Path) -> list[str]:
    return [
        str(bin_dir / "granian"),
        "--interface=wsgi",
        f"--host={settings.HOST}",
        f"--port={settings.PORT}",
        f"--workers={settings.WEB_WORKERS}",
        f"--blocking-threads={settings.WEB_THREADS}",
        "--blocking-threads-idle-timeout=600",
        "--respawn-failed-workers",
        "--no-ws",
        "--http=1",
        "--log-level=warning",
        "config.wsgi:application",
    ]


def environment() -> dict[str, str]:
    metrics = settings.DATA_DIR / "metrics"
    shutil.rmtree(metrics, ignore_errors=True)  # counters of processes that are gone
    metrics.mkdir(parents=True)
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONUNBUFFERED": "1",
    }


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


def admin_password() -> str | None:
    """The password of the admin that was made here; None if somebody else made one."""
    path = settings.DATA_DIR / "admin_password"
    users = get_user_model().objects
    if not users.filter(is_superuser=True).exists():
        password = settings.ADMIN_PASSWORD or secrets.token_urlsafe(12)
        users.create_superuser(ADMIN, password=password)
        path.touch(mode=0o600)
        path.write_text(password)
    return path.read_text() if path.exists() else None


def base_url() -> str:
    host = settings.HOST if settings.HOST not in {"0.0.0.0", "::", ""} else "127.0.0.1"  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def banner(password: str | None) -> str:
    url = base_url()
    login = f"{ADMIN} / {password}" if password else "your own"
    return f"""
Toolscript is ready.

  search    {url}/
  admin     {url}/admin/   login: {login}
  API       {url}/api/docs
  logs      {settings.DATA_DIR / "logs"}

Try it:

  curl -s {url}/api/v1/search -H 'Content-Type: application/json' \\
       -d '{{"query": "schedule a meeting with John tomorrow"}}'

Ctrl-C stops everything.
"""
