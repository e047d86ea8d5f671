from django.urls import path

from tools_catalog.api import client_types, gateway

urlpatterns = [
    path("runtime/tools.ts", client_types.ToolTypesView.as_view()),
    path("servers", gateway.ServerListView.as_view()),
    path("tools", gateway.ToolListView.as_view()),
    path("tools/<path:tool_id>", gateway.ToolCallView.as_view()),
]
