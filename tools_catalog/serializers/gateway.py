"""What the lists of the gateway take."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.fields import NO_NUL, CommaList, PlainInteger
from tools_catalog.types import ITEM_TYPES

FLAG = {"type": "string", "enum": ["true", "false"]}


@extend_schema_field(FLAG)
class Flag(serializers.ChoiceField):
    """For query parameters: `true` or `false`, and nothing that only looks like it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(["true", "false"], default="false", **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> bool:
        return bool(super().run_validation(data) == "true")


@extend_schema_field({"type": "string", "maxLength": 128, "pattern": NO_NUL})
class ServerName(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default=None, max_length=128, **kwargs)


class PageInput(serializers.Serializer[Any]):
    limit = PlainInteger(min_value=1, max_value=1000, default=100)
    offset = PlainInteger(min_value=0, max_value=10_000_000, default=0)


class ToolListInput(PageInput):
    filter = CommaList(help_text="Names of servers, and ids of tools. Unknown ones match nothing.")
    item_type = serializers.ChoiceField(ITEM_TYPES, default="tool")
    include_schemas = Flag(help_text="Whether to load schemas and annotations.")


class CallInput(serializers.Serializer[Any]):
    confirm = Flag(help_text="Confirms a call of a tool that may destroy something.")
    server = ServerName(help_text="The server, where an id can be read in two ways.")
