"""Health and metrics."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core import metrics
from core.api import ApiView, json_response
from core.openapi import record, responses

STATUS = record({"status": {"type": "string", "enum": ["ok"]}})


class HealthView(ApiView):
    """The process answers. Nothing else is asked, so that a slow database does not get it restarted."""

    authentication_classes = []

    @extend_schema(operation_id="health", tags=["operations"], responses=responses(STATUS))
    def get(self, request: Request) -> HttpResponse:
        return json_response({"status": "ok"})


class MetricsView(ApiView):
    """Metrics in the Prometheus text format."""

    authentication_classes = []

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        body, content_type = metrics.exposition()
        return HttpResponse(body, content_type=content_type)
