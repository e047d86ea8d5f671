from django.urls import path

from mcp_endpoint import api

urlpatterns = [path("mcp", api.McpView.as_view())]
