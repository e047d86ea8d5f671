"""The gateway without a network: the same views, asked inside this process. Used where no gateway runs."""

import contextlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote_to_bytes

from cli import settings
from cli.errors import no_database
from cli.gateway import Gateway
from cli.output import note

ADDRESS = "http://127.0.0.1"


class InProcess(Gateway):
    """Speaks WSGI with Django instead of HTTP with a server; what is asked and answered is the same."""

    def __init__(self) -> None:
        super().__init__(ADDRESS)
        from django.core.wsgi import get_wsgi_application

        self._application = get_wsgi_application()

    def _ask(self, method: str, address: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        path, _, query = address.partition("?")
        environ = _environ(method, path, query, body or b"")
        answered: dict[str, Any] = {}

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            answered.update(status=int(status.split(maxsplit=1)[0]), headers=dict(headers))

        response = self._application(environ, start)
        try:
            content = b"".join(response)
        finally:
            response.close()
        kind = str(answered["headers"].get("Content-Type", "")).split(";", maxsplit=1)[0]
        return answered["status"], kind, content


def _environ(method: str, path: str, query: str, body: bytes) -> dict[str, Any]:
    from tenants.types import IDENTIFIED, OPERATOR
    from tools_catalog.services.client_types import NO_ADDRESS

    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json" if body else "",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": True,
        NO_ADDRESS: True,
    }
    if key := settings.api_key():
        return {**environ, "HTTP_AUTHORIZATION": f"Bearer {key}"}
    return {**environ, IDENTIFIED: OPERATOR}


@contextmanager
def in_process(model: str | None = None) -> Iterator[Gateway]:
    """Django, the database and the index, made ready in this process; with another model for this one search."""
    from cli.service import one_at_a_time, set_up

    set_up()
    with one_at_a_time():
        _prepare()
    gateway = InProcess()
    if not model:
        yield gateway
        return
    from tools_catalog.selectors import searching_in

    with searching_in(_space_of(model)):
        yield gateway


def _space_of(model: str) -> Any:
    """Its vectors, built where they are missing. A model that cannot be loaded leaves the search by words."""
    from cli.progress import progress
    from core.errors import EmbeddingFailed
    from embeddings.devices import NoGpu
    from tools_catalog.services.reindex import index_beside
    from tools_catalog.types import Space

    try:
        with progress() as report:
            return index_beside(model, report)
    except NoGpu:
        raise
    except EmbeddingFailed as exc:
        note(exc.message, "warn")
        return Space(0, model, "", 0)  # fits no embedder, so that every search in it is one by words


def _prepare() -> None:
    """A database that is new, or of an older version, is brought up to date first, and that is said."""
    from django.core.management import CommandError, call_command
    from django.db import OperationalError

    from cli.service import migrations_missing
    from tools_catalog.selectors import live_space

    try:
        if migrations_missing() or live_space() is None:
            note("Preparing the catalogue …", "dim")
            with contextlib.redirect_stdout(sys.stderr):  # progress is not part of the answer
                call_command("prepare", stdout=io.StringIO())
        _insist_on_the_gpu()
    except OperationalError as exc:
        raise no_database(exc) from None
    except CommandError as exc:
        _insist_on_the_gpu()
        note(str(exc), "warn")


def _insist_on_the_gpu() -> None:
    """Searches go on without a model; but not where a GPU was asked for and there is none."""
    from django.conf import settings as service

    from embeddings import registry
    from tools_catalog.services.spaces import model_wanted

    if service.EMBEDDING_OPTIONS.device == "gpu":
        registry.load(model_wanted(), service.EMBEDDING_OPTIONS)
