from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class SkillIdea:
    """A skill that does not exist yet."""

    name: str
    description: str = ""
    reasoning: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMove:
    """What a decision would do to one tool."""

    tool_id: int
    name: str
    server: str
    skill_ids: tuple[str, ...]
    """where it is now, primary first"""
    new_skill_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearSkill:
    id: str
    name: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Preview:
    """What a decision on a suggestion would do, before it is confirmed."""

    moves: tuple[ToolMove, ...]
    stay: tuple[ToolMove, ...]
    """Askers that a person filed: they stay where they are."""
    reclassified: tuple[ToolMove, ...]
    """Near tools that would be classified again."""
    nearest: tuple[NearSkill, ...]
    """The existing skills nearest to the new centroid."""
    centroid_shift: float | None
    """1 - cosine between the target's centroid before and after; None for a new skill."""
    spread_before: float | None
    spread_after: float | None
    """Mean of 1 - cosine of the skill's tools to its centroid."""


@dataclass(frozen=True, slots=True)
class ProposeReport:
    looked_at: int
    clusters: int
    created: int
    suggestion_ids: tuple[int, ...] = field(default=())
