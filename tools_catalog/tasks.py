import structlog
from celery import shared_task
from kombu.exceptions import OperationalError

from tools_catalog.services.reindex import index_refresh

log = structlog.get_logger("toolscript.tasks")


@shared_task(time_limit=3600, soft_time_limit=3500)
def refresh_index() -> None:
    """Embeds what is new or changed. Safe to call at any time and from anywhere: it takes up whatever is stale."""
    space = index_refresh()
    if space is None:
        log.info("index.busy")
    else:
        log.info("index.refreshed", model=space.model, space=space.pk)


def request_refresh() -> None:
    """Asks for a refresh now. A broker that is away loses nothing: beat asks again within a minute."""
    try:
        refresh_index.delay()
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))
