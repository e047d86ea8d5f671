"""The switch of the pipeline, and what people do with tools that wait in it."""

from collections.abc import Sequence

from django.utils import timezone

from skills.models import ClassificationRun, ClassificationSwitch, ToolClassification


def classification_pause(*, by: str) -> None:
    """Workers finish the tools they are at, and claim no more."""
    _switch(paused=True, by=by)
    ClassificationRun.objects.filter(status=ClassificationRun.Status.RUNNING).update(
        status=ClassificationRun.Status.PAUSED, finished_at=timezone.now()
    )


def classification_resume(*, by: str) -> None:
    """Ask for `skills.tasks.request_classification` after it: the queue is taken up again."""
    _switch(paused=False, by=by)


def classification_paused() -> bool:
    return ClassificationSwitch.objects.filter(paused=True).exists()


def classification_retry(tool_ids: Sequence[int] | None = None) -> int:
    """Puts tools that failed (None: all of them) back into the queue. How many there are."""
    failed = ToolClassification.objects.filter(status=ToolClassification.Status.FAILED)
    if tool_ids is not None:
        failed = failed.filter(tool_id__in=tool_ids)
    return failed.update(status=ToolClassification.Status.PENDING, error="")


def classification_retry_server(server_id: int) -> int:
    failed = ToolClassification.objects.filter(status=ToolClassification.Status.FAILED, tool__server_id=server_id)
    return classification_retry(list(failed.values_list("tool_id", flat=True)))


def _switch(*, paused: bool, by: str) -> None:
    ClassificationSwitch.objects.update_or_create(
        pk=1, defaults={"paused": paused, "changed_by": by[:255], "changed_at": timezone.now()}
    )
