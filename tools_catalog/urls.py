from django.urls import path

from tools_catalog.api import gateway

urlpatterns = [
    path("servers", gateway.ServerListView.as_view()),
    path("tools", gateway.ToolListView.as_view()),
    path("tools/<path:tool_id>", gateway.ToolCallView.as_view()),
]
