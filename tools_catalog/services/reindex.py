"""Brings every index up to date; with another model, beside the old vectors, and flips when complete."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import structlog
from django.conf import settings
from django.db import connection

from core.errors import EmbeddingFailed
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.spaces import model_wanted, space_for, space_go_live
from tools_catalog.types import Space

log = structlog.get_logger("toolscript.index")
LOCK = 0x746F6F6C  # any constant that nobody else uses as an advisory lock

Progress = Callable[[str, int, int], None]
"""Called with what is built, how much of it is done, and of how much."""


def silent(label: str, done: int, total: int) -> None:
    return None


def index_refresh(model: str | None = None, progress: Progress = silent) -> EmbeddingSpace | None:
    """Builds what is stale for this model (default: the one wanted). None: another process is at it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return None
        try:
            live = EmbeddingSpace.objects.filter(is_live=True).first()
            try:
                space = space_for(model or model_wanted())
            except EmbeddingFailed:
                _keep_fresh(live)
                raise
            if live != space:
                _keep_fresh(live)
            return _refresh(space, progress)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def index_beside(model: str, progress: Progress = silent) -> Space:
    """Builds what is stale for this model and leaves the live one alone: for a search with another model."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            space = space_for(model)
            for builder in builders():
                _build(builder, space, progress)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    return Space(space.pk, space.model, space.fingerprint, space.dim)


def _refresh(space: EmbeddingSpace, progress: Progress) -> EmbeddingSpace:
    built = [_build(builder, space, progress) for builder in builders()]
    if any(built):
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE mcp_unified_search")  # a plan made for an empty table is slow for minutes
    space.refresh_from_db()
    if not space.is_live:
        space_go_live(space)
    return space


def _keep_fresh(live: EmbeddingSpace | None) -> None:
    """What is searched now stays up to date while, or although not, another model is built."""
    try:
        for builder in builders() if live else []:
            builder.build(live, lambda count: None)
    except EmbeddingFailed as exc:
        log.warning("index.live_not_refreshed", error=exc.message)


def _build(builder: ModuleType, space: EmbeddingSpace, progress: Progress) -> bool:
    """Whether there was anything to build."""
    total = builder.stale(space)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(builder.LABEL, done, max(total, done))

    progress(builder.LABEL, 0, total)
    builder.build(space, advance)
    return done > 0


def builders() -> list[ModuleType]:
    return [import_module(path) for path in settings.INDEX_BUILDERS]
