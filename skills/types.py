from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkillSpec:
    id: str
    name: str
    description: str
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    parent_domain: str = ""


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """One skill that a tool is filed under."""

    skill_id: str
    confidence: float
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class SkillHit:
    id: str
    name: str
    description: str
    score: float
    tool_count: int
