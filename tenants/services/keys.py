"""API keys: made, looked up, revoked."""

import hashlib
import hmac
import secrets
from datetime import datetime
from typing import LiteralString

import structlog
from django.utils import timezone

from core import db
from core.errors import Forbidden, Unauthorized, ValidationFailed
from core.scope import ALL, scoped
from tenants.models import ApiKey, Tenant
from tenants.plans import STANDARD
from tenants.types import Caller

log = structlog.get_logger("toolscript.tenants")
MARK = "tsk_"
"""Every key begins with it, so that secret scanners and this service know one when they see it."""

TIMEOUT = 2.0
FIND: LiteralString = "SELECT * FROM toolscript_key(%s)"
USED: LiteralString = "UPDATE tenants_apikey SET last_used_at = now() WHERE id = %s RETURNING id"


def digest_of(key: str) -> str:
    """A plain hash is right here: a key has 256 random bits, so there is nothing to guess and to slow down."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_create(
    *,
    name: str,
    tenant: Tenant | None = None,
    may_write: bool = True,
    is_admin: bool = False,
    expires_at: datetime | None = None,
    created_by: str = "",
) -> tuple[ApiKey, str]:
    """The row, and the key itself, which nobody can ask for again."""
    if is_admin and not may_write:
        raise ValidationFailed("An administrator's key must be allowed to write.")
    prefix = MARK + secrets.token_hex(4)
    key = f"{prefix}_{secrets.token_urlsafe(32)}"
    row = ApiKey.objects.create(
        name=name,
        tenant=tenant,
        prefix=prefix,
        digest=digest_of(key),
        may_write=may_write,
        is_admin=is_admin,
        expires_at=expires_at,
        created_by=created_by,
    )
    log.info("access.key_created", key=prefix, name=name, tenant=row.tenant_id, by=created_by)
    return row, key


def key_revoke(row: ApiKey, *, by: str = "") -> None:
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        log.info("access.key_revoked", key=row.prefix, by=by)


def key_caller(key: str) -> Caller:
    """Who holds this key. Asked of the database each time, so that a revoked key ends at once."""
    prefix = key[: len(MARK) + 8]
    rows = db.fetch(FIND, [prefix], timeout=TIMEOUT, any_scope=True)
    if not rows or not hmac.compare_digest(rows[0][2], digest_of(key)):
        raise Unauthorized("The API key is not known.")
    key_id, name, _, may_write, is_admin, tenant_id, tenant_active, plan, revoked, expired, unseen = rows[0]
    if revoked or expired:
        raise Unauthorized(f"The API key {prefix}… {'was revoked' if revoked else 'has expired'}.")
    if tenant_id is not None and not tenant_active:
        raise Forbidden("Your tenant is switched off.")
    if unseen:
        with scoped(ALL):
            db.fetch(USED, [key_id], timeout=TIMEOUT, write=True)
    return Caller(f"key:{name}", tenant_id, may_write, is_admin, plan or STANDARD)
