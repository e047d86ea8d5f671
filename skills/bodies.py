"""Answers about skills, as JSON objects."""

from typing import Any

from skills.models import Assignment, Skill, Suggestion
from skills.types import Preview, ToolMove
from tools_catalog.models import Tool

EXAMPLES = 5


def skill_body(skill: Skill) -> dict[str, Any]:
    """Of a skill that `lists` read: it knows how many tools it has."""
    return {
        "id": skill.pk,
        "name": skill.name,
        "description": skill.description,
        "keywords": skill.keywords,
        "examples": skill.examples,
        "parent_domain": skill.parent_domain,
        "is_active": skill.is_active,
        "tool_count": skill.tool_count,  # type: ignore[attr-defined]
        "created_at": skill.created_at,
        "updated_at": skill.updated_at,
    }


def choice_body(assignment: Assignment) -> dict[str, Any]:
    return {
        "confidence": assignment.confidence,
        "is_primary": assignment.is_primary,
        "source": assignment.source,
        "reasoning": assignment.reasoning,
        "assigned_at": assignment.assigned_at,
    }


def skill_tool_body(assignment: Assignment) -> dict[str, Any]:
    tool = assignment.tool
    return {**tool_body(tool), "type": tool.type, "description": tool.description, **choice_body(assignment)}


def tool_body(tool: Tool) -> dict[str, Any]:
    return {"id": tool.pk, "name": tool.name, "server": tool.server.name}


def tool_skills_body(tool: Tool) -> dict[str, Any]:
    skills = [{"skill_id": a.skill_id, **choice_body(a)} for a in tool.assignments.all()]
    return {"tool_id": tool.pk, "skills": skills}


def suggestion_body(suggestion: Suggestion) -> dict[str, Any]:
    askers = list(suggestion.askers.select_related("tool__server")[:EXAMPLES])
    return {
        "id": suggestion.pk,
        "name": suggestion.name,
        "description": suggestion.description,
        "reasoning": suggestion.reasoning,
        "keywords": suggestion.keywords,
        "origin": suggestion.origin,
        "status": suggestion.status,
        "asked": suggestion.asked,
        "example_tools": [tool_body(asker.tool) for asker in askers],
        "skill_id": suggestion.skill_id,
        "reason": suggestion.reason,
        "decided_by": suggestion.decided_by,
        "decided_at": suggestion.decided_at,
        "created_at": suggestion.created_at,
    }


def preview_body(preview: Preview) -> dict[str, Any]:
    return {
        "moves": [move_body(move) for move in preview.moves],
        "stay": [move_body(move) for move in preview.stay],
        "reclassified": [move_body(move) for move in preview.reclassified],
        "nearest": [{"id": near.id, "name": near.name, "similarity": near.similarity} for near in preview.nearest],
        "centroid_shift": preview.centroid_shift,
        "spread_before": preview.spread_before,
        "spread_after": preview.spread_after,
    }


def move_body(move: ToolMove) -> dict[str, Any]:
    return {
        "id": move.tool_id,
        "name": move.name,
        "server": move.server,
        "from": list(move.skill_ids),
        "to": list(move.new_skill_ids),
    }
