from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.fields import NO_NUL, CommaList
from tools_catalog.serializers.gateway import Flag

LONGEST = 20_000
"""Room for the ids of the fifty tools that one search can find."""


@extend_schema_field({"type": "string", "maxLength": LONGEST, "pattern": NO_NUL})
class NameList(CommaList):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=LONGEST, **kwargs)


class ToolTypesInput(serializers.Serializer[Any]):
    filter = NameList(help_text="Servers and tools (`server`, `server__tool`), separated by commas. Empty: all.")
    compact = Flag(help_text="Without comments.")
