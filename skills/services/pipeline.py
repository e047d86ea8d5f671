"""Classifies what waits: claim, ask, write, each tool in a transaction of its own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from core.errors import NotReady, QueryFailed, ToolscriptError
from llm.types import Usage
from skills.classifiers import classifier
from skills.classifiers.types import Classification, Classifier, SkillCard, ToolCard
from skills.models import Assignment, ClassificationRun, Suggestion, ToolClassification
from skills.services.assignments import assignments_replace, skills_usable, tools_lock
from skills.services.cards import skill_cards, tool_cards
from skills.services.queue import queue_claim, queue_renew, queue_update
from skills.services.runs import run_close_if_done, run_count, run_open, run_progress
from skills.services.skill_index import payload_sync
from skills.services.suggestions import MAPPED_CONFIDENCE, suggestion_file, suggestion_withdraw, suggestions_lock
from skills.services.switch import classification_paused
from skills.types import SkillChoice, SkillIdea
from tools_catalog.models import Tool

log = structlog.get_logger("toolscript.skills")
STATUS = ToolClassification.Status
LOCAL_BATCH = 256
"""For a classifier that calls nobody: what a batch has in common is read once."""
LOCAL_RENEWAL = 32
"""After how many of its results, which are quick, the claim on the others is renewed."""
Result = Classification | ToolscriptError


def classify_batch(*, by: str = "", written: Callable[[], None] = lambda: None) -> int:
    """Classifies some of the tools that wait. How many there were; 0 when none waits or the pipeline is paused."""
    if classification_paused():
        return 0
    queue_update()
    try:
        chosen = classifier()
    except NotReady:
        return 0  # no index yet: the refresh that builds it asks again
    limit = LOCAL_BATCH if chosen.needs_vectors else settings.CLASSIFY_BATCH
    claim, tools = queue_claim(limit, with_vectors=chosen.needs_vectors)
    if not tools:
        run_close_if_done()
        return 0
    run = run_open(chosen.name, chosen.model, by=by)
    run_progress(run)
    for number, (tool, result) in enumerate(classify(chosen, tools), 1):
        with transaction.atomic():  # counted with the result, so that a run that closes has counted all
            outcome = _write(tool, claim, result, source=chosen.name, run=run)
            run_count(run, outcome, usage_of(result))
        if not chosen.needs_vectors or number % LOCAL_RENEWAL == 0:
            queue_renew(claim)
        written()
    run_close_if_done()
    return len(tools)


def classify(chosen: Classifier, tools: Sequence[Tool]) -> Iterator[tuple[Tool, Result]]:
    """Each tool with its result, as they come. No database connection is held during a call of a model."""
    cards = tool_cards(tools, vectors=chosen.needs_vectors)
    skills = {
        tenant: skill_cards(tenant, vectors=chosen.needs_vectors) for tenant in {t.server.tenant_id for t in tools}
    }
    if chosen.needs_vectors:
        for tool in tools:
            yield tool, _ask(chosen, cards[tool.pk], skills[tool.server.tenant_id])
        return
    with ThreadPoolExecutor(settings.CHAT_OPTIONS.concurrency, thread_name_prefix="classify") as pool:
        calls = {pool.submit(_ask, chosen, cards[t.pk], skills[t.server.tenant_id]): t for t in tools}
        for call in as_completed(calls):
            yield calls[call], call.result()


def _ask(chosen: Classifier, tool: ToolCard, skills: Sequence[SkillCard]) -> Result:
    try:
        return chosen.classify(tool, skills)
    except ToolscriptError as exc:
        return exc


def _write(tool: Tool, claim: UUID, result: Result, *, source: str, run: ClassificationRun) -> str:
    """A result that cannot be written is a failure of this tool: the others of the batch go on."""
    try:
        return classification_write(tool, claim, result, source=source, run=run)
    except ToolscriptError as exc:
        failure = exc
    except (DataError, IntegrityError) as exc:
        failure = QueryFailed(f"The database refused the result: {str(exc).splitlines()[0]}")
    return classification_write(tool, claim, failure, source=source, run=run)


def usage_of(result: Result) -> Usage:
    """Also a call that failed has its price."""
    usage = getattr(result, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


@transaction.atomic
def classification_write(
    tool: Tool, claim: UUID, result: Result, *, source: str, run: ClassificationRun | None = None
) -> str:
    """Writes the result if the claim still holds. What became of it: assigned, suggested, failed or skipped."""
    if not tools_lock([tool.pk]):
        return "skipped"  # the tool is gone
    held = ToolClassification.objects.select_for_update().filter(tool_id=tool.pk, claim=claim, pinned=False)
    if not held.exists():
        log.info("skills.claim_lost", tool=tool.pk)
        return "skipped"
    if isinstance(result, ToolscriptError):
        log.warning("skills.classification_failed", tool=tool.pk, error=result.message)
        return _settle(tool, STATUS.FAILED, run, error=result.message)
    if result.idea is not None:
        return _suggest(tool, result.idea, source, run)
    usable = skills_usable([choice.skill_id for choice in result.choices])
    choices = [choice for choice in result.choices if choice.skill_id in usable]
    if not choices:
        # All its skills went away meanwhile: it waits again, and the next look finds the skills that are left.
        _settle(tool, STATUS.PENDING, run)
        return "skipped"
    return _assign(tool, choices, source, run)


def _assign(tool: Tool, choices: Sequence[SkillChoice], source: str, run: ClassificationRun | None) -> str:
    assignments_replace({tool.pk: choices}, source=Assignment.Source(source))
    suggestion_withdraw(tool.pk)
    return _settle(tool, STATUS.ASSIGNED, run)


def _suggest(tool: Tool, idea: SkillIdea, source: str, run: ClassificationRun | None) -> str:
    suggestions_lock(tool.pk, idea.name, tool.server.tenant)
    suggestion = suggestion_file(idea, [tool.pk], origin=Suggestion.Origin(source), tenant=tool.server.tenant)
    skill = suggestion.skill
    if skill is not None and skills_usable([skill.pk]):
        # People (or the automatic approval) have said what this name means.
        reason = f"Suggested as {suggestion.name!r}, which is filed under this skill."
        return _assign(tool, [SkillChoice(skill.pk, MAPPED_CONFIDENCE, reason)], source, run)
    suggestion_withdraw(tool.pk, but_for=suggestion)
    Assignment.objects.filter(tool=tool).delete()
    payload_sync([tool.pk])
    return _settle(tool, STATUS.SUGGESTED, run)


def _settle(tool: Tool, status: str, run: ClassificationRun | None, error: str = "") -> str:
    """`tool` is as it was when it was claimed: if it changed since, its key differs, and it is looked at again."""
    ToolClassification.objects.filter(tool_id=tool.pk).update(
        status=status,
        key="" if status == STATUS.PENDING else tool.content_hash,
        claim=None,
        claimed_until=None,
        error=error[:1000],
        run=run,
        classified_at=timezone.now(),
    )
    return str(status)
