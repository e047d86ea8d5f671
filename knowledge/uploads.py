"""A document that comes as the file of a form, as browsers and `curl -F` send it."""

from typing import IO, Any, cast

from django.conf import settings
from django.utils.datastructures import MultiValueDict
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from core.api import validated
from core.errors import ValidationFailed
from core.wire import BodyTooLarge, media_type
from knowledge.serializers import UploadInput

LISTS = ("authors", "topics")
"""May be there more than once."""


def most_bytes() -> int:
    """Of a document, however it comes."""
    return int(settings.LARGE_BODIES["/api/v1/knowledge/sources"])


class UploadParser(MultiPartParser):
    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = most_bytes()
        if int(parser_context["request"].META.get("CONTENT_LENGTH") or 0) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.", {"limit_bytes": limit})
        return super().parse(stream, media_type, parser_context)


def is_upload(request: Request) -> bool:
    return media_type(request) == UploadParser.media_type


def upload_values(request: Request) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, given in cast(MultiValueDict[str, Any], request.data).lists():
        if name not in LISTS and len(given) > 1:
            raise ValidationFailed(
                f"{name[:100]}: it is there more than once.", {"fields": {name: ["It is there more than once."]}}
            )
        values[name] = given if name in LISTS else given[0]
    return validated(UploadInput, values)
