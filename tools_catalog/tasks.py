import structlog
from celery import Task, current_app, shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from tools_catalog.services.reindex import index_refresh

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
