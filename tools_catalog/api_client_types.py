from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request

from core.api import ApiView, validated
from core.openapi import ERROR
from tenants.types import caller_of
from tools_catalog.serializers import ToolTypesInput
from tools_catalog.services.client_types import NO_ADDRESS, typescript_module

MEDIA_TYPE = "application/typescript"


class ToolTypesView(ApiView):
    @extend_schema(
        operation_id="tool_types",
        summary="A typed client in TypeScript",
        tags=["gateway"],
        parameters=[ToolTypesInput],
        responses={(200, MEDIA_TYPE): OpenApiResponse(OpenApiTypes.STR), 404: ERROR, 422: ERROR, 503: ERROR},
    )
    def get(self, request: Request) -> HttpResponse:
        values = validated(ToolTypesInput, request.query_params.dict())
        module = typescript_module(
            values["filter"],
            tenant_id=caller_of(request).tenant_id,
            base_url="" if NO_ADDRESS in request.META else request.build_absolute_uri("/").rstrip("/"),
            compact=values["compact"],
        )
        return HttpResponse(module.encode("utf-8", "replace"), content_type=f"{MEDIA_TYPE}; charset=utf-8")
