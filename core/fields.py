"""Serializer fields that take JSON at its word."""

import math
import re
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

PLAIN_NUMBER = re.compile(r"\s*[+-]?[0-9.eE+-]+\s*", re.ASCII)
NO_NUL = r"^[^\u0000]*$"
NO_NUL_NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"


class StrictChar(serializers.CharField):
    """A JSON number or boolean is not text."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class StrictInteger(serializers.IntegerField):
    """`5` and `5.0` are whole numbers in JSON; `"5"` and `true` are not."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float) or not math.isfinite(data) or data % 1:
            self.fail("invalid")
        return int(data)


class StrictFloat(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(data)


class StrictBoolean(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class PlainInteger(serializers.IntegerField):
    """For query parameters: what Python also takes for a number (`1_0`, digits of other scripts) is none."""

    def to_internal_value(self, data: Any) -> int:
        if not PLAIN_NUMBER.fullmatch(str(data)):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class PlainFloat(serializers.FloatField):
    """The same for fractions; `nan` and `inf` are none either."""

    def to_internal_value(self, data: Any) -> float:
        if not PLAIN_NUMBER.fullmatch(str(data)):
            self.fail("invalid")
        value = float(super().to_internal_value(data))
        if not math.isfinite(value):
            self.fail("invalid")
        return value


@extend_schema_field({"type": "boolean"})
class PlainFlag(serializers.BooleanField):
    """For query parameters: `true` and `false`, `1` and `0`."""

    def to_internal_value(self, data: Any) -> bool:
        if str(data).lower() not in {"true", "false", "1", "0"}:
            self.fail("invalid", input=data)
        return str(data).lower() in {"true", "1"}


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": 1000, "pattern": NO_NUL_NOT_BLANK})
class QueryText(StrictChar):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=1000, help_text="What the tool should do, in plain words.", **kwargs)


@extend_schema_field({"type": "string", "maxLength": 2000, "pattern": NO_NUL})
class CommaList(serializers.CharField):
    """Words separated by commas. Not given, or given empty, it is None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default=None, allow_blank=True, max_length=2000, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> list[str] | None:
        words = [word.strip() for word in (super().run_validation(data) or "").split(",")]
        return [word for word in words if word] or None
