from django.urls import path

from skills import api, suggestions_api

# The fixed words come first; no skill may have one of them as its id (skills.services.curation.RESERVED).
urlpatterns = [
    path("api/v1/skills", api.SkillsView.as_view()),
    path("api/v1/skills/classify", api.ClassifyView.as_view()),
    path("api/v1/skills/suggestions", suggestions_api.SuggestionsView.as_view()),
    path("api/v1/skills/suggestions/<int:suggestion_id>/preview", suggestions_api.PreviewView.as_view()),
    path("api/v1/skills/suggestions/<int:suggestion_id>/approve", suggestions_api.ApproveView.as_view()),
    path("api/v1/skills/suggestions/<int:suggestion_id>/merge", suggestions_api.MergeView.as_view()),
    path("api/v1/skills/suggestions/<int:suggestion_id>/reject", suggestions_api.RejectView.as_view()),
    path("api/v1/skills/suggestions/<int:suggestion_id>/undo", suggestions_api.UndoView.as_view()),
    path("api/v1/skills/<str:skill_id>", api.SkillView.as_view()),
    path("api/v1/skills/<str:skill_id>/tools", api.SkillToolsView.as_view()),
    path("api/v1/skills/<str:skill_id>/merge", api.SkillMergeView.as_view()),
    path("api/v1/tools/<int:tool_id>/skills", api.ToolSkillsView.as_view()),
]
