"""What a start needs, whichever command starts: preparing the database, the commands of the programs, the login."""

import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

from config.secret import write_private
from config.supervisor import Program
from core.errors import ToolscriptError, Unauthorized
from skills.services.starter import demo_catalog_create, starter_skills_create
from tenants.services.keys import key_caller, key_create
from tools_catalog.management.commands.reembed import index_progress
from tools_catalog.models import Server, SyncRun
from tools_catalog.services.configuration import configuration_apply
from tools_catalog.services.reindex import index_refresh
from tools_catalog.services.schedule import schedule_create, servers_request_all
from tools_catalog.services.spaces import index_usable
from tools_catalog.services.sync_requests import sync_request

ADMIN = "admin"
DEMO_SERVER = ["-m", "demo_server", "--folder"]
SYNC_WAIT_SECONDS = 10.0
LOG_BYTES = 20_000_000
"""A larger log is put aside at the next start."""


def prepare(say: Callable[[str], None]) -> None:
    """Migrations; in an empty database also the starter skills, the demo catalogue, the index and an admin.

    The servers of .toolscript.json are read here and become due for a sync, which is the worker's to do.
    """
    call_command("migrate", verbosity=0, interactive=False)
    schedule_create()
    read_configuration(say)
    if count := starter_skills_create():
        say(f"Starter skills: {count}")
    count = demo_catalog_create() if settings.DEMO else 0
    if count:
        say(f"Demo catalogue: {count} tools")
    demo_server_register(is_new=count > 0)
    if not index_usable():
        with index_progress() as report:
            index_refresh(progress=report)


def demo_server_register(*, is_new: bool) -> None:
    """Puts the demo server beside a new demo catalogue. Where this project and its data lie may change later."""
    values = {
        "title": "Demo desk",
        "description": "Notes, to-dos, a calendar, files, text, time zones and arithmetic, all on this machine.",
        "transport": Server.Transport.STDIO,
        "command": sys.executable,
        "args": [*DEMO_SERVER, str(settings.DATA_DIR / "demo")],
        "env": {"PYTHONPATH": str(settings.BASE_DIR)},
    }
    server = Server.objects.filter(tenant=None, name="demo").first()
    if server is None and is_new:
        server = Server.objects.create(name="demo", **values)
    elif server is None or server.source != Server.Source.IMPORT or server.args[:3] != DEMO_SERVER:
        return  # none is wanted, or somebody made it theirs
    else:
        Server.objects.filter(pk=server.pk).update(**values)
    sync_request(server.pk, SyncRun.Trigger.START)


def read_configuration(say: Callable[[str], None]) -> None:
    try:
        report = configuration_apply(authoritative=True, trigger=SyncRun.Trigger.START)
    except ToolscriptError as exc:
        say(f"Configuration, not taken over: {exc.message}")
    else:
        for path, count in report.files.items():
            if count:
                say(f"Configuration: {count} {'server' if count == 1 else 'servers'} in {path}")
        if report.removed:
            say(f"No longer configured, so not served: {', '.join(report.removed)}")
    servers_request_all(SyncRun.Trigger.START)


class FirstSyncs:
    """Of the servers that are due. To be made before the worker starts: it may be done before anybody looks."""

    def __init__(self) -> None:
        self._waiting = set(Server.objects.filter(due_at__isnull=False).values_list("pk", flat=True))
        self._newest = SyncRun.objects.order_by("-pk").values_list("pk", flat=True).first() or 0

    def report(self, say: Callable[[str], None], is_stopping: Callable[[], bool]) -> None:
        """Says how they went, as they end. A slow server is left to the worker."""
        deadline = time.monotonic() + SYNC_WAIT_SECONDS
        self._say_finished(say)
        while self._waiting and time.monotonic() < deadline and not is_stopping():
            time.sleep(0.1)
            self._say_finished(say)
        for server in Server.objects.filter(pk__in=self._waiting):
            say(f"  {server.name}: still being synced, see {base_url()}/admin/tools_catalog/syncrun/")

    def _say_finished(self, say: Callable[[str], None]) -> None:
        runs = SyncRun.objects.filter(pk__gt=self._newest, server__in=self._waiting, finished_at__isnull=False)
        for run in runs.select_related("server").order_by("pk"):
            if run.server_id in self._waiting:
                say(synced_line(run))
                self._waiting.discard(run.server_id)


def synced_line(run: SyncRun) -> str:
    if run.state != SyncRun.State.DONE:
        return f"  {run.server.name}: not synced: {run.error.removeprefix(f'{run.server.name}: ')}"
    refused = f", {run.refused} refused" if run.refused else ""
    return f"  {run.server.name}: {run.created + run.changed + run.unchanged} items{refused}"


def programs() -> list[Program]:
    logs = settings.DATA_DIR / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for log in logs.glob("*.log"):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    bin_dir = Path(sys.executable).parent
    celery = [str(bin_dir / "celery"), "-A", "config"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    beat_pid = ["--pidfile="]
    return [
        Program("web", web_command(bin_dir), logs / "web.log"),
        Program("worker", [*celery, "worker", "-c", str(settings.TASK_WORKERS), *quiet], logs / "worker.log", 5.0),
        Program("beat", [*celery, "beat", *beat_pid], logs / "beat.log"),
        Program(
            "listener",
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "listen", "--skip-checks"],
            logs / "listener.log",
        ),
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
    metrics = settings.DATA_DIR / "metrics" / socket.gethostname()
    shutil.rmtree(metrics, ignore_errors=True)  # counters of processes that are gone
    metrics.mkdir(parents=True)
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONUNBUFFERED": "1",
        "CELERY_SKIP_CHECKS": "1",  # whoever starts these programs has made them
        # Celery then ends at once instead of waiting for its tasks: whatever they leave is taken up again.
        # At times its pool waits for itself and never ends, so its patience is short.
        "REMAP_SIGTERM": "SIGQUIT",
    }


def admin_login() -> str:
    """Makes an admin where there is none. What to log in with, as far as it is ours to show."""
    path = settings.DATA_DIR / "admin_password"
    users = get_user_model().objects
    if not users.filter(is_superuser=True).exists():
        password = settings.ADMIN_PASSWORD or secrets.token_urlsafe(12)
        if not settings.ADMIN_PASSWORD:  # before there is an admin: whoever is killed in between leaves no riddle
            write_private(path, password)
        users.create_superuser(ADMIN, password=password)
    admin = users.filter(username=ADMIN).first()
    if admin is not None and path.exists() and admin.check_password(path.read_text()):
        return f"{ADMIN} / {path.read_text()}"
    return f"{ADMIN} / the password you chose" if admin is not None else "your own"


@contextmanager
def announced() -> Iterator[None]:
    """Tells commands on this machine where the gateway of this data folder is, for as long as it runs."""
    path = settings.DATA_DIR / "gateway.json"
    announce(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def announce(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps({"url": base_url(), "pid": os.getpid()}))
    temporary.replace(path)


def local_key() -> str:
    """The key of whoever has the data folder: made once, kept there, and used by the `toolscript` command."""
    path = settings.DATA_DIR / settings.LOCAL_KEY_FILE
    if path.exists():
        try:
            key_caller(path.read_text().strip())
            return path.read_text().strip()
        except Unauthorized:  # of another database, or revoked
            pass
    _, key = key_create(name="local", is_admin=True, created_by="up")
    write_private(path, key)
    return key


def base_url() -> str:
    host = settings.HOST if settings.HOST not in {"0.0.0.0", "::", ""} else "127.0.0.1"  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"
