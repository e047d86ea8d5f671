"""What requests about skills may hold."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.fields import NO_NUL, PlainInteger, StrictBoolean, StrictChar, StrictFloat, StrictInteger
from skills.models import SKILL_ID, Assignment, Suggestion

BIGINT = 2**63 - 1


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": 64, "pattern": SKILL_ID})
class SkillIdField(StrictChar):
    """The form is checked by the service, which knows all rules of a skill."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=64, **kwargs)


class SkillFields(serializers.Serializer[Any]):
    keywords = serializers.ListField(child=StrictChar(max_length=100), max_length=20, default=list)
    examples = serializers.ListField(child=StrictChar(max_length=255), max_length=10, default=list)
    parent_domain = StrictChar(max_length=64, allow_blank=True, default="")
    is_active = StrictBoolean(default=True)


class SkillCreateInput(SkillFields):
    id = SkillIdField()
    name = StrictChar(max_length=255)
    description = StrictChar(min_length=10, max_length=1000)


class SkillPutInput(SkillFields):
    name = StrictChar(max_length=255)
    description = StrictChar(min_length=10, max_length=1000)


class SkillPatchInput(serializers.Serializer[Any]):
    id = SkillIdField(required=False, help_text="Another id. The old one keeps resolving.")
    name = StrictChar(max_length=255, required=False)
    description = StrictChar(min_length=10, max_length=1000, required=False)
    keywords = serializers.ListField(child=StrictChar(max_length=100), max_length=20, required=False)
    examples = serializers.ListField(child=StrictChar(max_length=255), max_length=10, required=False)
    parent_domain = StrictChar(max_length=64, allow_blank=True, required=False)
    is_active = StrictBoolean(required=False)


class PageInput(serializers.Serializer[Any]):
    limit = PlainInteger(min_value=1, max_value=200, default=50)
    offset = PlainInteger(min_value=0, max_value=1_000_000, default=0)


@extend_schema_field({"type": "string", "maxLength": 200, "pattern": NO_NUL})
class PlainText(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default="", allow_blank=True, max_length=200, **kwargs)


class SkillListInput(PageInput):
    active = serializers.ChoiceField(("true", "false", "all"), default="true")
    parent_domain = PlainText(help_text="Only skills of this domain.")
    q = PlainText(help_text="Only skills whose id, name or description contains this.")


class SkillToolsInput(PageInput):
    source = serializers.ChoiceField(  # type: ignore[assignment]
        Assignment.Source.values, default=None, help_text="Only assignments of this source."
    )
    primary = serializers.ChoiceField(("true", "false", "all"), default="all")


class SuggestionListInput(PageInput):
    status = serializers.ChoiceField([*Suggestion.Status.values, "all"], default="pending")
    q = PlainText(help_text="Only suggestions whose name or description contains this.")


class ApproveInput(serializers.Serializer[Any]):
    id = SkillIdField(required=False)
    name = StrictChar(max_length=255, required=False)
    description = StrictChar(min_length=10, max_length=1000, required=False)
    keywords = serializers.ListField(child=StrictChar(max_length=100), max_length=20, required=False)
    examples = serializers.ListField(child=StrictChar(max_length=255), max_length=10, required=False)
    parent_domain = StrictChar(max_length=64, allow_blank=True, required=False)


class MergeInput(serializers.Serializer[Any]):
    into = SkillIdField(help_text="The skill that exists.")


class PreviewInput(serializers.Serializer[Any]):
    into = SkillIdField(allow_null=True, default=None, help_text="Of a merge into this skill; none: of an approval.")


class RejectInput(serializers.Serializer[Any]):
    reason = StrictChar(max_length=1000, allow_blank=True, default="")


class ClassifyInput(serializers.Serializer[Any]):
    tool_ids = serializers.ListField(
        child=StrictInteger(min_value=1, max_value=BIGINT), max_length=10_000, allow_null=True, default=None
    )
    force = StrictBoolean(default=False)


class ChoiceInput(serializers.Serializer[Any]):
    skill_id = SkillIdField()
    confidence = StrictFloat(min_value=0, max_value=1, default=1.0)


class ToolSkillsInput(serializers.Serializer[Any]):
    skills = serializers.ListField(child=ChoiceInput(), max_length=3)
