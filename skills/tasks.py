"""Background work on skills. Each task takes up whatever there is to do, so it may be asked for at any time."""

import time

import structlog
from celery import shared_task
from kombu.exceptions import OperationalError

from skills.services.freshness import refresh_begin, refresh_claim, skills_refresh_live
from skills.services.pipeline import classify_batch

log = structlog.get_logger("toolscript.tasks")
GATHER = 0.2
"""How long a burst of changes is gathered before its skills are computed, each once."""
LEAST_PAUSE = 0.5
"""Between two refreshes of the skills while a run goes on."""


@shared_task(time_limit=3600, soft_time_limit=3500)
def classify_pending(by: str = "") -> None:
    """Claims, classifies and files tools until none waits."""
    last = time.monotonic()

    def refresh_now_and_then() -> None:
        nonlocal last
        if time.monotonic() - last >= LEAST_PAUSE:
            skills_refresh_live()
            last = time.monotonic()

    total = 0
    while count := classify_batch(by=by, written=refresh_now_and_then):
        total += count
        skills_refresh_live()
        last = time.monotonic()
    if total:
        log.info("skills.classified", tools=total)


@shared_task(time_limit=600, soft_time_limit=550)
def refresh_skills() -> None:
    refresh_begin()
    skills_refresh_live()


def request_classification(by: str = "") -> None:
    """Asks for a run now. A broker that is away loses nothing: beat asks again within a minute."""
    try:
        classify_pending.delay(by=by)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))


def request_skill_refresh() -> None:
    """Asks for the vectors of changed skills. Of a burst of changes only the first sends a message."""
    if not refresh_claim():
        return
    try:
        refresh_skills.apply_async(countdown=GATHER)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))
