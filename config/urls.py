from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView, TemplateView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.negotiation import DefaultContentNegotiation

from core.probes import HealthView, MetricsView
from tools_catalog.api_import import ImportView

urlpatterns = [
    path("", TemplateView.as_view(template_name="home.html"), name="home"),
    path("", include("mcp_endpoint.urls")),
    path("", include("search.urls")),
    path("", include("tools_catalog.urls")),
    path("api/v1/import", ImportView.as_view()),
    path("", include("skills.urls")),
    path("", include("knowledge.urls")),
    path("health", HealthView.as_view()),
    path("metrics", MetricsView.as_view()),
    path("api/schema", SpectacularAPIView.as_view(content_negotiation_class=DefaultContentNegotiation), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("admin/", admin.site.urls),
]

handler400 = "core.handlers.bad_request"
handler403 = "core.handlers.forbidden"
handler404 = "core.handlers.not_found"
handler500 = "core.handlers.server_error"
