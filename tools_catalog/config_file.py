"""`.toolscript.json`: which servers there are and how to reach them. Read, merged and checked here; written nowhere."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import ValidationFailed
from tools_catalog.literal_secrets import find_literal
from tools_catalog.models import SERVER_NAME
from tools_catalog.types import ServerConfig

FILE_NAME = ".toolscript.json"
ROOT_KEYS = {"mcpServers", "$schema"}
STDIO_KEYS = {"command", "args", "env", "cwd"}
URL_KEYS = {"url", "headers"}
COMMON_KEYS = {"type", "includeTools", "excludeTools", "disabled", "timeout"}
TYPES = {"stdio": "stdio", "http": "http", "sse": "sse", "streamable-http": "http", "streamableHttp": "http"}
MAX_NAME = 128


@dataclass(frozen=True, slots=True)
class Merged:
    """All files together."""

    servers: dict[str, ServerConfig] = field(default_factory=dict)
    per_file: dict[str, int] = field(default_factory=dict)
    """Path of each file that was looked for, and how many servers it names."""


class Problem(ValidationFailed):
    """Says which file, which key, and what to do."""

    def __init__(self, path: Path, key: str, what: str) -> None:
        file, key, what = (_printable(text) for text in (str(path), key, what))
        super().__init__(f"{file}: {key}: {what}" if key else f"{file}: {what}", {"file": file, "key": key})


def _printable(text: str) -> str:
    """What a message quotes has to be printed and stored, whatever it is."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _is_text(value: Any) -> bool:
    """Without what neither the database nor a process takes: NUL and half characters."""
    return isinstance(value, str) and _printable(value) == value


def files(explicit: Iterable[str]) -> list[Path]:
    """The files to read, in the order in which later ones win."""
    chosen = [Path(name).expanduser() for name in explicit] or [Path.home() / FILE_NAME, Path.cwd() / FILE_NAME]
    return list(dict.fromkeys(path.absolute() for path in chosen))


def read_all(paths: Iterable[Path]) -> Merged:
    merged = Merged()
    for path in paths:
        found = read(path) if path.exists() else {}
        merged.per_file[str(path)] = len(found)
        merged.servers.update(found)
    return merged


def read(path: Path) -> dict[str, ServerConfig]:
    try:
        return _read(path)
    except RecursionError:
        raise Problem(path, "", "it is nested too deeply.") from None


def _read(path: Path) -> dict[str, ServerConfig]:
    data = _parsed(path)
    _known(path, "", data, ROOT_KEYS)
    servers = data.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise Problem(path, "mcpServers", 'an object is expected: {"name": {"command": …}}.')
    return {name: _server(path, name, entry) for name, entry in servers.items()}


def _parsed(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=lambda pairs: _unique(path, pairs))
    except json.JSONDecodeError as exc:
        raise Problem(path, f"line {exc.lineno}, column {exc.colno}", f"this is no JSON: {exc.msg}.") from None
    except (OSError, ValueError) as exc:
        raise Problem(path, "", f"it cannot be read: {exc}.") from None
    if not isinstance(data, dict):
        raise Problem(path, "", 'an object is expected: {"mcpServers": {…}}.')
    return data


def _unique(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise Problem(path, name, "it is there twice. Remove one, or give it another name.")
    return dict(pairs)


def _server(path: Path, name: str, entry: Any) -> ServerConfig:
    key = f"mcpServers.{name}"
    if not re.fullmatch(SERVER_NAME, name) or len(name) > MAX_NAME:
        raise Problem(
            path,
            key,
            "this name cannot be used: letters, digits, `_`, `.` and `-`, a letter or digit first, "
            f"at most {MAX_NAME} characters.",
        )
    if not isinstance(entry, dict):
        raise Problem(path, key, "an object is expected.")
    transport = _transport(path, key, entry)
    _known(path, key, entry, COMMON_KEYS | (STDIO_KEYS if transport == "stdio" else URL_KEYS))
    config = ServerConfig(
        name=name,
        path=str(path),
        transport=transport,
        command=_text(path, key, entry, "command"),
        args=_texts(path, key, entry, "args"),
        env=_map(path, key, entry, "env"),
        cwd=_text(path, key, entry, "cwd"),
        url=_text(path, key, entry, "url"),
        headers=_map(path, key, entry, "headers"),
        include_tools=_texts(path, key, entry, "includeTools"),
        exclude_tools=_texts(path, key, entry, "excludeTools"),
        timeout_seconds=_seconds(path, key, entry),
        disabled=_flag(path, key, entry, "disabled"),
    )
    if transport != "stdio" and not re.match(r"https?://|\$\{", config.url):
        raise Problem(path, f"{key}.url", "it must start with http:// or https://.")
    if literal := find_literal(config):
        raise Problem(path, f"{key}.{literal.key}", literal.advice)
    return config


def _transport(path: Path, key: str, entry: Mapping[str, Any]) -> str:
    if "command" in entry and "url" in entry:
        raise Problem(path, key, "it has both a command and a url. Keep the one that the server is reached by.")
    if "command" not in entry and "url" not in entry:
        raise Problem(path, key, "a command (for stdio) or a url (for http and sse) is missing.")
    given = entry.get("type")
    if given is None:
        if "command" in entry:
            return "stdio"
        if str(entry["url"]).rstrip("/").endswith("/sse"):
            raise Problem(path, f"{key}.type", 'http or sse? This url could be either. Add "type": "sse" or "http".')
        return "http"
    if not isinstance(given, str) or given not in TYPES:
        raise Problem(path, f"{key}.type", f"{given!r} is not known. Use stdio, http or sse.")
    needed = "command" if TYPES[given] == "stdio" else "url"
    if needed not in entry:
        raise Problem(path, f"{key}.{needed}", f'it is missing: type "{given}" needs it.')
    return TYPES[given]


def _known(path: Path, key: str, entry: Mapping[str, Any], known: set[str]) -> None:
    for name in entry:
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known here are: {', '.join(sorted(known))}."
            raise Problem(path, f"{key}.{name}" if key else name, f"this key is not known. {hint}")


def _text(path: Path, key: str, entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not _is_text(value) or (name in entry and not value.strip()):
        raise Problem(path, f"{key}.{name}", "a text is expected, and it must not be empty.")
    return str(value)


def _texts(path: Path, key: str, entry: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = entry.get(name, [])
    if not isinstance(value, list) or not all(_is_text(item) for item in value):
        raise Problem(path, f"{key}.{name}", 'a list of texts is expected, such as ["a", "b"].')
    return tuple(value)


def _map(path: Path, key: str, entry: Mapping[str, Any], name: str) -> dict[str, str]:
    value = entry.get(name, {})
    if not isinstance(value, dict):
        raise Problem(path, f"{key}.{name}", 'an object of texts is expected, such as {"NAME": "${NAME}"}.')
    for inner, text in value.items():
        if not _is_text(text) or not _is_text(inner) or not inner:
            raise Problem(path, f"{key}.{name}.{inner}", f"a text is expected; write {json.dumps(str(text))}.")
    return dict(value)


def _flag(path: Path, key: str, entry: Mapping[str, Any], name: str) -> bool:
    value = entry.get(name, False)
    if not isinstance(value, bool):
        raise Problem(path, f"{key}.{name}", "true or false is expected.")
    return value


def _seconds(path: Path, key: str, entry: Mapping[str, Any]) -> float | None:
    value = entry.get("timeout")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 600:
        raise Problem(path, f"{key}.timeout", "seconds from 1 to 600 are expected.")
    return float(value)
