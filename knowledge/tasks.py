import structlog
from celery import shared_task
from kombu.exceptions import OperationalError

from knowledge.models import Source
from knowledge.services.extract import source_extract
from knowledge.services.ingest import sources_embed
from llm.errors import ModelFailed

log = structlog.get_logger("toolscript.tasks")


@shared_task(time_limit=3600, soft_time_limit=3500, autoretry_for=(ModelFailed,), max_retries=3, default_retry_delay=60)
def extract_source(source_id: int) -> None:
    """Goes on where an earlier run stopped."""
    source = Source.objects.filter(pk=source_id).first()
    if source is not None:
        source_extract(source)
        sources_embed([source_id])


def request_extraction(source_id: int) -> bool:
    try:
        extract_source.delay(source_id)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))
        return False
    return True
