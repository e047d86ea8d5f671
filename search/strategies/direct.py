"""All tools at once, no skills asked."""

from search.stages import find_tools
from search.types import SearchRun, StrategyResult


def run(search: SearchRun, fallback: str | None = None) -> StrategyResult:
    found, degraded = find_tools(search, skill_ids=None)
    return StrategyResult(
        strategy_used="direct",
        skills=[],
        skill_ids_used=None,
        tools=found.hits,
        candidate_count=found.passed,
        fallback=fallback,
        degraded=degraded,
    )
