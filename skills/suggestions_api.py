"""The queue of suggestions over HTTP: the same services as the desk in the admin."""

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, json_body, json_response, validated
from core.errors import Conflict
from skills import lists, schemas
from skills import serializers as inputs
from skills.api import page, refreshed
from skills.bodies import preview_body, suggestion_body
from skills.models import Suggestion
from skills.services.curation import skill_id_check
from skills.services.preview import suggestion_preview
from skills.services.suggestions import suggestion_approve, suggestion_merge, suggestion_reject, suggestion_spec
from skills.services.undo import suggestion_undo
from skills.tasks import request_classification, request_skill_refresh
from tenants.types import caller_of


class SuggestionsView(ApiView):
    @extend_schema(**schemas.SUGGESTIONS)
    def get(self, request: Request) -> HttpResponse:
        values = validated(inputs.SuggestionListInput, request.query_params.dict())
        rows = lists.suggestions_list(caller_of(request).tenant_id, status=values["status"], q=values["q"])
        return json_response([suggestion_body(row) for row in page(rows, values)])


class SuggestionView(ApiView):
    """What all decisions have in common: who asks, and about which suggestion."""

    def suggestion(self, request: Request, suggestion_id: int) -> Suggestion:
        caller = caller_of(request)
        found = lists.suggestion_get(suggestion_id, caller.tenant_id)
        caller.require_write(found.tenant_id, "This suggestion")
        return found


class PreviewView(SuggestionView):
    @extend_schema(**schemas.PREVIEWED)
    def post(self, request: Request, suggestion_id: int) -> HttpResponse:
        suggestion = self.suggestion(request, suggestion_id)
        into = validated(inputs.PreviewInput, json_body(request))["into"]
        if suggestion.status != Suggestion.Status.PENDING:
            raise Conflict(f"This suggestion is {suggestion.status} already.")
        skill = lists.skill_get(into, caller_of(request).tenant_id) if into else None
        return json_response(preview_body(suggestion_preview(suggestion, into=skill)))


class ApproveView(SuggestionView):
    @extend_schema(**schemas.APPROVE)
    def post(self, request: Request, suggestion_id: int) -> HttpResponse:
        suggestion = self.suggestion(request, suggestion_id)
        edits: dict[str, Any] = validated(inputs.ApproveInput, json_body(request))
        for name in ("keywords", "examples"):
            if name in edits:
                edits[name] = tuple(edits[name])
        caller = caller_of(request)
        if "id" in edits:
            skill_id_check(edits["id"], suggestion.tenant_id)
        skill = suggestion_approve(suggestion, by=caller.name, spec=replace(suggestion_spec(suggestion), **edits))
        transaction.on_commit(lambda: request_classification(caller.name))
        return refreshed(skill, caller)


class MergeView(SuggestionView):
    @extend_schema(**schemas.MERGE_SUGGESTION)
    def post(self, request: Request, suggestion_id: int) -> HttpResponse:
        suggestion = self.suggestion(request, suggestion_id)
        caller = caller_of(request)
        into = lists.skill_get(validated(inputs.MergeInput, json_body(request))["into"], caller.tenant_id)
        return refreshed(suggestion_merge(suggestion, into=into, by=caller.name), caller)


class RejectView(SuggestionView):
    @extend_schema(**schemas.REJECT)
    def post(self, request: Request, suggestion_id: int) -> HttpResponse:
        suggestion = self.suggestion(request, suggestion_id)
        reason = validated(inputs.RejectInput, json_body(request))["reason"]
        suggestion_reject(suggestion, by=caller_of(request).name, reason=reason)
        suggestion.refresh_from_db()
        return json_response(suggestion_body(suggestion))


class UndoView(SuggestionView):
    @extend_schema(**schemas.UNDO)
    def post(self, request: Request, suggestion_id: int) -> HttpResponse:
        suggestion = self.suggestion(request, suggestion_id)
        suggestion_undo(suggestion, by=caller_of(request).name)
        transaction.on_commit(request_skill_refresh)
        suggestion.refresh_from_db()
        return json_response(suggestion_body(suggestion))
