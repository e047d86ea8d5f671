"""Servers that people define in the admin. The rules are here, whatever form they come through."""

import re
from typing import Any

from django.db import transaction

from core.errors import Conflict, Forbidden, ValidationFailed
from tools_catalog.literal_secrets import find_literal
from tools_catalog.models import SERVER_NAME, Server
from tools_catalog.services.configuration import define, definition
from tools_catalog.services.tool_index import payload_sync
from tools_catalog.transports.references import REFERENCE
from tools_catalog.types import ServerConfig

COMMAND_FIELDS = ("command", "args", "env", "cwd")
URL_FIELDS = ("url", "headers")


def server_check(config: ServerConfig, *, may_run_commands: bool, server: Server | None = None) -> None:
    """Raises what speaks against this definition.

    `may_run_commands`: only superusers say what runs on this machine, and where values of its environment are sent.
    """
    if server is not None and server.source == Server.Source.FILE:
        raise Conflict(f"{server.name} is defined in {server.config_path}. Change it there.")
    before = server.transport if server is not None else ""
    unchanged = server is not None and _command(server) == _command(config)
    if "stdio" in {config.transport, before} and not may_run_commands and not unchanged:
        raise Forbidden("Only a superuser, or the file .toolscript.json, can say which command runs on this machine.")
    if not re.fullmatch(SERVER_NAME, config.name):
        raise _bad("name", "Letters, digits, `_`, `.` and `-` are allowed, and a letter or digit comes first.")
    _check_fields(config)
    if not may_run_commands:
        _check_references(config, server)
    if literal := find_literal(config):
        raise _bad(re.split(r"[.\[]", literal.key)[0], f"{literal.key}: {literal.advice}")


def _command(source: Server | ServerConfig) -> list[Any]:
    values = [getattr(source, name) for name in ("transport", *COMMAND_FIELDS)]
    return [list(v) if isinstance(v, tuple) else v for v in values]


def _check_references(config: ServerConfig, server: Server | None) -> None:
    if server is not None and (server.url, server.headers) == (config.url, config.headers):
        return
    for name, texts in (("url", [config.url]), ("headers", config.headers.values())):
        if any(REFERENCE.search(text) for text in texts):
            what = "Only a superuser, or the file .toolscript.json, can say which variables are sent to which address."
            raise Forbidden(what, {"fields": {name: [what]}})


def _check_fields(config: ServerConfig) -> None:
    stdio, remote = config.transport == "stdio", config.transport in {"http", "sse"}
    if stdio and not config.command.strip():
        raise _bad("command", "A stdio server needs the command that starts it.")
    if remote and not re.match(r"https?://|\$\{", config.url):
        raise _bad("url", "It must start with http:// or https://.")
    for name, allowed in [*((n, stdio) for n in COMMAND_FIELDS), *((n, remote) for n in URL_FIELDS)]:
        if getattr(config, name) and not allowed:
            raise _bad(name, f"This means nothing with the transport {config.transport or 'none'}. Leave it empty.")
    for name in ("env", "headers"):
        values: Any = getattr(config, name)
        if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
            raise _bad(name, 'An object of texts is expected, such as {"NAME": "${NAME}"}.')
    if config.timeout_seconds is not None and not 1 <= config.timeout_seconds <= 600:
        raise _bad("timeout_seconds", "Seconds from 1 to 600 are expected.")


@transaction.atomic
def server_define(server: Server, config: ServerConfig, *, may_run_commands: bool) -> Server:
    """Creates or changes a server. `server` carries name, texts and tenant; the definition comes from `config`."""
    known = Server.objects.select_for_update().get(pk=server.pk) if server.pk else None
    server_check(config, may_run_commands=may_run_commands, server=known)
    if known is None or (known.source == Server.Source.IMPORT and config.transport):
        server.source = Server.Source.ADMIN
    if known is not None and definition(known) == definition(config):
        server.save()
    else:
        define(server, config)
    payload_sync(list(server.tools.values_list("pk", flat=True)))
    return server


def _bad(field: str, what: str) -> ValidationFailed:
    return ValidationFailed(f"{field}: {what}", {"fields": {field: [what]}})
