from django.urls import path

from tools_catalog import api_gateway

urlpatterns = [
    path("servers", api_gateway.ServerListView.as_view()),
    path("tools", api_gateway.ToolListView.as_view()),
    path("tools/<path:tool_id>", api_gateway.ToolCallView.as_view()),
]
