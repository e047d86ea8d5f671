from collections.abc import Iterable
from contextlib import suppress

import structlog
from celery import Task, current_app, shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from core.errors import NotFound, ToolscriptError
from tools_catalog.models import Server, SyncRun
from tools_catalog.services.configuration import configuration_apply
from tools_catalog.services.reindex import index_refresh
from tools_catalog.services.schedule import runs_prune, servers_due, servers_schedule
from tools_catalog.services.sync import runs_reap, server_sync
from tools_catalog.services.sync_requests import sync_request

log = structlog.get_logger("toolscript.tasks")


@shared_task(bind=True, time_limit=3600, soft_time_limit=3500, max_retries=600)
def refresh_index(self: Task[[], None]) -> None:
    """Embeds what is new or changed. Safe to call at any time and from anywhere: it takes up whatever is stale."""
    space = index_refresh()
    if space is None:
        # The run under way may have looked past what this one was asked for.
        log.info("index.busy")
        raise self.retry(countdown=1)
    log.info("index.refreshed", model=space.model, space=space.pk)
    request_follow_up()


def request_follow_up() -> None:
    """Floors above take up what the refresh made ready, by the names of their tasks."""
    try:
        for name in settings.AFTER_REFRESH_TASKS:
            current_app.send_task(name)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))


def request_refresh() -> None:
    """Asks for a refresh now. A broker that is away loses nothing: beat asks again within a minute."""
    try:
        refresh_index.delay()
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))


@shared_task(time_limit=1300, soft_time_limit=1240)
def sync_server(server_id: int) -> None:
    """Does what was asked for. A second message for the same wish finds nothing left to do."""
    trigger = Server.objects.filter(pk=server_id, due_at__isnull=False).values_list("due_trigger", flat=True).first()
    if trigger is None:
        return
    try:
        run = server_sync(server_id, trigger=trigger)
    except NotFound:  # switched off or removed since
        Server.objects.filter(pk=server_id).update(due_at=None)
        return
    if run is None:
        log.info("sync.busy", server_id=server_id)  # still due: asked for again when that one is done
    elif run.state == SyncRun.State.DONE and run.created + run.changed + run.missing + run.returned:
        request_refresh()


@shared_task(time_limit=300, soft_time_limit=280)
def sync_scheduled() -> None:
    """What the schedule runs: reads the configuration and makes every server due, each at a moment of its own."""
    with suppress(ToolscriptError):  # noted with the file, and logged; the servers that are known are synced anyway
        configuration_apply(trigger=SyncRun.Trigger.SCHEDULE)
    count = servers_schedule()
    runs_prune()
    log.info("sync.scheduled", servers=count)


@shared_task(time_limit=300, soft_time_limit=280)
def sync_start_due() -> None:
    """Whatever a crash, a lost message or a full queue left undone."""
    runs_reap()
    start_syncs(servers_due())


def start_syncs(server_ids: Iterable[int]) -> None:
    try:
        for server_id in server_ids:
            sync_server.delay(server_id)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))


def request_sync(server_ids: Iterable[int], trigger: str) -> None:
    """Asks for syncs now. What was asked for is in the database before the message is sent."""
    ids = list(server_ids)
    for server_id in ids:
        sync_request(server_id, trigger)
    start_syncs(ids)
