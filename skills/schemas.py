"""The OpenAPI description of the endpoints about skills."""

from typing import Any

from core.openapi import ERROR, Schema, array, nullable, record
from skills import serializers as inputs
from skills.models import Assignment, Suggestion

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SCORE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
WHEN: Schema = {"type": "string", "format": "date-time"}
MAYBE_NUMBER = nullable("number")

SKILL = record(
    {
        "id": TEXT,
        "name": TEXT,
        "description": TEXT,
        "keywords": array(TEXT),
        "examples": array(TEXT),
        "parent_domain": TEXT,
        "is_active": {"type": "boolean"},
        "tool_count": COUNT,
        "created_at": WHEN,
        "updated_at": WHEN,
    }
)
CHOICE_FIELDS: dict[str, Schema] = {
    "confidence": SCORE,
    "is_primary": {"type": "boolean"},
    "source": {"type": "string", "enum": Assignment.Source.values},
    "reasoning": TEXT,
    "assigned_at": WHEN,
}
TOOL = record(
    {"id": {"type": "integer"}, "name": TEXT, "server": TEXT, "type": TEXT, "description": TEXT, **CHOICE_FIELDS}
)
TOOL_SKILLS = record({"tool_id": {"type": "integer"}, "skills": array(record({"skill_id": TEXT, **CHOICE_FIELDS}))})
ASKER = record({"id": {"type": "integer"}, "name": TEXT, "server": TEXT})
NEAR = record({"id": TEXT, "name": TEXT, "similarity": {"type": "number"}})
SUGGESTION = record(
    {
        "id": {"type": "integer"},
        "name": TEXT,
        "description": TEXT,
        "reasoning": TEXT,
        "keywords": array(TEXT),
        "origin": {"type": "string", "enum": Suggestion.Origin.values},
        "status": {"type": "string", "enum": Suggestion.Status.values},
        "asked": COUNT,
        "example_tools": array(ASKER),
        "skill_id": nullable("string"),
        "reason": TEXT,
        "decided_by": TEXT,
        "decided_at": nullable("string"),
        "created_at": WHEN,
    }
)
MOVE = record({"id": {"type": "integer"}, "name": TEXT, "server": TEXT, "from": array(TEXT), "to": array(TEXT)})
PREVIEW = record(
    {
        "moves": array(MOVE),
        "stay": array(MOVE),
        "reclassified": array(MOVE),
        "nearest": array(NEAR),
        "centroid_shift": MAYBE_NUMBER,
        "spread_before": MAYBE_NUMBER,
        "spread_after": MAYBE_NUMBER,
    }
)
QUEUED = record({"queued": COUNT, "classifier": TEXT, "paused": {"type": "boolean"}})
MERGED = record({"into": TEXT, "moved": COUNT})

BODY = (400, 413, 415)


def operation(name: str, summary: str, answer: Schema | None, *errors: int, **extra: Any) -> dict[str, Any]:
    status = extra.pop("status", 200)
    answers = {status: answer, **dict.fromkeys([*errors, 422, 503], ERROR)}
    return {"operation_id": name, "summary": summary, "tags": ["skills"], "responses": answers, **extra}


def writing(name: str, summary: str, answer: Schema, body: Any, *errors: int, **extra: Any) -> dict[str, Any]:
    return operation(name, summary, answer, *BODY, *errors, request=body, **extra)


LIST = operation("list_skills", "List skills", array(SKILL), parameters=[inputs.SkillListInput])
CREATE = writing("create_skill", "Create a skill", SKILL, inputs.SkillCreateInput, 409, status=201)
GET = operation("get_skill", "One skill, also by an id it had before", SKILL, 404)
PUT = writing("replace_skill", "Replace a skill's fields", SKILL, inputs.SkillPutInput, 404, 409)
PATCH = writing("change_skill", "Change some of a skill's fields", SKILL, inputs.SkillPatchInput, 404, 409)
DELETE = operation("delete_skill", "Delete a skill", None, 404, status=204)
MERGE = writing("merge_skill", "Merge a skill into another", MERGED, inputs.MergeInput, 404, 409)
TOOLS = operation("list_skill_tools", "The tools in a skill", array(TOOL), 404, parameters=[inputs.SkillToolsInput])
CLASSIFY = writing("classify_tools", "Classify tools (again)", QUEUED, inputs.ClassifyInput, 404)
SUGGESTIONS = operation(
    "list_suggestions", "List suggested skills", array(SUGGESTION), parameters=[inputs.SuggestionListInput]
)
PREVIEWED = writing(
    "preview_suggestion", "What an approval, or a merge, would do", PREVIEW, inputs.PreviewInput, 404, 409
)
APPROVE = writing("approve_suggestion", "Make the suggested skill", SKILL, inputs.ApproveInput, 404, 409)
MERGE_SUGGESTION = writing(
    "merge_suggestion", "File what was suggested under a skill that exists", SKILL, inputs.MergeInput, 404, 409
)
REJECT = writing("reject_suggestion", "Reject a suggestion", SUGGESTION, inputs.RejectInput, 404, 409)
UNDO = operation("undo_suggestion", "Take the last decision on a suggestion back", SUGGESTION, 404, 409, request=None)
TOOL_SKILLS_PUT = writing("set_tool_skills", "File a tool by hand", TOOL_SKILLS, inputs.ToolSkillsInput, 404)
