"""Meaning, keywords and skills together: every tool that either side finds, once, with one score.

Each piece of evidence can only raise a tool's score above its similarity, so nothing that `direct` finds is lost.
The matched skills are a prior: they raise their tools a little and shut nobody out.
"""

from dataclasses import replace

from search.ranking import Evidence, best_skill, hybrid_parts, name_strength, score_of
from search.stages import find_candidates, find_keywords, match_skills, respelled
from search.types import Part, SearchRun, StrategyResult
from tools_catalog.selectors import score_of as rounded
from tools_catalog.types import ToolHit


def run(search: SearchRun) -> StrategyResult:
    keywords = find_keywords(search.request, search.deadline, search.timings_ms)
    search = respelled(search, keywords)
    skills, reason = match_skills(search)
    found, passed, problem = find_candidates(search, keywords.best if keywords else [])
    matched = {skill.id: skill.score for skill in skills}
    ranked: list[tuple[ToolHit, list[Part]]] = []
    threshold = search.request.tool_threshold
    for hit, similarity in found:
        semantic = max(0.0, similarity or 0.0)
        skill, skill_id = best_skill(hit.skill_ids, matched)
        evidence = Evidence(
            semantic=semantic,
            lexical=keywords.evidence(hit.id) if keywords else 0.0,
            name=name_strength(keywords, hit.id),
            skill=skill,
            skill_id=skill_id,
        )
        parts = hybrid_parts(evidence)
        score = rounded(score_of(parts))
        if score >= threshold:
            passed += rounded(semantic) < threshold
            ranked.append((replace(hit, score=score), parts))
    ranked.sort(key=lambda pair: (-pair[0].score, -score_of(pair[1]), pair[0].id))
    best = ranked[: search.request.limit]
    return StrategyResult(
        strategy_used="hybrid",
        skills=skills,
        skill_ids_used=[skill.id for skill in skills] or None,
        tools=[hit for hit, _ in best],
        candidate_count=passed,
        fallback=reason,
        degraded=problem or (None if keywords else "lexical"),
        parts={hit.id: parts for hit, parts in best},
    )
