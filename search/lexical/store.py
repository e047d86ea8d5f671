"""The keyword index of this process, kept in step with the catalogue.

A thread builds it while the old one serves. A search waits for that thread only when the old index is not known to
have been right half a second before.
"""

import threading
import time

import structlog
from django.conf import settings

from core import db, scope
from core.cached import Cached
from core.errors import NotReady, ToolscriptError
from search import selectors
from search.lexical.documents import document
from search.lexical.index import Index, build, updated

log = structlog.get_logger("toolscript.lexical")
Version = tuple[db.Row, ...]


class Store:
    def __init__(self) -> None:
        self._version = Cached(selectors.catalog_version, lambda: settings.SKILL_CACHE_SECONDS)
        self._lock = threading.Lock()
        self._kept: tuple[Version, Index] | None = None
        self._right_at = float("-inf")
        """When the kept index was last known to be that of the catalogue."""
        self._building: threading.Event | None = None
        self._problem: ToolscriptError | None = None

    def get(self, timeout: float) -> Index:
        """The index as of a second ago at most, or the reason why it cannot be had in time."""
        asked = time.monotonic()
        wanted = self._version.get()
        kept = self._kept
        if kept is not None and kept[0] == wanted:
            self._right_at = max(self._right_at, asked)
            return kept[1]
        if kept is not None and asked - self._right_at < settings.SKILL_CACHE_SECONDS:
            self._refresh()
            return kept[1]
        return self._wait(asked, timeout)

    def _wait(self, asked: float, timeout: float) -> Index:
        # A build that was under way may have begun before the change: then the next one counts.
        while self._kept is None or self._right_at < asked:
            done = self._refresh()
            if not done.wait(max(0.0, asked + timeout - time.monotonic())):
                raise NotReady("The keyword index is being built. Try again shortly.")
            if self._problem is not None:
                raise self._problem
        return self._kept[1]

    def _refresh(self) -> threading.Event:
        """Starts the thread that catches up with the catalogue, unless it is running."""
        with self._lock:
            if self._building is None:
                self._building = threading.Event()
                threading.Thread(target=self._run, args=[self._building], name="lexical", daemon=True).start()
            return self._building

    def _run(self, done: threading.Event) -> None:
        started = time.monotonic()
        try:
            with scope.scoped(scope.ALL):  # one index for all tenants; searches in it are limited to the caller's
                version = selectors.catalog_version()
                index = _caught_up(self._kept[1] if self._kept else None)
            self._kept, self._right_at, self._problem = (version, index), started, None
            elapsed = round((time.monotonic() - started) * 1000, 1)
            log.info("lexical.built", tools=len(index.entries), words=len(index.vocabulary), elapsed_ms=elapsed)
        except ToolscriptError as exc:
            self._problem = exc
            log.warning("lexical.not_built", error=exc.message)
        finally:
            with self._lock:
                self._building = None
            done.set()


def _caught_up(index: Index | None) -> Index:
    if index is None:
        return build(document(source) for source in selectors.catalog_sources(None))
    keys = selectors.catalog_keys()
    known = index.entries
    removed = [i for i in known if i not in keys]
    stale = [i for i, wanted in keys.items() if i not in known or (known[i].key, known[i].tenant_id) != wanted]
    if not removed and not stale:
        return index
    changed = [document(source) for source in selectors.catalog_sources(stale)]
    return updated(index, changed, removed)


store = Store()
