"""What a search request may hold. Only input is validated here; answers are built by hand, for speed."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from core.fields import (
    CommaList,
    PlainFlag,
    PlainFloat,
    PlainInteger,
    QueryText,
    StrictBoolean,
    StrictFloat,
    StrictInteger,
)
from search.types import STRATEGY_NAMES, SearchRequest
from tools_catalog.types import ITEM_TYPES

DEFAULTS = SearchRequest(query="")


class SearchInput(serializers.Serializer[Any]):
    query = QueryText()
    item_type = serializers.ChoiceField(ITEM_TYPES, allow_null=True, default=None)
    limit = StrictInteger(min_value=1, max_value=50, default=DEFAULTS.limit)
    skill_limit = StrictInteger(min_value=1, max_value=10, default=DEFAULTS.skill_limit)
    skill_threshold = StrictFloat(min_value=0, max_value=1, default=DEFAULTS.skill_threshold)
    tool_threshold = StrictFloat(min_value=0, max_value=1, default=DEFAULTS.tool_threshold)
    include_schemas = StrictBoolean(default=DEFAULTS.include_schemas)
    strategy = serializers.ChoiceField(STRATEGY_NAMES, default=DEFAULTS.strategy)
    explain = StrictBoolean(default=DEFAULTS.explain)


class SkillSearchInput(serializers.Serializer[Any]):
    query = QueryText()
    limit = PlainInteger(min_value=1, max_value=20, default=5)
    threshold = PlainFloat(min_value=0, max_value=1, default=DEFAULTS.skill_threshold)


class ToolSearchInput(serializers.Serializer[Any]):
    query = QueryText()
    skill_ids = CommaList(help_text="Only tools in one of these skills. Unknown ids match nothing.")
    item_type = serializers.ChoiceField(ITEM_TYPES, default=None)
    limit = PlainInteger(min_value=1, max_value=100, default=10)
    threshold = PlainFloat(min_value=0, max_value=1, default=DEFAULTS.tool_threshold)


class GatewaySearchInput(serializers.Serializer[Any]):
    q = QueryText()
    limit = PlainInteger(min_value=1, max_value=50, default=settings.SEARCH_LIMIT)
    threshold = PlainFloat(min_value=0, max_value=1, default=settings.SEARCH_THRESHOLD)
    alpha = PlainFloat(
        min_value=0, max_value=1, default=settings.SEARCH_ALPHA, help_text="The weight of meaning against keywords."
    )
    item_type = serializers.ChoiceField(ITEM_TYPES, default="tool")
    explain = PlainFlag(default=False)
