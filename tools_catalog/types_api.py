from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from core.api import ApiView, validated
from core.fields import NO_NUL, CommaList
from core.openapi import ERROR
from tenants.types import caller_of
from tools_catalog.services.client_types import typescript_module

MEDIA_TYPE = "application/typescript"


@extend_schema_field({"type": "string", "maxLength": 20_000, "pattern": NO_NUL})
class NameList(CommaList):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=20_000, **kwargs)


class ToolTypesInput(serializers.Serializer[Any]):
    filter = NameList(help_text="Servers and tools (`server`, `server__tool`), separated by commas. Empty: all.")
    compact = serializers.BooleanField(default=False, help_text="Without comments.")


class ToolTypesView(ApiView):
    """One TypeScript module: the types of the tools, and a client that calls them through this gateway."""

    @extend_schema(
        operation_id="tool_types",
        summary="A typed client in TypeScript",
        tags=["tools"],
        parameters=[ToolTypesInput],
        responses={(200, MEDIA_TYPE): OpenApiResponse(OpenApiTypes.STR), 404: ERROR, 422: ERROR, 503: ERROR},
    )
    def get(self, request: Request) -> HttpResponse:
        values = validated(ToolTypesInput, request.query_params.dict())
        module = typescript_module(
            values["filter"],
            tenant_id=caller_of(request).tenant_id,
            base_url=request.build_absolute_uri("/").rstrip("/"),
            compact=values["compact"],
        )
        return HttpResponse(module.encode("utf-8", "replace"), content_type=f"{MEDIA_TYPE}; charset=utf-8")
