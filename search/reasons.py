"""Why a tool was found, in words."""

from search.lexical.query import ALMOST
from search.ranking import EXACT_NAME, Evidence
from search.types import Part
from tools_catalog.types import ToolHit

SEMANTIC = "Semantic similarity"
FUZZY = "Fuzzy match"
DOMAIN = 0.03
"""From here on the skill's push is worth a word."""


def reason(evidence: Evidence, parts: list[Part], alpha: float, tool: ToolHit, skill_names: dict[str, str]) -> str:
    weights = {part.name: part.weighted for part in parts}
    if evidence.name >= EXACT_NAME * ALMOST:
        return "Exact name"
    meaning, fuzzy = alpha * evidence.semantic, (1 - alpha) * evidence.match
    if weights.get("capability", 0.0) > max(meaning, fuzzy, weights["name"]) and evidence.provider_id:
        provider, need = (_name(skill_names, skill) for skill in (evidence.provider_id, evidence.need_id))
        return f"Capability inference ({provider} → {need})"
    skill = evidence.skill_id or tool.primary_skill_id
    about = f" ({_name(skill_names, skill)})" if skill else ""
    if weights["name"] > 0 or fuzzy > meaning:
        boost = " + domain boost" if weights["skill"] >= DOMAIN else ""
        return f"{FUZZY}{boost or about if fuzzy or weights['name'] else ''}"
    also = " + fuzzy match" if fuzzy >= meaning / 2 else ""
    return f"{SEMANTIC}{about}{also}"


def _name(skill_names: dict[str, str], skill_id: str | None) -> str:
    name = skill_names.get(skill_id or "", (skill_id or "").replace("_", " "))
    rest_of_word = name.partition(" ")[0][1:]
    return name if rest_of_word != rest_of_word.lower() else name[:1].lower() + name[1:]  # SQL and NoSQL stay
