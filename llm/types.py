from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ChatOptions:
    base_url: str = ""
    api_key: str = ""
    timeout: float = 30.0
    concurrency: int = 4
    """Calls under way at once in one process."""
    per_minute: int = 0
    """Calls begun in a minute by one process; 0: as many as there are."""
    max_tokens: int = 1000


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@dataclass(frozen=True, slots=True)
class Answer:
    data: dict[str, Any]
    usage: Usage


class ChatModel(Protocol):
    """The port. `complete_json` returns an object that fits the schema, or raises ModelFailed with what was spent."""

    name: str

    def complete_json(self, system: str, prompt: str, schema: dict[str, Any]) -> Answer: ...
