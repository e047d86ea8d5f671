"""The language model chooses. What it says is checked against the skills there are before it counts."""

import math
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from llm import registry
from llm.errors import ModelFailed
from llm.types import ChatModel
from skills.classifiers.prompt import SCHEMA, SYSTEM, classification_prompt
from skills.classifiers.types import LEAST_CONFIDENCE, MOST_SKILLS, Classification, SkillCard, ToolCard
from skills.types import SkillChoice, SkillIdea

MAX_REASONING = 500
MAX_NAME = 80
MAX_DESCRIPTION = 1000


class LlmClassifier:
    name = "llm"
    needs_vectors = False

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self.model = chat.name

    def classify(self, tool: ToolCard, skills: Sequence[SkillCard]) -> Classification:
        answer = self._chat.complete_json(SYSTEM, classification_prompt(tool, skills), SCHEMA)
        choices = choices_from(answer.data["assignments"], {skill.id for skill in skills})
        idea = None if choices else idea_from(answer.data["suggestion"])
        if not choices and idea is None:
            raise ModelFailed("The language model gave neither a usable skill nor a suggestion.", answer.usage)
        return Classification(choices, idea, answer.usage)


def choices_from(assignments: Sequence[dict[str, Any]], known: set[str]) -> tuple[SkillChoice, ...]:
    """Known ids only, each once, at most three, the most confident first. What is no confidence drops its choice."""
    found: dict[str, SkillChoice] = {}
    for entry in assignments:
        skill_id, confidence = entry["skill_id"], confidence_from(entry["confidence"])
        if skill_id not in known or confidence is None or confidence < LEAST_CONFIDENCE:
            continue
        if skill_id not in found or found[skill_id].confidence < confidence:
            found[skill_id] = SkillChoice(skill_id, confidence, clean(entry["reasoning"], MAX_REASONING))
    best = sorted(found.values(), key=lambda choice: -choice.confidence)
    return tuple(best[:MOST_SKILLS])


def confidence_from(value: Any) -> float | None:
    """Within 0..1 as it is. Just above 1 is a rounding slip; anything else is no confidence."""
    number = float(value)
    if not math.isfinite(number) or number < 0 or number > 1.05:
        return None
    return min(number, 1.0)


def idea_from(suggestion: dict[str, Any] | None) -> SkillIdea | None:
    if suggestion is None or not tells(name := clean(suggestion["name"], MAX_NAME)):
        return None
    return SkillIdea(
        name, clean(suggestion["description"], MAX_DESCRIPTION), clean(suggestion["reasoning"], MAX_REASONING)
    )


def tells(name: str) -> bool:
    """A name of signs alone names nothing."""
    return any(char.isalnum() for char in name)


def clean(text: str, most: int) -> str:
    """One line, printable, bounded: it is stored and shown to people."""
    visible = "".join(char if char.isprintable() else " " for char in text[: most * 4])
    return " ".join(visible.split())[:most].rstrip()


def from_settings() -> LlmClassifier:
    return LlmClassifier(registry.load(settings.CHAT_MODEL, settings.CHAT_OPTIONS))
