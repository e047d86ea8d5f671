"""What DRF is told to use for every view, on the way in. (Its settings load this, so it imports no view.)"""

from typing import IO, Any

import orjson
from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from core.errors import BadRequest, ToolscriptError


class BodyTooLarge(ToolscriptError):
    code = "BAD_REQUEST"
    http_status = 413


class StrictJSONParser(BaseParser):
    """orjson refuses what JSON does not know (NaN, lone surrogates, bad UTF-8, bottomless nesting)."""

    media_type = "application/json"

    def most_bytes(self) -> int:
        return int(settings.TOOLSCRIPT_MAX_BODY_BYTES)

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = self.most_bytes()
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.", {"limit_bytes": limit})
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as exc:
            raise BadRequest(f"The body is not valid JSON: {exc}.") from None


def media_type(request: Request) -> str:
    return request.content_type.split(";")[0].strip().lower()


class JsonForAll(BaseContentNegotiation):
    """Answers are JSON, whatever the caller says it accepts: an answer is of more use than a 406."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return next((parser for parser in parsers if media_type(request) == parser.media_type), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
