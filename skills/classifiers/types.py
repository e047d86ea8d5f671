from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from embeddings.types import Vectors
from llm.types import Usage
from skills.types import SkillChoice, SkillIdea

LEAST_CONFIDENCE = 0.5
MOST_SKILLS = 3


@dataclass(frozen=True, slots=True)
class ToolCard:
    """What a classifier is shown of a tool."""

    id: int
    server: str
    type: str
    name: str
    description: str
    parameters: tuple[str, ...] = ()
    vector: Vectors | None = None
    siblings: Vectors | None = None
    """Vectors of the tools of the same server, this one among them."""


@dataclass(frozen=True, slots=True)
class SkillCard:
    id: str
    name: str
    description: str
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    prototypes: Vectors | None = None
    """Of the tools that are in it; None while it has none."""


@dataclass(frozen=True, slots=True)
class Classification:
    """One to three skills, or an idea for one that is missing."""

    choices: tuple[SkillChoice, ...] = ()
    idea: SkillIdea | None = None
    usage: Usage = field(default_factory=Usage)


class Classifier(Protocol):
    """The port. Raises a ToolscriptError when it cannot tell."""

    name: str
    model: str
    needs_vectors: bool

    def classify(self, tool: ToolCard, skills: Sequence[SkillCard]) -> Classification: ...
