"""Documents over HTTP: searching them, taking them in, and what was learned from them."""

import hashlib
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, json_body, json_response, refuse_unknown, validated
from core.errors import Conflict, EmbeddingFailed, Forbidden, NotFound, NotReady
from core.wire import StrictJSONParser
from knowledge import schemas
from knowledge.bodies import chunk_body, documents_body, extraction_body, knowledge_body, source_body
from knowledge.models import Chunk, Source
from knowledge.selectors.sources import chunks_of, extractions_visible, sources_listed, sources_visible, with_counts
from knowledge.serializers import (
    DocumentSearchInput,
    ExtractionInput,
    ExtractionListInput,
    KnowledgeInput,
    KnowledgeParams,
    PageInput,
    SourceInput,
    SourceListInput,
)
from knowledge.services.extract import chat_model
from knowledge.services.extractions import extraction_create, extraction_delete
from knowledge.services.health import knowledge_health
from knowledge.services.ingest import source_delete, source_ingest, sources_embed, vectors_missing
from knowledge.services.search_documents import documents_search
from knowledge.services.search_knowledge import knowledge_search
from knowledge.tasks import request_extraction
from knowledge.types import DocumentRequest, Filters, KnowledgeRequest, SourceSpec
from knowledge.uploads import UploadParser, is_upload, most_bytes, upload_values
from search.api import GatewaySearchView
from tenants.limits import limit_searches
from tenants.models import Tenant
from tenants.plans import Plan
from tenants.types import Caller, caller_of
from tools_catalog.tasks import request_refresh

EMBED_AT_ONCE = 64
"""A document of more chunks than this is embedded by the worker, so that its sender need not wait."""


class DocumentParser(StrictJSONParser):
    def most_bytes(self) -> int:
        return most_bytes()


class KnowledgeSearchView(ApiView):
    only_reads = True

    @extend_schema(**schemas.SEARCH_KNOWLEDGE)
    def post(self, request: Request) -> HttpResponse:
        caller = caller_of(request)
        limit_searches(request, caller)
        values = _knowledge_input(request)
        result = knowledge_search(
            KnowledgeRequest(values["query"], values["limit"], values["type"], values["topics"], caller.tenant_id)
        )
        return json_response(knowledge_body(result))


def _knowledge_input(request: Request) -> dict[str, Any]:
    """A body, or parameters, or both: then the body wins."""
    params = validated(KnowledgeParams, request.query_params.dict())
    given = {name: value for name, value in params.items() if value is not None}
    body = {} if request.stream is None else json_body(request)
    return validated(KnowledgeInput, {**given, **body} if isinstance(body, dict) else body)


class SearchView(GatewaySearchView):
    """Two searches at one address: GET is the gateway's for tools, POST this one for documents."""

    only_reads = True

    @extend_schema(**schemas.SEARCH_DOCUMENTS)
    def post(self, request: Request) -> HttpResponse:
        caller = caller_of(request)
        plan = limit_searches(request, caller)
        body = {} if request.stream is None else json_body(request)  # nothing is required, not even a body
        values = validated(DocumentSearchInput, body)
        if "top_k" not in body:
            values["top_k"] = min(values["top_k"], plan.max_top_k)
        search = _document_request(values, caller)
        _hold_to_plan(search, plan)
        return json_response(documents_body(documents_search(search, plan)))


def _document_request(values: dict[str, Any], caller: Caller) -> DocumentRequest:
    fields = values.pop("metadata_fields")
    return DocumentRequest(
        **{
            **values,
            "query": (values["query"] or "").strip(),
            "fusion": values["fusion"] or "rrf",
            "filters": values["filters"] or Filters(),
            "metadata_fields": None if fields is None else tuple(fields),
            "tenant_id": caller.tenant_id,
        }
    )


def _hold_to_plan(search: DocumentRequest, plan: Plan) -> None:
    if search.top_k > plan.max_top_k:
        details = {"plan": plan.name, "max_top_k": plan.max_top_k}
        raise Forbidden(f"top_k: the plan {plan.name} allows at most {plan.max_top_k}.", details)
    filters = search.filters
    asked = [condition.field for condition in (*filters.must, *filters.should, *filters.must_not)]
    refused = [name for name in (*asked, *(search.metadata_fields or ())) if not plan.may_use(name)]
    if refused:
        details = {"plan": plan.name, "fields": sorted(set(refused))}
        raise Forbidden(f"{refused[0]}: the plan {plan.name} does not allow this field.", details)


class HealthView(ApiView):
    """Whether documents can be searched: database, model and index are asked for real."""

    authentication_classes = []

    @extend_schema(**schemas.HEALTH)
    def get(self, request: Request) -> HttpResponse:
        checks = knowledge_health()
        if set(checks.values()) != {"ok"}:
            raise NotReady("Not ready to search documents.", {"checks": checks})
        return json_response({"status": "ok", "checks": checks})


class SourcesView(ApiView):
    parser_classes = [DocumentParser, UploadParser]

    @extend_schema(**schemas.SOURCE_LIST)
    def get(self, request: Request) -> HttpResponse:
        values = validated(SourceListInput, request.query_params.dict())
        found = sources_listed(caller_of(request).tenant_id, source_type=values["type"], status=values["status"])
        return json_response([source_body(source) for source in _page(found, values)])

    @extend_schema(**schemas.SOURCE_CREATE)
    def post(self, request: Request) -> HttpResponse:
        values = upload_values(request) if is_upload(request) else validated(SourceInput, json_body(request))
        caller = caller_of(request)
        owner = caller.owner_of_new_rows()
        tenant = Tenant.objects.get(pk=owner) if owner else None
        spec = _source_spec(values)
        report = source_ingest(spec, tenant=tenant)
        source = with_counts(Source.objects.filter(path=spec.path, tenant=tenant)).first()
        if source is None:
            raise Conflict("Somebody deleted this document at the same moment.")
        body = {"source": source_body(source), "outcome": report.outcome, "indexed": _embed(source.pk)}
        return json_response(body, 201 if report.outcome == "created" else 200)


def _source_spec(values: dict[str, Any]) -> SourceSpec:
    content: bytes = values["content"]
    path = values["path"] or f"upload:{hashlib.sha256(content).hexdigest()}"
    lists = {name: tuple(values[name]) for name in ("authors", "topics")}
    return SourceSpec(**{**values, **lists, "path": path})


def _embed(source_id: int) -> bool:
    """At once where that is quick; else, or where the model does not answer, the worker does it."""
    missing = vectors_missing(source_id)
    if missing is not None and missing <= EMBED_AT_ONCE:
        try:
            if missing:
                sources_embed([source_id])
        except EmbeddingFailed:
            pass
        else:
            return True
    request_refresh()
    return False


class SourceView(ApiView):
    @extend_schema(**schemas.SOURCE_GET)
    def get(self, request: Request, source_id: int) -> HttpResponse:
        refuse_unknown(request.query_params, ())
        return json_response(source_body(_source(request, source_id)))

    @extend_schema(**schemas.SOURCE_DELETE)
    def delete(self, request: Request, source_id: int) -> HttpResponse:
        refuse_unknown(request.query_params, ())
        source = _source(request, source_id)
        _refuse_unless_own(request, source)
        return json_response({"id": source_id, "chunks": source_delete(source)})


class ChunksView(ApiView):
    @extend_schema(**schemas.CHUNK_LIST)
    def get(self, request: Request, source_id: int) -> HttpResponse:
        values = validated(PageInput, request.query_params.dict())
        found = chunks_of(_source(request, source_id))
        return json_response([chunk_body(chunk) for chunk in _page(found, values)])


class ExtractView(ApiView):
    @extend_schema(**schemas.SOURCE_EXTRACT)
    def post(self, request: Request, source_id: int) -> HttpResponse:
        refuse_unknown(request.query_params, ())
        source = _source(request, source_id)
        _refuse_unless_own(request, source)
        chat_model()  # says so at once where there is none
        if not request_extraction(source_id):
            raise NotReady("The broker is not reachable. Try again shortly.")
        return json_response({"id": source_id, "requested": True})


class ExtractionsView(ApiView):
    @extend_schema(**schemas.EXTRACTION_LIST)
    def get(self, request: Request) -> HttpResponse:
        values = validated(ExtractionListInput, request.query_params.dict())
        found = extractions_visible(caller_of(request).tenant_id)
        wanted = {"source_id": values["source_id"], "type": values["type"]}
        found = found.filter(**{name: value for name, value in wanted.items() if value})
        return json_response([extraction_body(extraction) for extraction in _page(found, values)])

    @extend_schema(**schemas.EXTRACTION_CREATE)
    def post(self, request: Request) -> HttpResponse:
        values = validated(ExtractionInput, json_body(request))
        visible = sources_visible(caller_of(request).tenant_id)
        chunk = Chunk.objects.filter(pk=values["chunk_id"], source__in=visible).select_related("source").first()
        if chunk is None:
            raise NotFound("There is no such chunk.")
        _refuse_unless_own(request, chunk.source)
        extraction, created = extraction_create(
            chunk, type=values["type"], content=values["content"], topics=values["topics"]
        )
        if created:
            _embed(chunk.source_id)
        return json_response(extraction_body(extraction), 201 if created else 200)


class ExtractionView(ApiView):
    @extend_schema(**schemas.EXTRACTION_DELETE)
    def delete(self, request: Request, extraction_id: int) -> HttpResponse:
        refuse_unknown(request.query_params, ())
        extraction = extractions_visible(caller_of(request).tenant_id).filter(pk=extraction_id).first()
        if extraction is None:
            raise NotFound("There is no such extraction.")
        _refuse_unless_own(request, extraction.source)
        extraction_delete(extraction)
        return json_response({"id": extraction_id})


def _source(request: Request, source_id: int) -> Source:
    source = with_counts(sources_visible(caller_of(request).tenant_id).filter(pk=source_id)).first()
    if source is None:
        raise NotFound("There is no such document.")
    return source


def _refuse_unless_own(request: Request, source: Source) -> None:
    caller_of(request).require_write(source.tenant_id, "This document")


def _page(found: Any, values: dict[str, Any]) -> Any:
    return found[values["offset"] : values["offset"] + values["limit"]]
