"""When servers are synced by themselves."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from pytest_django import Settings

from tests.mcp_servers.made import url_server
from tools_catalog.models import Server, SyncRun
from tools_catalog.services.schedule import (
    TASK,
    runs_prune,
    schedule_create,
    servers_due,
    servers_request_all,
    servers_schedule,
)
from tools_catalog.services.sync import backoff
from tools_catalog.tasks import sync_scheduled

pytestmark = pytest.mark.django_db


def server(name: str = "a", **fields: object) -> Server:
    row = url_server(name, "http", "http://127.0.0.1:9/")
    Server.objects.filter(pk=row.pk).update(**fields)
    return row


class TestTheSchedule:
    def test_is_every_15_minutes_and_made_once(self) -> None:
        assert schedule_create()
        assert str(PeriodicTask.objects.get(task=TASK).interval) == "every 15 minutes"
        assert not schedule_create()

    def test_belongs_to_whoever_edits_it(self) -> None:
        schedule_create()
        hourly = IntervalSchedule.objects.create(every=1, period="hours")
        PeriodicTask.objects.filter(task=TASK).update(interval=hourly, enabled=False, name="mine")
        assert not schedule_create()
        assert PeriodicTask.objects.get(task=TASK).interval == hourly

    def test_makes_every_server_due_within_the_jitter(self, settings: Settings) -> None:
        settings.SYNC_JITTER = 60
        for i in range(20):
            server(f"s{i}")
        Server.objects.create(name="imported")
        server("off", is_active=False)
        server("removed", removed_at=timezone.now())
        now = timezone.now()
        assert servers_schedule() == 20
        waits = [(due - now).total_seconds() for due in Server.objects.values_list("due_at", flat=True) if due]
        assert len(waits) == 20
        assert len({round(wait, 1) for wait in waits}) > 10
        assert min(waits) >= 0
        assert max(waits) <= 61

    def test_leaves_a_failing_server_alone_for_a_while(self, settings: Settings) -> None:
        settings.SYNC_JITTER, settings.SYNC_TIMEOUT = 0, 1
        row = server(retry_at=timezone.now() + timedelta(minutes=30))
        assert servers_schedule() == 0
        Server.objects.filter(pk=row.pk).update(retry_at=timezone.now())
        assert servers_schedule() == 1

    def test_waits_longer_with_every_failure_up_to_a_day(self) -> None:
        minutes = [backoff(n).total_seconds() / 60 for n in (1, 2, 3, 4, 50)]
        assert minutes == [15, 30, 60, 120, 24 * 60]

    def test_a_wish_for_now_comes_before_one_for_later(self) -> None:
        row = server(due_at=timezone.now() + timedelta(minutes=1), due_trigger="schedule")
        assert servers_due() == {}
        servers_request_all("start")
        assert list(servers_due()) == [row.pk]
        assert Server.objects.get().due_trigger == "start"

    def test_a_broken_file_does_not_stop_it(self, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> None:
        path = tmp_path_factory.mktemp("config") / "broken.json"
        path.write_text("{")
        settings.CONFIG_FILES = [str(path)]
        server()
        sync_scheduled()
        assert Server.objects.get().due_at is not None


def test_old_runs_go_and_the_newest_stay(settings: Settings) -> None:
    settings.SYNC_RUNS_KEPT = 3
    rows = [server("a"), server("b")]
    for _ in range(5):
        SyncRun.objects.create(server=rows[0], trigger="schedule", state="done")
    SyncRun.objects.create(server=rows[1], trigger="schedule", state="done")
    assert runs_prune() == 2
    assert rows[0].runs.count() == 3
    assert rows[1].runs.count() == 1
