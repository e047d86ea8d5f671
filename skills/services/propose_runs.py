"""Proposing skills in the background: asked for once, with its progress and its result kept."""

from datetime import timedelta

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Conflict, ToolscriptError
from skills.models import ProposeRun
from skills.services.propose import skills_propose

log = structlog.get_logger("toolscript.propose")
GIVEN_UP_AFTER = timedelta(hours=1)
"""A run that is older and still open lost its worker."""


def propose_start(*, by: str, everything: bool = False) -> ProposeRun:
    """The row that the worker takes up. One at a time."""
    for run in ProposeRun.objects.filter(status__in=ProposeRun.OPEN, started_at__lt=timezone.now() - GIVEN_UP_AFTER):
        propose_failed(run, "It never finished.")
    try:
        with transaction.atomic():
            return ProposeRun.objects.create(by=by[:255], everything=everything)
    except IntegrityError:
        raise Conflict("Proposals have been asked for already, and are being worked out.") from None


def propose_perform(run_id: int) -> None:
    """What the worker does. A run that somebody else took up, or that is over, is left alone."""
    claimed = ProposeRun.objects.filter(pk=run_id, status=ProposeRun.Status.QUEUED).update(
        status=ProposeRun.Status.RUNNING
    )
    if not claimed:
        return
    run = ProposeRun.objects.get(pk=run_id)

    def progress(done: int, total: int) -> None:
        ProposeRun.objects.filter(pk=run_id).update(done=done, total=total)

    try:
        report = skills_propose(everything=run.everything, progress=progress)
    except ToolscriptError as exc:
        _close(run, error=exc.message)
        return
    except Exception:
        _close(run, error="Something went wrong on our side. The log says what.")
        raise
    run.looked_at, run.clusters, run.created = report.looked_at, report.clusters, report.created
    run.done = run.total = report.clusters
    _close(run)
    log.info("skills.proposed", looked_at=report.looked_at, clusters=report.clusters, created=report.created)


def propose_failed(run: ProposeRun, error: str) -> None:
    _close(run, error=error)


def _close(run: ProposeRun, error: str = "") -> None:
    run.status = ProposeRun.Status.FAILED if error else ProposeRun.Status.DONE
    run.error, run.finished_at = error, timezone.now()
    run.save()
