"""When servers are synced by themselves."""

import random
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from tools_catalog.models import SyncRun
from tools_catalog.selectors import servers_connected
from tools_catalog.services.sync_requests import sync_request

NAME = "sync all servers"
TASK = "tools_catalog.tasks.sync_scheduled"
MINUTES = 15


def schedule_create() -> bool:
    """Makes the schedule where there is none. It belongs to whoever edits it in the admin, so nothing is changed."""
    if PeriodicTask.objects.filter(task=TASK).exists():
        return False
    interval, _ = IntervalSchedule.objects.get_or_create(every=MINUTES, period=IntervalSchedule.MINUTES)
    PeriodicTask.objects.create(name=NAME, task=TASK, interval=interval)
    return True


def servers_schedule() -> int:
    """Makes every server due within the jitter, so that they do not all start at once. Failing ones get time."""
    now = timezone.now()
    # A server that failed during the last round is due in this one, although not to the second.
    soon = now + timedelta(seconds=settings.SYNC_JITTER + 2 * settings.SYNC_TIMEOUT)
    count = 0
    for server_id, retry_at in servers_connected().values_list("pk", "retry_at"):
        if retry_at is None or retry_at <= soon:
            wait = random.uniform(0, settings.SYNC_JITTER)  # noqa: S311 - no secret
            sync_request(server_id, SyncRun.Trigger.SCHEDULE, at=now + timedelta(seconds=wait))
            count += 1
    return count


def servers_due() -> dict[int, datetime | None]:
    """Id and moment of each wish whose time has come, the oldest first."""
    due = servers_connected().filter(due_at__lte=timezone.now()).order_by("due_at")
    return dict(due.values_list("pk", "due_at"))


def servers_request_all(trigger: str) -> int:
    ids = list(servers_connected().values_list("pk", flat=True))
    for server_id in ids:
        sync_request(server_id, trigger)
    return len(ids)


def runs_prune() -> int:
    """Old runs go: the newest of each server stay."""
    count = 0
    for server_id in SyncRun.objects.order_by().values_list("server_id", flat=True).distinct():
        runs = SyncRun.objects.filter(server_id=server_id)
        oldest = runs.values_list("pk", flat=True)[settings.SYNC_RUNS_KEPT - 1 : settings.SYNC_RUNS_KEPT].first()
        if oldest is not None:
            count += runs.filter(pk__lt=oldest).exclude(state=SyncRun.State.RUNNING).delete()[0]
    return count
