"""JSON web tokens: HS256 with our own secret, RS256 with the keys that an issuer publishes (JWKS)."""

import threading
import time
import urllib.request
from http.client import HTTPException
from typing import Any

import jwt
import orjson
import structlog
from django.conf import settings

from core import db
from core.errors import Forbidden, NotReady, Unauthorized
from tenants.types import Caller, TokenOptions

log = structlog.get_logger("toolscript.tenants")
TIMEOUT = 2.0
LARGEST_KEY_SET = 1_000_000
OURS = "toolscript:"
WRITE, ADMIN = f"{OURS}write", f"{OURS}admin"


class KeySet:
    """The issuer's keys, kept for a while. An unknown key asks again, but not more often than `PAUSE` allows."""

    PAUSE = 10.0

    def __init__(self, url: str, timeout: float, seconds: float) -> None:
        self._url, self._timeout, self._seconds = url, timeout, seconds
        self._keys: dict[str, Any] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._lock = threading.Lock()

    def key(self, kid: str | None) -> Any:
        with self._lock:
            if self._too_old(self._fetched, self._seconds) or (kid or "") not in self._keys:
                self._fetch()
            if self._fetched is None:
                raise NotReady("The keys that tokens are signed with cannot be fetched. Try again shortly.")
            if kid is None and len(self._keys) == 1:
                return next(iter(self._keys.values()))
            if kid not in self._keys:
                raise Unauthorized("The token is signed with a key that is not known.")
            return self._keys[kid]

    def _too_old(self, at: float | None, seconds: float) -> bool:
        return at is None or time.monotonic() - at >= seconds

    def _fetch(self) -> None:
        """Keys that were fetched once stay good when the issuer is away."""
        if not self._too_old(self._tried, self.PAUSE):
            return
        self._tried = time.monotonic()
        try:
            with urllib.request.urlopen(self._url, timeout=self._timeout) as answer:  # noqa: S310 - an own setting
                keys = jwt.PyJWKSet.from_dict(orjson.loads(answer.read(LARGEST_KEY_SET))).keys
            self._keys = {key.key_id or "": key.key for key in keys if key.key_type == "RSA"}
            self._fetched = time.monotonic()
        except (OSError, HTTPException, ValueError, jwt.PyJWTError, AttributeError) as exc:
            log.warning("access.jwks_failed", error=f"{type(exc).__name__}: {exc}"[:300])


_key_sets: dict[str, KeySet] = {}


def token_caller(token: str) -> Caller:
    claims = _claims(token, settings.TOKENS)
    tenant_id, plan = _tenant(claims.get("tenant_id"))
    granted = _granted(claims.get("scope", ""))
    may_write = not granted or bool(granted & {WRITE, ADMIN})
    return Caller(f"token:{claims.get('sub', '')}"[:150], tenant_id, may_write, ADMIN in granted, plan)


def _granted(scope: Any) -> set[str]:
    """What the claim says about this service. Without a word about it all is granted, so what is unclear is refused."""
    texts = [scope] if isinstance(scope, str) else scope
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unauthorized("The scope of the token must be a text or a list of texts.")
    about_us = {word for text in texts for word in text.split() if OURS in word.lower()}
    if not all(word.startswith(OURS) for word in about_us):
        raise Unauthorized(f"The scope of the token is not clear: `{OURS}` stands inside a word, or in capitals.")
    return about_us


def _claims(token: str, options: TokenOptions) -> dict[str, Any]:
    try:
        header = jwt.get_unverified_header(token)
        # The algorithm says which key is asked for, and each key is used with its one algorithm only: a token
        # that calls a public key a secret, or wants no signature at all, finds no branch here.
        algorithm = header.get("alg")
        key: Any
        if algorithm == "HS256" and options.secret:
            key = options.secret
        elif algorithm == "RS256" and options.jwks_url:
            key = _key_set(options).key(header.get("kid"))
        else:
            raise Unauthorized("The token is not signed in a way that is accepted here.")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=options.audience,
            issuer=options.issuer or None,
            leeway=options.leeway,
            options={"require": ["exp", "aud", *(["iss"] if options.issuer else [])]},
        )
    except jwt.ExpiredSignatureError:
        raise Unauthorized("The token has expired.") from None
    except jwt.PyJWTError as exc:
        raise Unauthorized(f"The token is not valid: {str(exc).rstrip('.')}.") from None
    return claims


def _key_set(options: TokenOptions) -> KeySet:
    found = _key_sets.get(options.jwks_url)
    if found is None:
        found = KeySet(options.jwks_url, options.jwks_timeout, options.jwks_seconds)
        _key_sets[options.jwks_url] = found
    return found


def _tenant(claim: Any) -> tuple[int, str]:
    if not isinstance(claim, str | int) or isinstance(claim, bool) or claim == "":
        raise Unauthorized("The token has no tenant_id.")
    slug = str(claim).replace("\0", " ")  # which no slug holds, and no text in Postgres
    rows = db.fetch("SELECT * FROM toolscript_tenant_named(%s)", [slug], timeout=TIMEOUT, any_scope=True)
    if not rows:
        raise Forbidden("The tenant of the token is not known, or switched off.")
    return rows[0]
