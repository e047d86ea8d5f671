"""Whether what a server publishes may be served, and who decided so.

Each definition that a tool ever had is a row, found again by its hash. A definition that was accepted once needs no
second look when it comes back, and one that was rejected stays rejected.
"""

from collections.abc import Iterable, Sequence

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.errors import Conflict
from tools_catalog.models import Review, Server, Tool, ToolDefinition
from tools_catalog.services.tool_index import payload_sync

log = structlog.get_logger("toolscript.review")


def definitions_take_in(server: Server, tools: Sequence[Tool], *, is_first: bool) -> None:
    """For tools that are new or changed, in the transaction that writes them. `is_first`: the server had none yet."""
    now = timezone.now()
    hashes = [tool.content_hash for tool in tools]
    rows = ToolDefinition.objects.filter(tool__in=tools, content_hash__in=hashes)
    known = {(row.tool_id, row.content_hash): row for row in rows}
    new: list[ToolDefinition] = []
    back: list[ToolDefinition] = []
    for tool in tools:
        row = known.get((tool.pk, tool.content_hash))
        if row is None:
            row = _definition(tool, _first_review(server, is_first=is_first))
            new.append(row)
        else:
            back.append(row)
        row.published_at = now
        tool.review = row.review
    ToolDefinition.objects.bulk_create(new)
    ToolDefinition.objects.bulk_update(back, ["published_at"])
    for review in Review:
        Tool.objects.filter(pk__in=[t.pk for t in tools if t.review == review]).exclude(review=review).update(
            review=review
        )
    if held := sum(row.review == Review.HELD for row in new):
        log.warning("review.held", server=server.name, tools=held)


def _first_review(server: Server, *, is_first: bool) -> str:
    """A renamed tool is a new one. So with the setting on, a new tool of a known server is held like a changed one."""
    if server.accepted_at is None or (settings.REVIEW_CHANGES and not is_first):
        return Review.HELD
    return Review.ACCEPTED


def _definition(tool: Tool, review: str) -> ToolDefinition:
    return ToolDefinition(
        tool=tool,
        content_hash=tool.content_hash,
        description=tool.description,
        uri=tool.uri,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
        review=review,
    )


def tool_accept(tool: Tool, *, by: str, seen: str | None = None) -> None:
    """Serves the tool with its present definition. `seen` is the hash of the one that the reviewer looked at."""
    _decide([tool], Review.ACCEPTED, by, seen)


def tool_reject(tool: Tool, *, by: str, seen: str | None = None) -> None:
    """Keeps the tool out of service until its server publishes another definition; that one is held again."""
    _decide([tool], Review.REJECTED, by, seen)


def tools_accept(tools: Iterable[Tool], *, by: str) -> int:
    return _decide(tools, Review.ACCEPTED, by)


def tools_reject(tools: Iterable[Tool], *, by: str) -> int:
    return _decide(tools, Review.REJECTED, by)


@transaction.atomic
def _decide(tools: Iterable[Tool], review: Review, by: str, seen: str | None = None) -> int:
    locked = list(Tool.objects.select_for_update().filter(pk__in=[tool.pk for tool in tools]).exclude(review=review))
    if seen is not None and any(tool.content_hash != seen for tool in locked):
        raise Conflict("The server published another definition meanwhile. Look at that one first.")
    for tool in locked:
        ToolDefinition.objects.filter(tool=tool, content_hash=tool.content_hash).update(
            review=review, decided_at=timezone.now(), decided_by=by
        )
    Tool.objects.filter(pk__in=[tool.pk for tool in locked]).update(review=review)
    payload_sync([tool.pk for tool in locked])
    if locked:
        log.info("review.decided", review=review, by=by, tools=[tool.pk for tool in locked])
    return len(locked)


@transaction.atomic
def server_accept(server: Server, *, by: str) -> int:
    """Accepts a server that was held as a whole, with what it publishes now. How many tools that released."""
    row = Server.objects.select_for_update().get(pk=server.pk)
    if row.accepted_at is not None:
        return 0
    Server.objects.filter(pk=row.pk).update(accepted_at=timezone.now(), accepted_by=by)
    return _decide(row.tools.filter(review=Review.HELD), Review.ACCEPTED, by)
