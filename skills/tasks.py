import structlog
from celery import shared_task
from kombu.exceptions import OperationalError

from skills.models import ProposeRun
from skills.services.propose_runs import propose_failed, propose_perform

log = structlog.get_logger("toolscript.tasks")


@shared_task(time_limit=3600, soft_time_limit=3500)
def propose_skills(run_id: int) -> None:
    propose_perform(run_id)


def request_propose(run: ProposeRun) -> None:
    try:
        propose_skills.delay(run.pk)
    except (OperationalError, OSError) as exc:
        log.warning("tasks.broker_unavailable", error=str(exc))
        propose_failed(run, "The task queue is not reachable. Try again shortly.")
