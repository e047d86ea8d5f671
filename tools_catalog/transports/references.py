"""`${VAR}` and `${VAR:-default}`: resolved from the environment when a connection is made, and at no other time."""

import json
import os
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from core.errors import ValidationFailed
from tools_catalog.types import Target

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
NAMES = re.compile(
    r"authorization|token|secret|passw(or)?d|passphrase|api[-_]?key|apikey|access[-_]?key|private[-_]?key"
    r"|credential|cookie|auth[-_]?key|(^|[-_])(pat|pwd|key|auth)$",
    re.IGNORECASE,
)
"""What credentials are called."""
OURS = re.compile(r"(TOOLSCRIPT_|DJANGO_|PG)|(DATABASE_URL|REDIS_URL|OPENAI_API_KEY)$")
"""How Toolscript itself is set up: no server is told, whoever defined it."""
HIDDEN = "***"
SHORTEST = 4
"""Shorter values hide nothing, and blotting out every `1` would make errors unreadable."""
TELLING = 12
"""A value of this length is no word that a name holds by chance."""


class Secrets:
    """The values that references stood for. What they occur in is blotted out before anyone sees it.

    Most are secrets, and some are words like `info`. `certain` are those that cannot be taken for words.
    """

    def __init__(self, values: set[str], certain: Container[str] = ()) -> None:
        self._forms = _forms(values)
        self._certain = _forms({value for value in values if value in certain or len(value) >= TELLING})

    @property
    def longest(self) -> int:
        return len(self._forms[0]) if self._forms else 0

    def hide(self, text: str) -> str:
        return _hidden(text, self._forms)

    def hide_certain(self, text: str) -> str:
        return _hidden(text, self._certain)

    def hide_in(self, value: Any) -> Any:
        """The same for whatever JSON can hold."""
        if not self._forms:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide(str(key)): self.hide_in(item) for key, item in value.items()}
        return [self.hide_in(item) for item in value] if isinstance(value, list) else value


def _forms(values: Iterable[str]) -> list[str]:
    """Each as it can be written: in an address, in Python, in JSON. The longest first."""
    long = {value for value in values if len(value) >= SHORTEST}
    ways = (str, lambda v: quote(v, safe=""), lambda v: repr(v)[1:-1])
    more = (lambda v: json.dumps(v)[1:-1], lambda v: json.dumps(v, ensure_ascii=False)[1:-1])
    return sorted({way(value) for value in long for way in (*ways, *more)}, key=len, reverse=True)


def _hidden(text: str, forms: list[str]) -> str:
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def resolve(target: Target, environ: Mapping[str, str] | None = None) -> tuple[Target, Secrets]:
    """The target with values in place of references, and those values."""
    known = os.environ if environ is None else environ
    values: set[str] = set()
    certain: set[str] = set()

    def fill(text: str, where: str) -> str:
        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            if OURS.match(name):
                raise ValidationFailed(
                    f"{target.name}: {where} refers to ${{{name}}}, which is a setting of Toolscript itself. "
                    "Servers are not told those: put the value into a variable of its own."
                )
            found = known.get(name, "")
            if found:
                values.add(found)
            if NAMES.search(name) or NAMES.search(where.partition(".")[2]):
                certain.add(found)
            if not found and default is None:
                raise ValidationFailed(
                    f"{target.name}: {where} refers to ${{{name}}}, which is not set where Toolscript runs. "
                    f"Set it, or give a default: ${{{name}:-default}}."
                )
            return found or default or ""

        return REFERENCE.sub(value, text)

    filled = replace(
        target,
        command=fill(target.command, "command"),
        args=tuple(fill(arg, f"args[{i}]") for i, arg in enumerate(target.args)),
        env={name: fill(text, f"env.{name}") for name, text in target.env.items()},
        cwd=fill(target.cwd, "cwd"),
        url=fill(target.url, "url"),
        headers={name: fill(text, f"headers.{name}") for name, text in target.headers.items()},
    )
    return filled, Secrets(values, certain)
