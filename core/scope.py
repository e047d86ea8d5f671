"""Whose rows the database shows: said once a request, obeyed by every connection, enforced by row-level security.

A connection is told only when its scope differs from the one it was told last, so the usual request costs nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import LiteralString

ROLE = "toolscript_tenant"
"""The role that policies bind. It owns nothing and logs in nowhere."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows of this tenant and those that are shared. Shared rows are changed by administrators only."""

    tenant_id: int | None = None
    shared_writes: bool = False
    everything: bool = False


ALL = Scope(everything=True)
"""For what works for everybody: tasks, migrations, superusers, and finding out who asks."""
SHARED = Scope()

_default = ALL
_current: ContextVar[Scope | None] = ContextVar("scope", default=None)

TELL: LiteralString = (
    "SELECT set_config('role', %s, false), set_config('toolscript.tenant', %s, false),"
    " set_config('toolscript.shared', %s, false)"
)


def restrict_by_default() -> None:
    """For processes that serve requests: whoever forgets to say the scope sees what is shared."""
    global _default  # noqa: PLW0603
    _default = SHARED


def current() -> Scope:
    return _current.get() or _default


def enter(scope: Scope) -> None:
    """Until the enclosing `scoped` ends."""
    _current.set(scope)


@contextmanager
def scoped(scope: Scope) -> Iterator[None]:
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


def told(scope: Scope) -> tuple[str, str, str]:
    """The parameters of TELL."""
    if scope.everything:
        return "none", "", ""
    return ROLE, str(scope.tenant_id or ""), "write" if scope.shared_writes else ""
