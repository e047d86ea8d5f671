"""Servers, not tools, are dealt into folds: a model judged on a server has seen none of its tools."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

FOLDS = 5
VALIDATION_FOLD = 0  # hyper-parameters are chosen here, so this fold is never reported

# Different packages for one product describe almost the same tools, so they stay on one side.
_FAMILIES = ("gitlab", "github", "playwright", "puppeteer", "asana", "notion", "trello", "slack")


def family(server: str) -> str:
    lowered = server.lower()
    return next((name for name in _FAMILIES if name in lowered), lowered)


def deal(servers: Iterable[str]) -> dict[str, int]:
    """Fold of every server, from one name per tool: families in hash order, each into the emptiest fold."""
    sizes = Counter(servers)
    families: dict[str, list[str]] = {}
    for server in sizes:
        families.setdefault(family(server), []).append(server)
    filled = [0] * FOLDS
    folds: dict[str, int] = {}
    for name in sorted(families, key=_hash):
        fold = filled.index(min(filled))
        for server in families[name]:
            folds[server] = fold
            filled[fold] += sizes[server]
    return folds


def check_disjoint(trained: Iterable[str], judged: Iterable[str]) -> None:
    shared = {family(server) for server in trained} & {family(server) for server in judged}
    if shared:
        raise ValueError(f"servers on both sides of the split: {', '.join(sorted(shared)[:5])}")


def _hash(name: str) -> str:
    return hashlib.sha256(f"toolscript:{name}".encode()).hexdigest()
