from django.urls import path

from search import api

urlpatterns = [
    path("api/v1/search", api.SearchView.as_view()),
    path("api/v1/search/skills", api.SkillSearchView.as_view()),
    path("api/v1/search/tools", api.ToolSearchView.as_view()),
    path("ready", api.ReadyView.as_view()),
]
