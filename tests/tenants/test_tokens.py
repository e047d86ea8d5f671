"""JSON web tokens, with a real issuer that publishes its keys over HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tenants.models import Tenant
from tenants.services import tokens
from tests.tenants.people import Side, make_sides

SECRET = "a secret of the tests, " * 3


class Issuer:
    def __init__(self) -> None:
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.asked = 0
        self.broken = ""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                if issuer.broken == "no HTTP":
                    self.wfile.write(b"220 mail.test\r\n")
                    return
                body = b"oops" if issuer.broken else json.dumps({"keys": issuer.published()}).encode()
                self.send_response(500 if issuer.broken else 200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks.json"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, kid: str) -> None:
        self.keys[kid] = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def published(self) -> list[dict[str, Any]]:
        to_jwk = jwt.algorithms.RSAAlgorithm.to_jwk
        made = {kid: to_jwk(key.public_key(), as_dict=True) for kid, key in self.keys.items()}
        return [{**jwk, "kid": kid, "use": "sig", "alg": "RS256"} for kid, jwk in made.items()]

    def public_pem(self, kid: str) -> bytes:
        key = self.keys[kid].public_key()
        return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    made.add("one")
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def sides(transactional_db: None) -> tuple[Side, Side]:
    return make_sides()


@pytest.fixture(autouse=True)
def accepting(settings: Settings, issuer: Issuer) -> None:
    tokens._key_sets.clear()
    issuer.broken = ""
    settings.ANONYMOUS = False
    settings.TOKENS = replace(settings.TOKENS, secret=SECRET, jwks_url=issuer.url, issuer="https://issuer.test")


def claims(**changes: Any) -> dict[str, Any]:
    usual = {"sub": "ada", "aud": "toolscript", "iss": "https://issuer.test", "tenant_id": "acme"}
    given = {**usual, "exp": int(time.time()) + 60, **changes}
    return {name: value for name, value in given.items() if value is not None}


def hs256(**changes: Any) -> str:
    return jwt.encode(claims(**changes), SECRET, "HS256")


def rs256(issuer: Issuer, kid: str = "one", **changes: Any) -> str:
    return jwt.encode(claims(**changes), issuer.keys[kid], "RS256", headers={"kid": kid})


def ask(live_server: LiveServer, token: str) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.get(f"{live_server.url}/api/v1/search/tools?query=calendar+event", headers=headers)


@pytest.mark.usefixtures("sides")
class TestAccepted:
    def test_both_kinds_show_the_tenants_rows_and_the_shared_ones(
        self, live_server: LiveServer, issuer: Issuer
    ) -> None:
        for token in (hs256(), rs256(issuer)):
            answer = ask(live_server, token)
            assert answer.status_code == 200, answer.text
            assert "zanzibar" in answer.text
            assert "that all may see" in answer.text
            assert "quokka" not in answer.text
        assert "quokka" in ask(live_server, hs256(tenant_id="globex")).text

    def test_a_clock_that_is_off_by_less_than_the_leeway(self, live_server: LiveServer) -> None:
        now = int(time.time())
        assert ask(live_server, hs256(exp=now - 10)).status_code == 200
        assert ask(live_server, hs256(nbf=now + 10, iat=now + 10)).status_code == 200

    def test_a_new_key_of_the_issuer_is_fetched(
        self, live_server: LiveServer, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tokens.KeySet, "PAUSE", 0.0)
        assert ask(live_server, rs256(issuer)).status_code == 200
        issuer.add("two")
        assert ask(live_server, rs256(issuer, "two")).status_code == 200

    def test_keys_are_kept_while_the_issuer_is_away(
        self, live_server: LiveServer, issuer: Issuer, settings: Settings
    ) -> None:
        settings.TOKENS = replace(settings.TOKENS, jwks_seconds=0)
        assert ask(live_server, rs256(issuer)).status_code == 200
        issuer.broken = "500"
        assert ask(live_server, rs256(issuer)).status_code == 200


@pytest.mark.usefixtures("sides")
class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"exp": 1}, "expired"),
            ({"exp": None}, "exp"),
            ({"aud": "another"}, "not valid"),
            ({"aud": None}, "aud"),
            ({"iss": "https://another.test"}, "not valid"),
            ({"iss": None}, "iss"),
            ({"nbf": 9_999_999_999}, "not valid"),
            ({"tenant_id": None}, "tenant_id"),
            ({"tenant_id": ""}, "tenant_id"),
            ({"tenant_id": True}, "tenant_id"),
            ({"tenant_id": ["acme"]}, "tenant_id"),
            ({"tenant_id": "nobody"}, "not known"),
            ({"tenant_id": "acme\0"}, "not known"),
            ({"exp": "soon"}, "must be an integer."),
        ],
    )
    def test_for_what_it_claims(self, live_server: LiveServer, changes: dict[str, Any], says: str) -> None:
        answer = ask(live_server, hs256(**changes))
        assert answer.status_code == (403 if says == "not known" else 401)
        assert says in answer.json()["detail"]
        assert ".." not in answer.json()["detail"]

    def test_for_how_it_is_signed(self, live_server: LiveServer, issuer: Issuer) -> None:
        head, body, _ = hs256().split(".")
        none = jwt.encode(claims(), None, "none")  # type: ignore[arg-type]
        # The public key as if it were the secret: what a library that trusts the header would accept.
        confused = forged_with(issuer.public_pem("one"), {"alg": "HS256", "kid": "one"})
        other = jwt.encode(claims(), "some other secret, also long enough", "HS256")
        stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        for token in (
            none,
            confused,
            other,
            f"{head}.{body}.",
            jwt.encode(claims(), stranger, "RS256", headers={"kid": "one"}),
            jwt.encode(claims(), stranger, "RS256", headers={"kid": "unknown"}),
            jwt.encode(claims(), SECRET, "HS512"),
            "a.b.c",
        ):
            assert ask(live_server, token).status_code == 401, token

    def test_rs256_where_only_a_secret_is_configured(
        self, live_server: LiveServer, issuer: Issuer, settings: Settings
    ) -> None:
        settings.TOKENS = replace(settings.TOKENS, jwks_url="")
        assert ask(live_server, rs256(issuer)).status_code == 401

    @pytest.mark.parametrize("broken", ["500", "no HTTP"])
    def test_with_503_when_the_keys_were_never_fetched(
        self, live_server: LiveServer, issuer: Issuer, broken: str
    ) -> None:
        issuer.broken = broken
        answer = ask(live_server, rs256(issuer))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "NOT_READY")

    def test_unknown_keys_do_not_make_us_ask_the_issuer_each_time(
        self, live_server: LiveServer, issuer: Issuer
    ) -> None:
        before = issuer.asked
        stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        for i in range(5):
            token = jwt.encode(claims(), stranger, "RS256", headers={"kid": f"made up {i}"})
            assert ask(live_server, token).status_code == 401
        assert issuer.asked == before + 1

    def test_a_switched_off_tenant(self, live_server: LiveServer) -> None:
        Tenant.objects.filter(slug="acme").update(is_active=False)
        assert ask(live_server, hs256()).status_code == 403


READ, WRITE = "toolscript:read", "toolscript:write"


@pytest.mark.usefixtures("sides")
class TestScopes:
    """Issuers write `scope` as one text or as a list."""

    @pytest.mark.parametrize("scope", [READ, [READ], f"openid {READ}", ["openid", READ], [f"openid {READ}"]])
    def test_a_token_that_only_reads(self, live_server: LiveServer, scope: Any) -> None:
        assert ask(live_server, hs256(scope=scope)).status_code == 200
        answer = write(live_server, hs256(scope=scope))
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")

    @pytest.mark.parametrize("scope", ["", [], "openid", ["openid"], WRITE, [WRITE], [READ, WRITE], f"{READ} {WRITE}"])
    def test_a_token_that_writes(self, live_server: LiveServer, scope: Any) -> None:
        assert write(live_server, hs256(scope=scope)).status_code == 200

    @pytest.mark.parametrize(
        "scope",
        [
            {"toolscript": "read"},
            {READ: True},
            [[READ]],
            [READ, 1],
            [None],
            1,
            0,
            True,
            False,
            f"openid,{READ}",
            [f"openid,{READ}"],
            f'["{READ}"]',
            READ.upper(),
        ],
    )
    def test_what_cannot_be_read_grants_nothing(self, live_server: LiveServer, scope: Any) -> None:
        for answer in (ask(live_server, hs256(scope=scope)), write(live_server, hs256(scope=scope))):
            assert answer.status_code == 401, answer.text
            assert "scope" in answer.json()["detail"]

    def test_null_is_none_of_both(self, live_server: LiveServer) -> None:
        token = jwt.encode({**claims(), "scope": None}, SECRET, "HS256")
        assert write(live_server, token).status_code == 401


def write(live_server: LiveServer, token: str) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.post(f"{live_server.url}/api/v1/import", json={"server": "mailer", "tools": []}, headers=headers)


def forged_with(key: bytes, header: dict[str, str]) -> str:
    import base64
    import hashlib
    import hmac

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims()).encode())}"
    return f"{signed}.{part(hmac.new(key, signed.encode(), hashlib.sha256).digest())}"
