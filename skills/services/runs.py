"""Runs: what a stretch of classification did, how far it is, and what it cost."""

from decimal import Decimal

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from llm.types import Usage
from skills.models import ClassificationRun
from skills.services.queue import queue_empty, queue_length

MILLION = 1_000_000


def run_open(classifier: str, model: str, *, by: str = "") -> ClassificationRun:
    """The run under way, whichever worker began it, or a new one."""
    while True:
        running = ClassificationRun.objects.filter(status=ClassificationRun.Status.RUNNING).first()
        if running is not None:
            return running
        try:
            with transaction.atomic():
                return ClassificationRun.objects.create(classifier=classifier, model=model, started_by=by)
        except IntegrityError:
            continue  # another worker was faster


def run_count(run: ClassificationRun, outcome: str, usage: Usage) -> None:
    """`outcome`: assigned, suggested, failed or skipped."""
    price_in, price_out = settings.CHAT_PRICES
    cost = Decimal(str(price_in)) * usage.prompt_tokens + Decimal(str(price_out)) * usage.completion_tokens
    ClassificationRun.objects.filter(pk=run.pk).update(
        **{outcome: F(outcome) + 1},
        prompt_tokens=F("prompt_tokens") + usage.prompt_tokens,
        completion_tokens=F("completion_tokens") + usage.completion_tokens,
        cost=F("cost") + cost / MILLION,
    )


def run_progress(run: ClassificationRun) -> None:
    """How much there is in all: what is done, and what still waits."""
    done = F("assigned") + F("suggested") + F("failed") + F("skipped")
    ClassificationRun.objects.filter(pk=run.pk).update(total=done + queue_length())


def run_close_if_done() -> None:
    if queue_empty():
        done = F("assigned") + F("suggested") + F("failed") + F("skipped")
        ClassificationRun.objects.filter(status=ClassificationRun.Status.RUNNING).update(
            status=ClassificationRun.Status.DONE, finished_at=timezone.now(), total=done
        )
