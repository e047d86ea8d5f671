"""How often a caller may ask, over all processes: permits a minute, kept in Postgres, drawn a few at a time.

A process draws a twentieth of the limit at once and uses it up alone, so most requests ask no database. Never more
than the limit is granted; what a process drew and did not use is lost at the end of the minute.
"""

import threading
import time
from typing import LiteralString

from core import db
from core.errors import RateLimited

TIMEOUT = 2.0
DRAW: LiteralString = """
    WITH tidy AS (DELETE FROM tenants_ratewindow WHERE minute < %(minute)s - 1)
    INSERT INTO tenants_ratewindow AS w (key, minute, granted) VALUES (%(key)s, %(minute)s, %(draw)s::int)
    ON CONFLICT (key, minute) DO UPDATE SET granted = w.granted + %(draw)s::int
    WHERE w.granted + %(draw)s::int <= %(limit)s
    RETURNING granted
"""

_lock = threading.Lock()
_permits: dict[str, tuple[int, int]] = {}
"""Caller → (minute, permits left)."""


def take_permit(key: str, per_minute: int) -> None:
    """Uses one permit up, or raises RateLimited. A limit of 0 is no limit."""
    if per_minute <= 0:
        return
    now = time.time()
    minute = int(now // 60)
    if _use(key, minute):
        return
    draw = max(1, per_minute // 20)
    if _draw(key, minute, draw, per_minute) or (draw > 1 and _draw(key, minute, 1, per_minute)):
        return
    wait = max(1, 60 - int(now % 60))
    raise RateLimited(
        f"More than {per_minute} requests a minute. Try again in {wait} seconds.",
        {"limit": per_minute, "retry_after": wait},
    )


def _use(key: str, minute: int) -> bool:
    with _lock:
        known, left = _permits.get(key, (minute, 0))
        if known != minute or left <= 0:
            return False
        _permits[key] = (minute, left - 1)
        return True


def _draw(key: str, minute: int, count: int, limit: int) -> bool:
    wanted = {"key": key, "minute": minute, "draw": count, "limit": limit}
    if not db.fetch(DRAW, wanted, timeout=TIMEOUT, write=True):
        return False
    with _lock:
        known, left = _permits.get(key, (minute, 0))
        _permits[key] = (minute, (left if known == minute else 0) + count - 1)
        for other in [k for k, (when, _) in _permits.items() if when < minute]:
            del _permits[other]
    return True
