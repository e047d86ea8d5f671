"""The sidebar of the admin: who curates what. A link is shown to those who may see its page."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy


def may(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: bool(request.user.has_perm(permission))


def item(title: str, icon: str, address: str, permission: str, **more: Any) -> dict[str, Any]:
    link = reverse_lazy(f"admin:{address}")
    return {"title": title, "icon": icon, "link": link, "permission": may(permission), **more}


def exactly(address: str) -> Callable[[HttpRequest], bool]:
    """Unfold marks a link wherever its address begins the page's: pages below a list would mark the list too."""
    return lambda request: request.path == str(reverse_lazy(f"admin:{address}"))


def in_skills(request: HttpRequest) -> bool:
    home = str(reverse_lazy("admin:skills_skill_changelist"))
    return request.path.startswith(home) and not (
        exactly("skills_skill_coverage")(request) or exactly("skills_skill_map")(request)
    )


def without_scripts(request: HttpRequest) -> str:
    """On every page of the admin: what makes it usable without scripts, the login included."""
    return static("desk/noscript.css")


PENDING = "skills.admin.suggestion.pending_badge"

NAVIGATION = [
    {
        "title": "Curation",
        "items": [
            item("Suggestions", "inbox", "skills_suggestion_changelist", "skills.view_suggestion", badge=PENDING),
            item("Skills", "category", "skills_skill_changelist", "skills.view_skill", active=in_skills),
            item("Coverage", "donut_large", "skills_skill_coverage", "skills.view_skill"),
            item("Map", "scatter_plot", "skills_skill_map", "skills.view_skill"),
            item("Classification", "rule", "skills_classificationrun_changelist", "skills.view_classificationrun"),
            item("Capabilities", "conversion_path", "skills_capability_changelist", "skills.view_capability"),
        ],
    },
    {
        "title": "Catalogue",
        "items": [
            item("Servers", "dns", "tools_catalog_server_changelist", "tools_catalog.view_server"),
            item("Tools", "handyman", "tools_catalog_tool_changelist", "tools_catalog.view_tool"),
            item("Sync runs", "sync", "tools_catalog_syncrun_changelist", "tools_catalog.view_syncrun"),
            item("Calls", "call_made", "tools_catalog_toolcall_changelist", "tools_catalog.view_toolcall"),
            item(
                "Embedding spaces",
                "hub",
                "tools_catalog_embeddingspace_changelist",
                "tools_catalog.view_embeddingspace",
            ),
        ],
    },
    {
        "title": "Knowledge",
        "items": [
            item("Documents", "description", "knowledge_source_changelist", "knowledge.view_source"),
            item("Extractions", "format_quote", "knowledge_extraction_changelist", "knowledge.view_extraction"),
        ],
    },
    {
        "title": "Administration",
        "items": [
            item("Tenants", "apartment", "tenants_tenant_changelist", "tenants.view_tenant"),
            item("API keys", "key", "tenants_apikey_changelist", "tenants.view_apikey"),
            item("Users", "person", "auth_user_changelist", "auth.view_user"),
            item("Groups", "group", "auth_group_changelist", "auth.view_group"),
            item(
                "Schedules",
                "schedule",
                "django_celery_beat_periodictask_changelist",
                "django_celery_beat.view_periodictask",
            ),
        ],
    },
]
