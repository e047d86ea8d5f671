"""One sync of one server: ask it for everything, take in what changed, and write down how it went."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from traceback import extract_tb

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.utils import timezone

from core.errors import Conflict, NotFound, ToolscriptError
from core.loop import run as run_on_loop
from tools_catalog.acceptance import accepted, wanted
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.selectors import server_target, servers_connected
from tools_catalog.services.publication import items_apply, refused
from tools_catalog.services.sync_requests import sync_request
from tools_catalog.types import Listing, Refusal, ToolSpec

log = structlog.get_logger("toolscript.sync")
LOCK = 0x746F6F6E
"""The first half of an advisory lock; the server's id is the second. Whoever holds it syncs that server."""
END_SECONDS = 15.0
"""What ending a server's process may take beyond the deadline."""
BACKOFF_LIMIT = 86_400.0
ERROR_LENGTH = 2000

Stage = Callable[[str], None]


def server_sync(server_id: int, *, trigger: str, stage: Stage = lambda text: None) -> SyncRun | None:
    """Syncs now. None: another process is at this server already."""
    server = servers_connected().filter(pk=server_id).first()
    if server is None:
        raise NotFound("There is no active server with a connection under this id.")
    with claimed(server_id) as is_ours:
        if not is_ours:
            return None
        run = _begin(server, trigger)
        try:
            _sync(server, run, stage)
        except ToolscriptError as exc:
            _fail(server, run, exc.message)
        except (OperationalError, InterfaceError):
            _give_up(server_id)
            raise
        except Exception as exc:
            log.error("sync.broke", server=server.name, error=type(exc).__name__, where=_where(exc))
            _fail(server, run, f"It could not be taken in ({type(exc).__name__}). The log says where.")
        except BaseException:
            _give_up(server_id)
            raise
    run.refresh_from_db()
    log.info("sync.finished", server=server.name, state=run.state, seen=run.seen, changed=run.created + run.changed)
    return run


def _give_up(server_id: int) -> None:
    with suppress(OperationalError, InterfaceError):  # then whoever comes next marks it
        _mark_interrupted(server_id)


def _where(exc: Exception) -> list[str]:
    """The innermost places in our code, without the message: that may quote what the server said."""
    ours = [at for at in extract_tb(exc.__traceback__) if "site-packages" not in at.filename]
    return [f"{Path(at.filename).name}:{at.lineno} {at.name}" for at in ours[-5:]]


@contextmanager
def claimed(server_id: int) -> Iterator[bool]:
    """The lock belongs to the database session: it is free the moment its holder dies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, server_id])
        is_ours = bool(cursor.fetchone()[0])
        try:
            yield is_ours
        finally:
            if is_ours:
                with suppress(OperationalError, InterfaceError):  # a session that is gone holds no lock
                    cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, server_id])


@transaction.atomic
def _begin(server: Server, trigger: str) -> SyncRun:
    """From here on the wish is a run. One that is still there was left by somebody who died: we hold the lock."""
    _mark_interrupted(server.pk)
    Server.objects.filter(pk=server.pk).update(due_at=None, due_trigger="")
    return SyncRun.objects.create(server=server, trigger=trigger, stage="asking the server")


def _sync(server: Server, run: SyncRun, stage: Stage) -> None:
    seconds = server.timeout_seconds or settings.SYNC_TIMEOUT
    from tools_catalog.transports.listing import listing  # brings the SDK: a second and more of every start

    found = run_on_loop(listing(server_target(server), seconds=seconds, stage=stage), seconds + END_SECONDS)
    _stage(run, stage, "comparing")
    known = set(Tool.objects.filter(server=server).values_list("content_hash", flat=True))
    specs, refusals = accepted([(kind, item, why) for kind, item, why in found.items], known)
    specs = wanted(specs, server.include_tools, server.exclude_tools)
    _stage(run, stage, "writing")
    _finish(server, run, found, specs, refusals)


def _stage(run: SyncRun, stage: Stage, text: str) -> None:
    stage(text)
    SyncRun.objects.filter(pk=run.pk).update(stage=text)


@transaction.atomic
def _finish(server: Server, run: SyncRun, found: Listing, specs: list[ToolSpec], refusals: list[Refusal]) -> None:
    """All or nothing: what was seen, what is missing, and that this run is done."""
    locked = SyncRun.objects.select_for_update().get(pk=run.pk)
    if locked.state != SyncRun.State.RUNNING:
        raise Conflict("Another sync of this server took over.")
    counts = {"seen": len(found.items), **items_apply(server, specs)}
    now = timezone.now()
    SyncRun.objects.filter(pk=run.pk).update(
        **counts, **refused(refusals), state=SyncRun.State.DONE, stage="", finished_at=now
    )
    fresh = {"synced_at": now, "failures": 0, "last_error": "", "failed_at": None, "retry_at": None}
    learnt = {"protocol": found.protocol[:32], "announces": found.announces}
    texts = {
        name: value.replace("\0", "")[:limit]
        for name, value, limit in (("title", found.title, 255), ("description", found.instructions, 5000))
        if value and not getattr(server, name)
    }
    Server.objects.filter(pk=server.pk).update(**fresh, **learnt, **texts)


def _fail(server: Server, run: SyncRun, message: str) -> None:
    """The tools stay as they were; the server is stale, and the schedule gives it time."""
    now = timezone.now()
    error = message[:ERROR_LENGTH].replace("\0", "")
    with transaction.atomic():
        SyncRun.objects.filter(pk=run.pk, state=SyncRun.State.RUNNING).update(
            state=SyncRun.State.FAILED, stage="", error=error, finished_at=now
        )
        Server.objects.filter(pk=server.pk).update(
            failures=F("failures") + 1, failed_at=now, last_error=error, retry_at=now + backoff(server.failures + 1)
        )
    log.warning("sync.failed", server=server.name, error=error)


def backoff(failures: int) -> timedelta:
    """Doubles with every failure, up to a day: 15, 30, 60 minutes and so on with the default."""
    seconds = settings.SYNC_BACKOFF * 2.0 ** min(failures - 1, 20)
    return timedelta(seconds=min(seconds, BACKOFF_LIMIT))


def _mark_interrupted(server_id: int) -> int:
    return SyncRun.objects.filter(server_id=server_id, state=SyncRun.State.RUNNING).update(
        state=SyncRun.State.INTERRUPTED,
        stage="",
        error="The process ended before the sync did. Nothing of it was written.",
        finished_at=timezone.now(),
    )


def runs_reap() -> list[int]:
    """Runs whose process died: marked, and asked for again. The ids of their servers."""
    reaped = []
    for server_id in SyncRun.objects.filter(state=SyncRun.State.RUNNING).values_list("server_id", flat=True):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [LOCK, server_id])
            if cursor.fetchone()[0] and _mark_interrupted(server_id):
                sync_request(server_id, SyncRun.Trigger.RESUME)
                reaped.append(server_id)
                log.warning("sync.interrupted", server_id=server_id)
    return reaped
