"""A running gateway, over plain HTTP. Only the standard library: this is the fast way of `toolscript search`."""

import http.client
import json
import os
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from cli import settings
from cli.errors import FAILED, UNAVAILABLE, WRONG_USE, Failure, with_fields
from cli.output import clean

SECONDS = 30.0
"""For connecting, and for answers to anything but a call: how long that may take is for the gateway to say."""
ADDRESS_FILE = "gateway.json"
"""Written by `toolscript up` and `toolscript serve` into the data folder."""


SENDABLE = re.compile(r"[!-~]*")
"""What may stand in the first line of a request."""
TYPESCRIPT = "application/typescript"
MAYBE_DONE = "The call may have been done all the same: look before you repeat it."


class NotReachable(Failure):
    pass


class Gateway:
    def __init__(self, url: str, *, seconds: float = SECONDS, key: str = "") -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(self.url)
            host, self._port, self._path = parts.hostname or "", parts.port, parts.path
            host.encode("idna")
        except ValueError:  # brackets that do not match, a port that is none, a name that cannot be one
            raise _no_address(url) from None
        if parts.scheme not in {"http", "https"} or not host or not SENDABLE.fullmatch(self._path):
            raise _no_address(url)
        self._https, self._host = parts.scheme == "https", host
        self._seconds = seconds
        self._key = settings.api_key() or key

    def listens(self) -> bool:
        try:
            socket.create_connection((self._host, self._port or 80), 1).close()
        except OSError:
            return False
        return True

    def get(self, path: str, **params: Any) -> Any:
        return self._json(path, *self._ask("GET", self._address(path, params)))

    def ready(self) -> dict[str, Any]:
        """What `GET /ready` says: that all is well, or a failure. Others have that address too, with less in it."""
        status, kind, body = self._ask("GET", "/ready")
        answer = self._json("/ready", status, kind, body)
        if not isinstance(answer, dict) or not isinstance(answer.get("checks"), dict):
            raise self._stranger("/ready", status, kind, body)
        return answer

    def get_text(self, path: str, **params: Any) -> str:
        """Code: never a page of whoever else listens there."""
        status, kind, body = self._ask("GET", self._address(path, params))
        if status != 200:
            self._json(path, status, kind, body)
        if kind != TYPESCRIPT:
            raise self._stranger(path, status, kind, body)
        return body.decode("utf-8", "replace")

    def call(self, path: str, arguments: Any) -> Any:
        """Waits as long as the gateway does. What was sent may have been done, so only a refusal is worth repeating."""
        status, kind, answer = self._ask("POST", self._address(path, {}), _sent(arguments))
        try:
            return self._json(path, status, kind, answer)
        except Failure as exc:
            if status in {502, 504}:
                raise Failure(exc.message, hint=MAYBE_DONE if status == 504 else "") from None
            raise

    @staticmethod
    def _address(path: str, params: Mapping[str, Any]) -> str:
        given = {name: value for name, value in params.items() if value is not None}
        try:
            return quote(path, safe="/._-~") + (f"?{urlencode(given)}" if given else "")
        except UnicodeEncodeError:
            raise Failure("What is asked for is not text in UTF-8.", code=WRONG_USE) from None

    def _ask(self, method: str, address: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        headers = {"Accept": "*/*", "User-Agent": "toolscript-cli"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._seconds)
        is_sent = False
        try:
            connection.connect()
            if body is not None:
                is_sent = _be_patient(connection)
            connection.request(method, self._path + address, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get_content_type(), answer.read()
        except (OSError, http.client.HTTPException) as exc:
            raise self._lost(exc) if is_sent else self._not_reached(exc) from None
        finally:
            connection.close()

    def _lost(self, exc: Exception) -> Failure:
        return Failure(f"{self.url} was lost before it answered: {_reason(exc)}.", hint=MAYBE_DONE)

    def _not_reached(self, exc: Exception) -> Failure:
        if isinstance(exc, TimeoutError):
            return NotReachable(f"{self.url} did not answer within {self._seconds:g} seconds.", code=UNAVAILABLE)
        return NotReachable(
            f"{self.url} cannot be reached: {_reason(exc)}.",
            hint="`toolscript up` starts a gateway here; --gateway and TOOLSCRIPT_GATEWAY_URL name another.",
            code=UNAVAILABLE,
        )

    def _json(self, path: str, status: int, kind: str, body: bytes) -> Any:
        try:
            data = json.loads(body)
        except ValueError:
            raise self._stranger(path, status, kind, body) from None
        if 200 <= status < 300:
            return data
        error = data.get("error") if isinstance(data, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            raise self._stranger(path, status, kind, body)
        message = "\n  ".join(clean(line) for line in with_fields(error["message"], error.get("details")).splitlines())
        code = UNAVAILABLE if status in {429, 502, 503, 504} else FAILED
        hint = "Set TOOLSCRIPT_API_KEY to a key of this gateway." if status == 401 else ""
        raise Failure(message, hint=hint, code=code)

    def _stranger(self, path: str, status: int, kind: str, body: bytes) -> Failure:
        said = clean(body[:200].decode("utf-8", "replace"))[:80]
        what = f"HTTP {status}, {kind}" + (f": {said}" if said else "")
        return Failure(
            f"{self.url}{path} answered, but not as Toolscript does: {what}",
            hint="Does TOOLSCRIPT_GATEWAY_URL (or --gateway) name the right address and port?",
        )


def _no_address(url: str) -> Failure:
    return Failure(f"{url!r} is no address of a gateway.", hint="It looks like http://127.0.0.1:8000", code=WRONG_USE)


def _sent(arguments: Any) -> bytes:
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise Failure("The arguments are not text in UTF-8.", code=WRONG_USE) from None
    except ValueError as exc:
        raise Failure(f"The arguments cannot be sent as JSON: {exc}.", code=WRONG_USE) from None


def _be_patient(connection: http.client.HTTPConnection) -> bool:
    """No time limit from here on; a machine that went away is noticed by the kernel's own probes."""
    connection.sock.settimeout(None)
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
    return True


def _reason(exc: BaseException) -> str:
    if isinstance(exc, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(exc, socket.gaierror):
        return "the name of the host is not known"
    if isinstance(exc, ssl.SSLError):
        return f"the secure connection failed ({exc.reason})"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror.lower()
    return f"{type(exc).__name__} {exc}".strip()


def find(url: str | None) -> Gateway | None:
    """The gateway that was named; else the one that runs with this data folder; else None."""
    if url:
        return Gateway(url)
    url = running_url()
    running = Gateway(url, key=settings.local_key()) if url else None
    return running if running and running.listens() else None


def running_url() -> str | None:
    """What `up` or `serve` left in the data folder, if that process still lives."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(Path(settings.data_dir() / ADDRESS_FILE).read_text())
        os.kill(int(found["pid"]), 0)
        return str(found["url"])
    return None
