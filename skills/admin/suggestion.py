"""The suggestions queue: pages and posts. What a decision does is in skills.services.suggestions."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse

from core.errors import ToolscriptError
from skills.admin import bulk
from skills.admin.decisions import NEEDS, decide, undo_last
from skills.admin.desk import changing, explained, is_partial, page, see_other, viewing
from skills.models import Suggestion, SuggestionDecision
from skills.reports.queue import counts_by_status, queue_rows, review, skills_for, suggestions_queue
from skills.services.undo import decision_last
from skills.visible import skills_seen, suggestions_seen
from tenants.admin import TenantRows
from tenants.visible import visible

PER_PAGE = 40
HISTORY_PER_PAGE = 50
REASONS = ("Too narrow", "Too broad", "Same as an existing skill", "Not a skill")


@admin.register(Suggestion)
class SuggestionAdmin(TenantRows):
    search_fields = ("name", "description")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path("history/", viewing(self, self.history), name="skills_suggestion_decisions"),
            path("undo/", changing(self, self.undo), name="skills_suggestion_undo"),
            path("bulk/", changing(self, self.bulk), name="skills_suggestion_bulk"),
            path("<int:pk>/review/", viewing(self, self.review), name="skills_suggestion_review"),
            path("<int:pk>/decide/<slug:action>/", changing(self, self.decide), name="skills_suggestion_decide"),
        ]
        urls: list[URLPattern] = super().get_urls()
        return ours + urls

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return self.queue(request, selected=_number(request.GET.get("selected")))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return see_other(reverse("admin:skills_suggestion_review", args=[_number(object_id) or 0]))

    def queue(self, request: HttpRequest, *, selected: int | None = None, **context: Any) -> HttpResponse:
        """The whole page, or for a script its moving part."""
        found = self.found(request)
        rows = queue_rows(list(found.object_list))
        chosen = next((r.suggestion for r in rows if r.suggestion.pk == selected), rows[0].suggestion if rows else None)
        context = {
            "rows": rows,
            "page_obj": found,
            "chosen": chosen,
            "counts": counts_by_status(),
            "statuses": Suggestion.Status.choices,
            **self.filters(request),
            **(self.review_context(request, chosen) if chosen else self.may(request)),
            **context,
        }
        if is_partial(request):
            return render(request, "desk/queue_body.html", {**context, "request": request})
        return page(self, request, "desk/queue.html", "Suggestions", is_fullwidth="1", **context)

    def filters(self, request: HttpRequest) -> dict[str, str]:
        given = request.GET if request.method == "GET" else request.POST
        status = given.get("status", "")
        filters = {
            "status": status if status in Suggestion.Status.values else "pending",
            "text": given.get("q", "").strip()[:100],
            "sort": given.get("sort", "asked"),
        }
        place = str(_number(given.get("page")) or 1)
        return {**filters, "place": place, "query": bulk.query_of(filters)}

    def found(self, request: HttpRequest) -> Page[Suggestion]:
        filters = self.filters(request)
        given = request.GET if request.method == "GET" else request.POST
        found = suggestions_queue(filters["status"], filters["text"], filters["sort"])
        return Paginator(found, PER_PAGE).get_page(given.get("page"))

    def may(self, request: HttpRequest) -> dict[str, Any]:
        decides = self.has_change_permission(request)
        last = decision_last(request.user.get_username()) if decides else None
        return {"can_decide": decides, "can_create": decides and request.user.has_perm(NEEDS["approve"]), "last": last}

    def review_context(self, request: HttpRequest, suggestion: Suggestion) -> dict[str, Any]:
        into = skills_seen().filter(pk=request.GET.get("into", ""), is_active=True).first()
        return {
            "review": review(suggestion),
            "into": into,
            "merge": review(suggestion, into).preview if into else None,
            "all_skills": skills_for(suggestion),
            "reasons": REASONS,
            "decisions": suggestion.decisions.all()[:10],
            **self.may(request),
        }

    def review(self, request: HttpRequest, pk: int, **context: Any) -> HttpResponse:
        """One suggestion: as a page, or for a script as the pane beside the list, or as the preview of a merge."""
        suggestion = get_object_or_404(self.get_queryset(request).select_related("skill", "tenant"), pk=pk)
        context |= {**self.review_context(request, suggestion), **self.filters(request), "chosen": suggestion}
        if is_partial(request):
            part = "desk/merge_preview.html" if "into" in request.GET else "desk/review.html"
            return render(request, part, {**context, "request": request})
        return page(self, request, "desk/review_page.html", suggestion.name, **context)

    def decide(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        suggestion = get_object_or_404(self.get_queryset(request), pk=pk)
        place = [s.pk for s in self.found(request).object_list]
        if NEEDS.get(action) and not request.user.has_perm(NEEDS[action]):
            raise PermissionDenied
        if "preview" in request.POST:  # of a merge, without scripts
            into = request.POST.get("other", "").strip() or request.POST.get("into", "")
            query = urlencode({"into": into})
            return see_other(f"{reverse('admin:skills_suggestion_review', args=[pk])}?{query}#merge")
        try:
            messages.success(request, decide(request, suggestion, action))
        except ToolscriptError as exc:
            messages.error(request, explained(exc))
            return self.back(request, pk, edited=request.POST if action == "approve" else None)
        following = place[place.index(pk) + 1 :] if pk in place else []
        return self.back(request, following[0] if following else None)

    def undo(self, request: HttpRequest) -> HttpResponse:
        undone = undo_last(request, [int(pk) for pk in request.POST.getlist("ids") if pk.isdigit()])
        return self.back(request, undone)

    def bulk(self, request: HttpRequest) -> HttpResponse:
        answer = bulk.bulk(request)
        if answer.confirm is None:
            return self.back(request, None, undo_ids=answer.done)
        if is_partial(request):
            return render(request, "desk/bulk_confirm.html", answer.confirm)
        return page(self, request, "desk/bulk_page.html", "Decide on several suggestions", **answer.confirm)

    def back(self, request: HttpRequest, selected: int | None, **context: Any) -> HttpResponse:
        if is_partial(request):
            return self.queue(request, selected=selected, **context)
        if context.get("edited") and selected:  # what was typed is not lost
            return self.review(request, selected, **context)
        query = self.filters(request)["query"] + (f"selected={selected}" if selected else "")
        return see_other(f"{reverse('admin:skills_suggestion_changelist')}?{query}")

    def history(self, request: HttpRequest) -> HttpResponse:
        rows = visible(SuggestionDecision.objects.all(), "suggestion__tenant").select_related("suggestion")
        found = Paginator(rows, HISTORY_PER_PAGE).get_page(request.GET.get("page"))
        return page(self, request, "desk/history.html", "Decisions", page_obj=found)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and len(text) < 19 else None


def pending_badge(request: HttpRequest) -> str:
    return str(suggestions_seen().filter(status=Suggestion.Status.PENDING).count())
