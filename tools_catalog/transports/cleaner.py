"""Takes the values of references out of what a server publishes, and leaves names and schemas what they are.

Descriptive texts are blotted out. A name, a key or an address cannot be: it would mean something else. Where one holds
what is certainly a secret, the item is refused; where it holds a word that some reference also stands for, it stays.
"""

from collections.abc import Mapping
from typing import Any

from tools_catalog.transports.references import Secrets

DESCRIPTIVE = {"description", "title", "default", "examples", "requests"}
BY_NAME = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
"""Below these, the keys are names that somebody chose: a property may be called `default`."""
REFUSAL = "it holds the value of a reference, such as ${TOKEN}, in a name, a key or an address"


class _HoldsSecret(Exception):
    pass


class Cleaner:
    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def item(self, kind: str, item: Any, objection: str) -> list[Any]:
        """An item of a list: without secrets, or refused."""
        try:
            return [kind, self._clean(item), self._secrets.hide_certain(objection)]
        except (_HoldsSecret, RecursionError) as exc:
            name = item.get("name") if isinstance(item, Mapping) else None
            left = {"name": self._secrets.hide_certain(name)} if isinstance(name, str) else {}
            return [kind, left, REFUSAL if isinstance(exc, _HoldsSecret) else "it is nested too deeply"]

    def _clean(self, value: Any, *, by_name: bool = False) -> Any:
        if isinstance(value, str):
            return self._checked(value)
        if isinstance(value, Mapping):
            return {self._checked(str(key)): self._below(str(key), inner, by_name) for key, inner in value.items()}
        return [self._clean(inner) for inner in value] if isinstance(value, list) else value

    def _below(self, key: str, value: Any, by_name: bool) -> Any:
        if key in DESCRIPTIVE and not by_name:
            return self._secrets.hide_in(value)
        return self._clean(value, by_name=key in BY_NAME and not by_name)

    def _checked(self, text: str) -> str:
        if self._secrets.hide_certain(text) != text:
            raise _HoldsSecret
        return text
