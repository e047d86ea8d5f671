"""The classification page: the switch, the runs, what failed, and proposals of skills."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from skills.admin.desk import changing, is_partial, page, see_other, told, viewing
from skills.models import ClassificationRun
from skills.reports.pipeline import pipeline, tools_failed
from skills.services.propose_runs import propose_start
from skills.services.switch import classification_pause, classification_resume, classification_retry
from skills.tasks import request_classification, request_propose
from tenants.admin import ForTheWholeService, is_of_a_tenant

RUNS = 25
FAILED = 25
PROPOSES = "skills.change_suggestion"


@admin.register(ClassificationRun)
class ClassificationRunAdmin(ForTheWholeService):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path("state/", viewing(self, self.state), name="skills_classification_state"),
            path("pause/", changing(self, self.pause), name="skills_classification_pause"),
            path("resume/", changing(self, self.resume), name="skills_classification_resume"),
            path("retry/", changing(self, self.retry), name="skills_classification_retry"),
            path("propose/", self.admin_site.admin_view(self.propose), name="skills_classification_propose"),
        ]
        urls: list[URLPattern] = super().get_urls()
        return ours + urls

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return page(self, request, "desk/classification.html", "Classification", **self.context(request))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return see_other(f"{reverse('admin:skills_classificationrun_changelist')}?run={object_id}#failed")

    def context(self, request: HttpRequest) -> dict[str, Any]:
        run = request.GET.get("run", "")
        run_id = int(run) if run.isdigit() and len(run) < 19 else None
        return {
            "pipeline": pipeline(),
            "page_obj": Paginator(ClassificationRun.objects.all(), RUNS).get_page(request.GET.get("page")),
            "failed": tools_failed(run_id)[:FAILED],
            "run_id": run_id,
            "can_change": self.has_change_permission(request),
            "can_propose": request.user.has_perm(PROPOSES),
        }

    def state(self, request: HttpRequest) -> HttpResponse:
        """What moves while a run is under way; the page asks for it again and again."""
        return render(request, "desk/classification_body.html", {**self.context(request), "request": request})

    def pause(self, request: HttpRequest) -> HttpResponse:
        classification_pause(by=request.user.get_username())
        messages.success(request, "Paused. Workers finish the tools they are at, and claim no more.")
        return self.back(request)

    def resume(self, request: HttpRequest) -> HttpResponse:
        classification_resume(by=request.user.get_username())
        transaction.on_commit(lambda: request_classification(request.user.get_username()))
        messages.success(request, "Resumed.")
        return self.back(request)

    def retry(self, request: HttpRequest) -> HttpResponse:
        ids = [int(pk) for pk in request.POST.getlist("tool") if pk.isdigit()]
        count = classification_retry(ids or None)
        transaction.on_commit(lambda: request_classification(request.user.get_username()))
        messages.success(request, f"{count} {'tool is' if count == 1 else 'tools are'} in the queue again.")
        return self.back(request)

    def propose(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" or is_of_a_tenant() or not request.user.has_perm(PROPOSES):
            raise PermissionDenied
        with told(request):
            run = propose_start(by=request.user.get_username(), everything="everything" in request.POST)
            request_propose(run)
            messages.success(request, "Skills are being proposed. They will be in the suggestions queue.")
        return self.back(request)

    def back(self, request: HttpRequest) -> HttpResponse:
        if is_partial(request):
            return self.state(request)
        address = request.POST.get("back", "")
        safe = url_has_allowed_host_and_scheme(address, None)
        return see_other(address if safe else reverse("admin:skills_classificationrun_changelist"))
