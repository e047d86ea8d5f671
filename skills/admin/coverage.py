"""The coverage page and the map of the catalogue."""

import math

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin

from core.api import json_response
from skills.admin.desk import View, page
from skills.reports.catalog_map import catalog_map
from skills.reports.coverage import coverage, homeless, tools_unclassified, weakly_filed
from skills.reports.filing import WEAK
from skills.reports.health import OVERLAP
from skills.visible import skills_seen

ROWS = 25
BARS = 40


def page_for(admin: ModelAdmin) -> View:
    def view(request: HttpRequest) -> HttpResponse:
        found = Paginator(tools_unclassified(), ROWS).get_page(request.GET.get("page"))
        report = coverage()
        chart = [{"id": s.id, "name": s.name, "firm": s.firm, "weak": s.weak} for s in report.sizes[:BARS]]
        return page(
            admin,
            request,
            "desk/coverage.html",
            "Coverage",
            report=report,
            chart=chart,
            unseen=len(report.sizes) - len(chart),
            chart_height=60 + 24 * len(chart),
            share=math.floor(100 * report.share),
            weak_below=WEAK,
            overlap_from=OVERLAP,
            page_obj=found,
            homeless=homeless(list(found.object_list)),
            weak=weakly_filed(ROWS),
            all_skills=skills_seen().filter(is_active=True),
            can_change=admin.has_change_permission(request),
        )

    return view


def map_for(admin: ModelAdmin) -> View:
    def view(request: HttpRequest) -> HttpResponse:
        return page(admin, request, "desk/map.html", "Map of the catalogue", is_fullwidth="1")

    return view


def map_data(request: HttpRequest) -> HttpResponse:
    return json_response(catalog_map(), headers={"Cache-Control": "private, no-cache"})
