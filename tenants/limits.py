"""Rate limits that hold over all web processes: one row a client in Postgres, one statement a request.

Where every request counts, a process draws several permits at once and uses them up alone: see `rate_limit_drawn`.
"""

import hashlib
import ipaddress
import math
import threading
import time
from typing import LiteralString

import structlog
from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from core import db
from core.errors import RateLimited
from tenants.plans import STANDARD, Plan
from tenants.types import Caller

log = structlog.get_logger("toolscript.limits")
MINUTE = 60
SWEEP = 50
TIMEOUT = 2.0

# A sliding window from two counters: what was counted in the window before weighs as much as of it is still in sight.
# A request that is refused is not counted, so that a client that keeps trying gets in again.
COUNT: LiteralString = """
    WITH now AS (
        SELECT floor(extract(epoch FROM clock_timestamp()) / %(seconds)s)::bigint AS slot,
               extract(epoch FROM clock_timestamp())::numeric %% %(seconds)s / %(seconds)s AS passed
    )
    INSERT INTO tenants_ratewindow AS w (key, slot, count, before, expires_at)
    SELECT %(key)s, now.slot, %(permits)s::int, 0, clock_timestamp() + make_interval(secs => 2 * %(seconds)s) FROM now
    ON CONFLICT (key) DO UPDATE SET
        slot = excluded.slot,
        before = CASE excluded.slot - w.slot WHEN 0 THEN w.before WHEN 1 THEN w.count ELSE 0 END,
        count = %(permits)s::int + CASE excluded.slot - w.slot WHEN 0 THEN w.count ELSE 0 END,
        expires_at = excluded.expires_at
    WHERE CASE excluded.slot - w.slot
            WHEN 0 THEN w.count + w.before * (1 - (SELECT passed FROM now))
            WHEN 1 THEN w.count * (1 - (SELECT passed FROM now))
            ELSE 0 END + %(permits)s::int <= %(limit)s
    RETURNING xmax = 0
"""
WAIT: LiteralString = """
    SELECT count, before, slot, extract(epoch FROM clock_timestamp())::float8
    FROM tenants_ratewindow WHERE key = %(key)s
"""
SWEEP_SQL: LiteralString = """
    DELETE FROM tenants_ratewindow WHERE key IN (
        SELECT key FROM tenants_ratewindow WHERE expires_at < clock_timestamp() LIMIT %(most)s FOR UPDATE SKIP LOCKED
    ) RETURNING key
"""


def rate_limit(scope: str, client: str, *, limit: int, seconds: int = MINUTE, permits: int = 1) -> None:
    """Counts one request of this client, or raises RateLimited with the seconds to wait. A limit of 0 is none."""
    if limit <= 0:
        return
    key = hashlib.sha256(f"{scope}\0{client}".encode("utf-8", "surrogatepass")).hexdigest()
    wanted = {"key": key, "seconds": seconds, "limit": limit, "permits": permits}
    counted = db.fetch(COUNT, wanted, timeout=TIMEOUT, write=True, any_scope=True)
    if not counted:
        seen = db.fetch(WAIT, {"key": key}, timeout=TIMEOUT, any_scope=True)
        wait = _seconds_to_wait(seen[0] if seen else None, limit, seconds)
        log.warning("limits.refused", scope=scope, limit=limit, seconds=seconds)
        raise RateLimited(
            f"Too many requests: {limit} in {seconds} s are allowed. Try again in {wait} s.",
            {"limit": limit, "window_s": seconds, "retry_after_s": wait},
        )
    if counted[0][0]:  # a new client pays for sweeping up after old ones
        db.fetch(SWEEP_SQL, {"most": SWEEP}, timeout=TIMEOUT, write=True, any_scope=True)


_lock = threading.Lock()
_drawn: dict[tuple[str, str], tuple[float, int]] = {}
"""Scope and client → (until when, permits left)."""


def rate_limit_drawn(scope: str, client: str, *, limit: int, seconds: int = MINUTE) -> None:
    """Like `rate_limit`, for what every request does: a twentieth of the limit is counted at once and then used up.

    Never more is allowed than the limit; what a process drew and did not use lapses after a window.
    """
    if limit <= 0 or _use_drawn((scope, client)):
        return
    draw = max(1, limit // 20)
    try:
        rate_limit(scope, client, limit=limit, seconds=seconds, permits=draw)
    except RateLimited:
        if draw == 1:
            raise
        draw = 1
        rate_limit(scope, client, limit=limit, seconds=seconds)
    if draw > 1:
        with _lock:
            now = time.monotonic()
            for lapsed in [key for key, (until, left) in _drawn.items() if until < now or not left]:
                del _drawn[lapsed]
            _drawn[scope, client] = (now + seconds, draw - 1)


def _use_drawn(key: tuple[str, str]) -> bool:
    with _lock:
        until, left = _drawn.get(key, (0.0, 0))
        if left <= 0 or until < time.monotonic():
            return False
        _drawn[key] = (until, left - 1)
        return True


def _seconds_to_wait(row: tuple[int, int, int, float] | None, limit: int, seconds: int) -> int:
    """Until one more request fits under the limit."""
    if row is None:
        return 1
    count, before, slot, now = row
    room = limit - 1 - count
    if room >= 0 and before > 0:  # enough of the window before has to slide out of sight
        free_at = (slot + 1 - room / before) * seconds
    else:  # this window is full: it has to become the one before, and to slide out in part
        free_at = (slot + 2 - min(1.0, (limit - 1) / count)) * seconds
    return max(1, math.ceil(free_at - now))


def client_of(request: Request | HttpRequest, caller: Caller) -> str:
    """Who is counted: the caller by name, or an anonymous one by network address (IPv6 by its /64)."""
    if not caller.is_anonymous:
        return f"caller:{caller.tenant_id}:{caller.name}"
    address = _address(request)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"address:{address[:100]}"
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), 64), strict=False).network_address
    return f"address:{parsed}"


def _address(request: Request | HttpRequest) -> str:
    """Each proxy appends whom it saw; so many entries from the end as there are trusted proxies are true."""
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    proxies = min(settings.TRUSTED_PROXIES, len(forwarded))
    return str(forwarded[-proxies]) if proxies else str(request.META.get("REMOTE_ADDR", ""))


def plan_of(caller: Caller) -> Plan:
    plans: dict[str, Plan] = settings.PLANS
    return plans.get(caller.plan, plans[STANDARD])


def limit_searches(request: Request, caller: Caller) -> Plan:
    """Counts a search against the caller's plan, and says which plan that is."""
    return limit_searches_of(client_of(request, caller), caller)


def limit_searches_of(client: str, caller: Caller) -> Plan:
    plan = plan_of(caller)
    rate_limit("search", client, limit=plan.searches_per_minute)
    return plan
