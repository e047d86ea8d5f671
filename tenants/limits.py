"""Rate limits that hold over all web processes: one row a client in Postgres, one statement a request."""

import hashlib
import ipaddress
import math

import structlog
from django.conf import settings
from django.db import connection
from rest_framework.request import Request

from core.errors import RateLimited
from tenants.models import Tenant
from tenants.plans import PUBLIC, STANDARD, Plan
from tenants.types import Caller

log = structlog.get_logger("toolscript.limits")
MINUTE = 60
SWEEP = 50

# A sliding window from two counters: what was counted in the window before weighs as much as of it is still in sight.
# A request that is refused is not counted, so that a client that keeps trying gets in again.
COUNT = """
    WITH now AS (
        SELECT floor(extract(epoch FROM clock_timestamp()) / %(seconds)s)::bigint AS slot,
               extract(epoch FROM clock_timestamp())::numeric %% %(seconds)s / %(seconds)s AS passed
    )
    INSERT INTO tenants_ratewindow AS w (key, slot, count, before, expires_at)
    SELECT %(key)s, now.slot, 1, 0, clock_timestamp() + make_interval(secs => 2 * %(seconds)s) FROM now
    ON CONFLICT (key) DO UPDATE SET
        slot = excluded.slot,
        before = CASE excluded.slot - w.slot WHEN 0 THEN w.before WHEN 1 THEN w.count ELSE 0 END,
        count = 1 + CASE excluded.slot - w.slot WHEN 0 THEN w.count ELSE 0 END,
        expires_at = excluded.expires_at
    WHERE CASE excluded.slot - w.slot
            WHEN 0 THEN w.count + w.before * (1 - (SELECT passed FROM now))
            WHEN 1 THEN w.count * (1 - (SELECT passed FROM now))
            ELSE 0 END + 1 <= %(limit)s
    RETURNING xmax = 0
"""
WAIT = """
    SELECT count, before, slot, extract(epoch FROM clock_timestamp())::float8
    FROM tenants_ratewindow WHERE key = %(key)s
"""
SWEEP_SQL = """
    DELETE FROM tenants_ratewindow WHERE key IN (
        SELECT key FROM tenants_ratewindow WHERE expires_at < clock_timestamp() LIMIT %(most)s FOR UPDATE SKIP LOCKED
    )
"""


def rate_limit(scope: str, client: str, *, limit: int, seconds: int = MINUTE) -> None:
    """Counts one request of this client, or raises RateLimited with the seconds to wait. A limit of 0 is none."""
    if limit <= 0:
        return
    key = hashlib.sha256(f"{scope}\0{client}".encode("utf-8", "surrogatepass")).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"key": key, "seconds": seconds, "limit": limit})
        row = cursor.fetchone()
        if row is None:
            cursor.execute(WAIT, {"key": key})
            wait = _seconds_to_wait(cursor.fetchone(), limit, seconds)
            log.warning("limits.refused", scope=scope, limit=limit, seconds=seconds)
            raise RateLimited(
                f"Too many requests: {limit} in {seconds} s are allowed. Try again in {wait} s.",
                {"limit": limit, "window_s": seconds, "retry_after_s": wait},
            )
        if row[0]:  # a new client pays for sweeping up after old ones
            cursor.execute(SWEEP_SQL, {"most": SWEEP})


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


def client_of(request: Request, caller: Caller) -> str:
    """Who is counted: the caller by name, or an anonymous one by network address (IPv6 by its /64)."""
    if caller != Caller():
        return f"caller:{caller.tenant_id}:{caller.name}"
    address = _address(request)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"address:{address[:100]}"
    if isinstance(parsed, ipaddress.IPv6Address):
        parsed = parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), 64), strict=False).network_address
    return f"address:{parsed}"


def _address(request: Request) -> str:
    """Each proxy appends whom it saw; so many entries from the end as there are trusted proxies are true."""
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    proxies = min(settings.TRUSTED_PROXIES, len(forwarded))
    return str(forwarded[-proxies]) if proxies else str(request.META.get("REMOTE_ADDR", ""))


def plan_of(caller: Caller) -> Plan:
    plans: dict[str, Plan] = settings.PLANS
    if caller == Caller():
        return plans[PUBLIC]
    if caller.tenant_id is None:
        return plans[STANDARD]
    name = Tenant.objects.filter(pk=caller.tenant_id).values_list("plan", flat=True).first()
    return plans.get(name or STANDARD, plans[STANDARD])


def limit_searches(request: Request, caller: Caller) -> Plan:
    """Counts a search against the caller's plan, and says which plan that is."""
    plan = plan_of(caller)
    rate_limit("search", client_of(request, caller), limit=plan.searches_per_minute)
    return plan
