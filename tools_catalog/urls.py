from django.urls import path

from tools_catalog import api_client_types, api_gateway

urlpatterns = [
    path("runtime/tools.ts", api_client_types.ToolTypesView.as_view()),
    path("servers", api_gateway.ServerListView.as_view()),
    path("tools", api_gateway.ToolListView.as_view()),
    path("tools/<path:tool_id>", api_gateway.ToolCallView.as_view()),
]
