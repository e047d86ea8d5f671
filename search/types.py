from dataclasses import dataclass, field

from embeddings.types import Vectors
from skills.types import SkillHit
from tools_catalog.types import Space, ToolHit, ToolSchemas

STRATEGY_NAMES = ("hierarchical", "direct", "hybrid")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    item_type: str | None = None
    limit: int = 5
    skill_limit: int = 3
    skill_threshold: float = 0.4
    tool_threshold: float = 0.3
    include_schemas: bool = True
    strategy: str = "hierarchical"
    explain: bool = False
    tenant_id: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    value: float
    """Of the piece of evidence itself."""
    weighted: float
    """What it counts in the score."""


@dataclass(slots=True)
class SearchRun:
    """What a strategy works with: the request, the vector, the time left, and what it found out on the way."""

    request: SearchRequest
    space: Space
    vector: Vectors
    deadline: float
    timings_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StrategyResult:
    strategy_used: str
    skills: list[SkillHit]
    skill_ids_used: list[str] | None
    tools: list[ToolHit]
    candidate_count: int
    fallback: str | None = None
    degraded: str | None = None
    parts: dict[int, list[Part]] = field(default_factory=dict)
    """What each tool's score is made of, where it is more than the similarity."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    request: SearchRequest
    found: StrategyResult
    schemas: dict[int, ToolSchemas]
    timings_ms: dict[str, float]
    degraded: str | None
