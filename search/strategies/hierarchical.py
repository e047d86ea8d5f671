"""Skills first, then the tools in them."""

from search.stages import find_tools, match_skills
from search.strategies import direct
from search.types import SearchRun, StrategyResult


def run(search: SearchRun) -> StrategyResult:
    skills, reason = match_skills(search)
    if reason is not None:
        return direct.run(search, fallback=reason)
    skill_ids = [skill.id for skill in skills]
    found, degraded = find_tools(search, skill_ids)
    return StrategyResult(
        strategy_used="hierarchical",
        skills=skills,
        skill_ids_used=skill_ids,
        tools=found.hits,
        candidate_count=found.passed,
        degraded=degraded,
    )
