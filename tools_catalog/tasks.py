import structlog
from celery import Task, shared_task
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


def request_refresh() -> None:
    """Asks for a refresh now. A broker that is away loses nothing: beat asks again within a minute."""
    try:
        refresh_index.delay()
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))
