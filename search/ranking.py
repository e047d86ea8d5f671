"""How the pieces of evidence for a tool become one score, and what is said about it. Pure functions."""

import math
from dataclasses import dataclass, replace

from search.fusion import blend, either
from search.lexical.query import Keywords
from search.types import Part

LEXICAL_WEIGHT = 0.9
SKILL_WEIGHT = 0.05
CAPABILITY_WEIGHT = 0.6
EXACT_NAME = 0.98
NEAR_NAME = 0.9
PERHAPS_A_NAME = 0.2
"""The query is close to a name, but every word of it is a word of the catalogue: probably meant as it stands."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one tool for one query, each from 0 to 1."""

    semantic: float = 0.0
    lexical: float = 0.0
    """What the words in common say."""
    match: float = 0.0
    """How well it fits what was typed, by words or by name."""
    name: float = 0.0
    skill: float = 0.0
    """The score of the best matched skill that the tool is in."""
    skill_id: str | None = None
    capability: float = 0.0
    provider_id: str | None = None
    """The skill of the tool that serves the need, and the skill that the query asks for."""
    need_id: str | None = None


def hybrid_parts(evidence: Evidence) -> list[Part]:
    return [
        Part("semantic", evidence.semantic, evidence.semantic),
        Part("lexical", evidence.lexical, LEXICAL_WEIGHT * evidence.lexical),
        Part("name", evidence.name, evidence.name),
        Part("skill", evidence.skill, SKILL_WEIGHT * evidence.skill),
    ]


def gateway_parts(evidence: Evidence, alpha: float) -> list[Part]:
    """The two sides are one part, `alpha * semantic + (1 - alpha) * fuzzy`; the others can only raise it."""
    mixed = blend(evidence.semantic, evidence.match, alpha)
    return [
        Part("mixed", mixed, mixed),
        Part("name", evidence.name, evidence.name),
        Part("skill", evidence.skill, SKILL_WEIGHT * evidence.skill),
        Part("capability", evidence.capability, CAPABILITY_WEIGHT * evidence.capability),
    ]


def score_of(parts: list[Part]) -> float:
    return either(part.weighted for part in parts)


def capped(parts: list[Part], name: str, most: float) -> list[Part]:
    """The same parts, with that one lowered so far that the score is at most this, unless the others reach it."""
    others = score_of([part for part in parts if part.name != name])
    allowed = max(0.0, (most - others) / (1 - others)) if others < 1 else 0.0
    return [replace(part, weighted=min(part.weighted, allowed)) if part.name == name else part for part in parts]


def contributions(parts: list[Part]) -> dict[str, float]:
    """The score, shared out among the parts: what each adds, whatever order they are looked at in."""
    score = score_of(parts)
    bits = {part.name: -math.log1p(-min(part.weighted, 1 - 1e-12)) for part in parts}
    total = sum(bits.values())
    return {name: score * bit / total if total else 0.0 for name, bit in bits.items()}


def name_strength(keywords: Keywords | None, tool_id: int) -> float:
    match = keywords.names.get(tool_id) if keywords else None
    if match is None:
        return 0.0
    if match.exact:
        return EXACT_NAME * match.share
    return NEAR_NAME * match.share**2 if match.sure else PERHAPS_A_NAME * match.share


def best_skill(skill_ids: list[str], matched: dict[str, float]) -> tuple[float, str | None]:
    return max(((matched[s], s) for s in skill_ids if s in matched), default=(0.0, None))
