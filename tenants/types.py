from dataclasses import dataclass

from rest_framework.request import Request


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the name goes into logs and audit rows, the tenant limits what is seen (None: what is shared)."""

    name: str = "anonymous"
    tenant_id: int | None = None


def caller_of(request: Request) -> Caller:
    return request.user if isinstance(request.user, Caller) else Caller()
