"""Finds credentials that were written out where a reference belongs: what is stored could be read by many."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from tools_catalog.transports.references import NAMES, REFERENCE
from tools_catalog.types import Target

VALUES = re.compile(
    r"^(bearer|basic|token)\s+\S{6,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-\S{16,}|\bsk-\S{16,}"
    r"|\bxox[abps]-\S{8,}|\bAKIA[0-9A-Z]{12,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY",
    re.IGNORECASE,
)
HARMLESS = re.compile(r"^(true|false|yes|no|on|off|none|null|auto|default|\d{1,6})?$", re.IGNORECASE)
OPTION = re.compile(r"^--?([A-Za-z][\w-]*)(?:=(.*))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Literal:
    key: str
    variable: str

    @property
    def advice(self) -> str:
        return (
            "this looks like a credential written out. Credentials are not stored: put it into an environment "
            f"variable and write ${{{self.variable}}} here."
        )


def find_literal(target: Target) -> Literal | None:
    return next(_literals(target), None)


def _literals(target: Target) -> Iterator[Literal]:
    for group, values in (("env", target.env), ("headers", target.headers)):
        for name, value in values.items():
            if is_credential(name, value):
                yield Literal(f"{group}.{name}", _variable(target, name))
    option = ""
    for i, arg in enumerate(target.args):
        match = OPTION.match(arg)
        name, value = (match[1], match[2] or "") if match else (option, arg)
        option = match[1] if match and match[2] is None else ""
        if is_credential(name, value):
            yield Literal(f"args[{i}]", _variable(target, name or "SECRET"))
    yield from _in_url(target)


def _in_url(target: Target) -> Iterator[Literal]:
    try:
        parts = urlsplit(target.url)
        password, query = parts.password, parse_qsl(parts.query)
    except ValueError:
        return
    if password and not REFERENCE.search(password):
        yield Literal("url", _variable(target, "PASSWORD"))
    for name, value in query:
        if is_credential(name, value):
            yield Literal("url", _variable(target, name))


def is_credential(name: str, value: str) -> bool:
    """A value that holds a reference is fine: `Bearer ${TOKEN}`. Its default is not a place for secrets either."""
    rest = REFERENCE.sub("", value)
    defaults = [match[2] or "" for match in REFERENCE.finditer(value)]
    if any(VALUES.search(text) for text in [rest, *defaults]):
        return True
    if not NAMES.search(name):
        return False
    return any(not HARMLESS.match(text) for text in ([] if defaults else [rest]) + [d for d in defaults if len(d) > 7])


def _variable(target: Target, name: str) -> str:
    words = [name] if len(name) > 5 and name.lower() != "authorization" else [target.name, "TOKEN"]
    return re.sub(r"\W+", "_", "_".join(words)).strip("_").upper()
