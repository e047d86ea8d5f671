from typing import Any

from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, json_body, json_response, validated
from skills import lists, schemas
from skills import serializers as inputs
from skills.bodies import skill_body, skill_tool_body, tool_skills_body
from skills.classifiers import classifier_name
from skills.models import Skill
from skills.selectors import skill_ids_resolved
from skills.services.assignments import tool_assign, tools_reclassify
from skills.services.curation import skill_change, skill_create, skill_delete, skill_id_check
from skills.services.lineage import skill_merge, skill_rename
from skills.services.switch import classification_paused
from skills.tasks import request_classification, request_skill_refresh
from skills.types import SkillChoice, SkillSpec
from tenants.types import Caller, caller_of


def page(rows: Any, values: dict[str, Any]) -> Any:
    return rows[values["offset"] : values["offset"] + values["limit"]]


def refreshed(skill: Skill, caller: Caller, status: int = 200) -> HttpResponse:
    """The skill as it is now, with its vectors on their way."""
    transaction.on_commit(request_skill_refresh)
    row = lists.skills_visible(caller.tenant_id).get(pk=skill.pk)
    return json_response(skill_body(row), status)


def mine(skill_id: str, caller: Caller) -> Skill:
    """A skill that this caller may change."""
    skill = lists.skill_get(skill_id, caller.tenant_id)
    caller.require_write(skill.tenant_id, "This skill")
    return skill


class SkillsView(ApiView):
    @extend_schema(**schemas.LIST)
    def get(self, request: Request) -> HttpResponse:
        values = validated(inputs.SkillListInput, request.query_params.dict())
        filters = {name: values[name] for name in ("active", "parent_domain", "q")}
        rows = page(lists.skills_list(caller_of(request).tenant_id, **filters), values)
        return json_response([skill_body(skill) for skill in rows])

    @extend_schema(**schemas.CREATE)
    def post(self, request: Request) -> HttpResponse:
        values = validated(inputs.SkillCreateInput, json_body(request))
        active = values.pop("is_active")
        spec = SkillSpec(**{**values, "keywords": tuple(values["keywords"]), "examples": tuple(values["examples"])})
        caller = caller_of(request)
        owner = caller.owner_of_new_rows()
        skill_id_check(spec.id, owner)
        skill = skill_create(spec, tenant_id=owner, active=active)
        return refreshed(skill, caller, 201)


class SkillView(ApiView):
    @extend_schema(**schemas.GET)
    def get(self, request: Request, skill_id: str) -> HttpResponse:
        skill = lists.skill_get(skill_id, caller_of(request).tenant_id)
        return json_response(skill_body(skill))

    @extend_schema(**schemas.PUT)
    def put(self, request: Request, skill_id: str) -> HttpResponse:
        caller = caller_of(request)
        skill = mine(skill_id, caller)
        return refreshed(skill_change(skill, validated(inputs.SkillPutInput, json_body(request))), caller)

    @extend_schema(**schemas.PATCH)
    def patch(self, request: Request, skill_id: str) -> HttpResponse:
        caller = caller_of(request)
        skill = mine(skill_id, caller)
        values = validated(inputs.SkillPatchInput, json_body(request))
        new_id = values.pop("id", None)
        if new_id:
            skill_id_check(new_id, skill.tenant_id)
        with transaction.atomic():
            skill = skill_change(skill, values)
            if new_id:
                skill = skill_rename(skill, new_id=new_id)
        return refreshed(skill, caller)

    @extend_schema(**schemas.DELETE)
    def delete(self, request: Request, skill_id: str) -> HttpResponse:
        skill_delete(mine(skill_id, caller_of(request)))
        transaction.on_commit(request_skill_refresh)
        return HttpResponse(status=204)


class SkillMergeView(ApiView):
    @extend_schema(**schemas.MERGE)
    def post(self, request: Request, skill_id: str) -> HttpResponse:
        caller = caller_of(request)
        skill = mine(skill_id, caller)
        into = mine(validated(inputs.MergeInput, json_body(request))["into"], caller)
        moved = skill_merge(skill, into=into)
        transaction.on_commit(request_skill_refresh)
        return json_response({"into": into.pk, "moved": moved})


class SkillToolsView(ApiView):
    @extend_schema(**schemas.TOOLS)
    def get(self, request: Request, skill_id: str) -> HttpResponse:
        values = validated(inputs.SkillToolsInput, request.query_params.dict())
        tenant = caller_of(request).tenant_id
        skill = lists.skill_get(skill_id, tenant)
        rows = lists.skill_assignments(skill, tenant, source=values["source"], primary=values["primary"])
        return json_response([skill_tool_body(row) for row in page(rows, values)])


class ClassifyView(ApiView):
    @extend_schema(**schemas.CLASSIFY)
    def post(self, request: Request) -> HttpResponse:
        """Without `tool_ids`: asks for a run over whatever waits."""
        values = validated(inputs.ClassifyInput, json_body(request))
        caller = caller_of(request)
        queued = 0
        if values["tool_ids"] is not None:
            tool_ids = lists.tool_ids_changeable(values["tool_ids"], caller)
            queued = tools_reclassify(tool_ids, force=values["force"])
        transaction.on_commit(lambda: request_classification(caller.name))
        return json_response({"queued": queued, "classifier": classifier_name(), "paused": classification_paused()})


class ToolSkillsView(ApiView):
    @extend_schema(**schemas.TOOL_SKILLS_PUT)
    def put(self, request: Request, tool_id: int) -> HttpResponse:
        caller = caller_of(request)
        tool = lists.tool_get(tool_id, caller.tenant_id)
        caller.require_write(tool.server.tenant_id, "This tool")
        chosen = validated(inputs.ToolSkillsInput, json_body(request))["skills"]
        ids = [skill_ids_resolved([choice["skill_id"]])[0] for choice in chosen]
        choices = [
            SkillChoice(skill_id, choice["confidence"], "Filed by hand.")
            for skill_id, choice in zip(ids, chosen, strict=True)
        ]
        tool_assign(tool, choices)
        transaction.on_commit(request_skill_refresh)
        return json_response(tool_skills_body(tool))
