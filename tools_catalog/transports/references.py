"""`${VAR}` and `${VAR:-default}`: resolved from the environment when a connection is made, and at no other time."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from core.errors import ValidationFailed
from tools_catalog.types import Target

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
HIDDEN = "***"
SHORTEST = 4
"""Shorter values hide nothing, and blotting out every `1` would make errors unreadable."""


class Secrets:
    """The values that references stood for. What they occur in is blotted out before anyone sees it."""

    def __init__(self, values: set[str]) -> None:
        long = {value for value in values if len(value) >= SHORTEST}
        forms = long | {quote(value, safe="") for value in long} | {repr(value)[1:-1] for value in long}
        self._forms = sorted(forms, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def hide_in(self, value: Any) -> Any:
        """The same for whatever JSON can hold."""
        if not self._forms:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide(str(key)): self.hide_in(item) for key, item in value.items()}
        return [self.hide_in(item) for item in value] if isinstance(value, list) else value


def resolve(target: Target, environ: Mapping[str, str] | None = None) -> tuple[Target, Secrets]:
    """The target with values in place of references, and those values."""
    known = os.environ if environ is None else environ
    values: set[str] = set()

    def fill(text: str, where: str) -> str:
        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            found = known.get(name, "")
            if found:
                values.add(found)
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
    return filled, Secrets(values)
