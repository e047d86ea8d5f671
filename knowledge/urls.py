from django.urls import path

from knowledge import api

urlpatterns = [
    path("search/health", api.HealthView.as_view()),
    path("search_knowledge", api.KnowledgeSearchView.as_view()),
    path("api/v1/knowledge/sources", api.SourcesView.as_view()),
    path("api/v1/knowledge/sources/<int:source_id>", api.SourceView.as_view()),
    path("api/v1/knowledge/sources/<int:source_id>/chunks", api.ChunksView.as_view()),
    path("api/v1/knowledge/extractions", api.ExtractionsView.as_view()),
    path("api/v1/knowledge/extractions/<int:extraction_id>", api.ExtractionView.as_view()),
]
