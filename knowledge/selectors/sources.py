"""Documents, passages and extractions as the API lists them: what is shared, and what is the caller's."""

from django.db.models import Count, Q, QuerySet

from knowledge.models import Chunk, Extraction, Source


def sources_visible(tenant_id: int | None) -> QuerySet[Source]:
    return (
        Source.objects.filter(Q(tenant=None) | Q(tenant=tenant_id)) if tenant_id else Source.objects.filter(tenant=None)
    )


def sources_listed(tenant_id: int | None, *, source_type: str, status: str | None) -> QuerySet[Source]:
    found = sources_visible(tenant_id)
    if source_type:
        found = found.filter(type=source_type)
    if status:
        found = found.filter(status=status)
    return with_counts(found).order_by("title", "id")


def with_counts(sources: QuerySet[Source]) -> QuerySet[Source]:
    return sources.annotate(
        chunk_count=Count("chunks", distinct=True), extraction_count=Count("extractions", distinct=True)
    )


def chunks_of(source: Source) -> QuerySet[Chunk]:
    return source.chunks.defer("terms").order_by("ordinal")


def extractions_visible(tenant_id: int | None) -> QuerySet[Extraction]:
    return (
        Extraction.objects.filter(source__in=sources_visible(tenant_id))
        .select_related("source")
        .defer("terms")
        .order_by("id")
    )
