"""`POST /api/v1/import`: takes in what a server publishes, without reaching the server."""

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, json_body, json_response, refuse_unknown
from core.openapi import Schema, array, record, responses
from core.wire import StrictJSONParser
from tenants.types import caller_of
from tools_catalog.services.publication import published_import
from tools_catalog.tasks import request_refresh
from tools_catalog.types import ITEM_TYPES

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNTS = ("created", "changed", "unchanged", "missing", "returned")
LISTS = ("tools", "prompts", "resources", "resourceTemplates")
ABOUT = ("package", "version", "registry", "license", "protocol")
"""What published files say about themselves. Accepted, so that they can be sent as they are; not kept."""

NO_NUL = "^[^\\u0000]*$"
BODY: Schema = {
    "type": "object",
    "properties": {
        "server": {"type": "string", "maxLength": 128, "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$"},
        "title": {"type": "string", "maxLength": 255, "pattern": NO_NUL},
        "description": {"type": "string", "maxLength": 5000, "pattern": NO_NUL},
        **{name: {"type": "array", "items": {}} for name in LISTS},
        **{name: {} for name in ABOUT},
    },
    "required": ["server", "tools"],
    "additionalProperties": False,
}
REFUSAL = record({"type": {"type": "string", "enum": list(ITEM_TYPES)}, "name": TEXT, "reason": TEXT})
RESULT = record({"server": TEXT, "seen": COUNT, **dict.fromkeys(COUNTS, COUNT), "refused": array(REFUSAL)})
IMPORT: dict[str, Any] = {
    "operation_id": "import_server",
    "summary": "Take in what a server publishes, without reaching the server",
    "tags": ["catalogue"],
    "request": {"application/json": BODY},
    "responses": responses(RESULT, 400, 409, 413, 415, 422, 503),
}


class ImportParser(StrictJSONParser):
    """All that a large server publishes comes in one body."""

    def most_bytes(self) -> int:
        return int(settings.LARGE_BODIES["/api/v1/import"])


class ImportView(ApiView):
    parser_classes = [ImportParser]

    @extend_schema(**IMPORT)
    def post(self, request: Request) -> HttpResponse:
        body = json_body(request)
        if isinstance(body, dict):
            refuse_unknown(body, BODY["properties"])
        report = published_import(body, tenant_id=caller_of(request).owner_of_new_rows())
        if report.wrote:
            transaction.on_commit(request_refresh)
        refused = [asdict(refusal) for refusal in report.refusals]
        return json_response({"server": report.server, "seen": report.seen, **report.counts, "refused": refused})
