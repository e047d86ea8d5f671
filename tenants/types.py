from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import Forbidden, NotFound
from core.scope import Scope
from tenants.plans import PUBLIC, STANDARD

if TYPE_CHECKING:  # the settings import this module
    from rest_framework.request import Request


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the name goes into logs and audit rows, the tenant limits what is seen (None: what is shared)."""

    name: str = "anonymous"
    tenant_id: int | None = None
    may_write: bool = False
    is_admin: bool = False
    """May change what is shared."""
    plan: str = PUBLIC

    @property
    def is_anonymous(self) -> bool:
        return self.name == "anonymous"

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant_id, shared_writes=self.is_admin and self.may_write)

    def owner_of_new_rows(self) -> int | None:
        """Whose what this caller creates will be; refuses a caller who may create nothing."""
        self._require_writer()
        if self.tenant_id is None and not self.is_admin:
            raise Forbidden("Your credential belongs to no tenant, and only an administrator's may add what is shared.")
        return self.tenant_id

    def require_write(self, tenant_id: int | None, what: str = "This") -> None:
        """Refuses to change a row of this tenant (None: a shared one)."""
        self._require_writer()
        if tenant_id is None and not self.is_admin:
            raise Forbidden(f"{what} is shared by all; only an administrator's credential may change it.")
        if tenant_id is not None and tenant_id != self.tenant_id:
            raise NotFound(f"{what} does not exist.")

    def _require_writer(self) -> None:
        if not self.may_write:
            raise Forbidden("Your credential may read only.")


@dataclass(frozen=True, slots=True)
class TokenOptions:
    secret: str
    jwks_url: str
    audience: str
    issuer: str
    leeway: float
    jwks_timeout: float
    jwks_seconds: float

    @property
    def accepted(self) -> bool:
        return bool(self.secret or self.jwks_url)


IDENTIFIED = "toolscript.caller"
"""In the environment of a WSGI request: who asks, where that is known already. No header can set it."""
OPERATOR = Caller("operator", may_write=True, is_admin=True, plan=STANDARD)
"""Whoever has the data folder: the command line on the machine itself."""


def caller_of(request: "Request") -> Caller:
    return request.user if isinstance(request.user, Caller) else Caller()
