"""The record of calls through the gateway: who called what, when, for how long, and how it ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from core import metrics
from core.errors import ToolscriptError, UpstreamError, UpstreamTimeout
from core.scope import ALL, scoped
from tenants.types import Caller
from tools_catalog.models import Tool, ToolCall

log = structlog.get_logger("toolscript.gateway")
BATCH = 5000


class Recorded:
    """A call under way."""

    def __init__(self, row: ToolCall) -> None:
        self.row = row
        self._started = time.perf_counter()

    def belongs_to(self, tool: Tool) -> None:
        self.row.tool = tool

    def finish(self, outcome: str, error: ToolscriptError | None = None) -> None:
        """What was called has an answer; that the record cannot be completed must not take it away."""
        row = self.row
        row.duration_ms = round((time.perf_counter() - self._started) * 1000, 2)
        row.outcome = outcome
        row.error_code = error.code if error else ""
        row.error = error.message[:1000].replace("\0", "") if error else ""
        metrics.observe_call(outcome, row.duration_ms / 1000)
        try:
            with scoped(ALL):
                row.save(update_fields=["tool", "duration_ms", "outcome", "error_code", "error"])
        except DatabaseError as exc:
            log.error("gateway.call_not_recorded", target=row.target, outcome=outcome, error=str(exc))


@contextmanager
def call_recorded(target: str, arguments: Any, *, caller: Caller) -> Iterator[Recorded]:
    """Writes the row first: a call of which there is no record is not made. Errors that pass through are noted."""
    with scoped(ALL):  # the record is the service's own, whoever calls
        row = ToolCall.objects.create(
            tenant_id=caller.tenant_id,
            caller=caller.name[:255],
            target=target[:400].replace("\0", ""),
            request_id=str(structlog.contextvars.get_contextvars().get("request_id", ""))[:128],
            arguments=arguments if settings.CALL_LOG_ARGUMENTS else None,
        )
    call = Recorded(row)
    try:
        yield call
    except UpstreamTimeout as exc:
        call.finish(ToolCall.Outcome.TIMED_OUT, exc)
        raise
    except UpstreamError as exc:
        call.finish(ToolCall.Outcome.FAILED, exc)
        raise
    except ToolscriptError as exc:
        call.finish(ToolCall.Outcome.REFUSED, exc)
        raise
    except Exception:
        call.finish(ToolCall.Outcome.FAILED, ToolscriptError("Something went wrong on our side."))
        raise


def calls_forget_old() -> int:
    """Deletes what is older than the setting allows, in portions, so that no lock is held for long."""
    before = timezone.now() - timedelta(days=settings.CALL_LOG_DAYS)
    total = 0
    while True:
        ids = list(ToolCall.objects.filter(started_at__lt=before).order_by("id").values_list("pk", flat=True)[:BATCH])
        if not ids:
            return total
        total += ToolCall.objects.filter(pk__in=ids).delete()[0]
