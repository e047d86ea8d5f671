"""Both side by side, merged without duplicates, best score wins.

Both sides score a tool by the same similarity, so the best of the merged list are the best of the unfiltered
side: one statement finds them, and the skills are reported beside it.
"""

from search.stages import find_tools, match_skills
from search.strategies import direct
from search.types import SearchRun, StrategyResult


def run(search: SearchRun) -> StrategyResult:
    skills, reason = match_skills(search)
    if reason is not None:
        return direct.run(search, fallback=reason)
    found, degraded = find_tools(search, skill_ids=None)
    return StrategyResult(
        strategy_used="hybrid",
        skills=skills,
        skill_ids_used=[skill.id for skill in skills],
        tools=found.hits,
        candidate_count=found.passed,
        degraded=degraded,
    )
