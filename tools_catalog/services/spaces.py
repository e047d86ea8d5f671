"""Embedding spaces: which model is live, and how another takes its place."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.errors import EmbeddingFailed
from embeddings import registry
from embeddings.types import Embedder
from tools_catalog.models import EmbeddingSpace
from tools_catalog.text import TEXT_VERSION
from tools_catalog.types import Space

SHIPPED_MODEL = "toolscript-minilm"


def fingerprint(embedder: Embedder) -> str:
    return f"{embedder.fingerprint}:{TEXT_VERSION}"


def model_wanted() -> str:
    """The configured model; without one, whichever is live; in a new database, the one that ships."""
    if settings.TOOLSCRIPT_EMBEDDING_MODEL:
        return str(settings.TOOLSCRIPT_EMBEDDING_MODEL)
    live = EmbeddingSpace.objects.filter(is_live=True).first()
    return live.model if live else SHIPPED_MODEL


def space_for(model: str) -> EmbeddingSpace:
    """The space of this model as it is now; made when it is new."""
    embedder = registry.load(model, settings.EMBEDDING_OPTIONS)
    space, _ = EmbeddingSpace.objects.get_or_create(
        model=model, fingerprint=fingerprint(embedder), defaults={"dim": embedder.dim}
    )
    return space


def embedder_for(space: EmbeddingSpace | Space) -> Embedder:
    embedder = registry.load(space.model, settings.EMBEDDING_OPTIONS)
    if fingerprint(embedder) != space.fingerprint:
        raise EmbeddingFailed(
            f"The model {space.model} on this machine is not the one that the index was built with. "
            "Run `manage.py reembed`."
        )
    return embedder


def index_usable() -> bool:
    """Whether there is a live index, and the model it was built with is still on this machine."""
    live = EmbeddingSpace.objects.filter(is_live=True).first()
    try:
        return live is not None and embedder_for(live) is not None
    except EmbeddingFailed:
        return False


@transaction.atomic
def space_go_live(space: EmbeddingSpace) -> None:
    EmbeddingSpace.objects.select_for_update().filter(is_live=True).exclude(pk=space.pk).update(is_live=False)
    EmbeddingSpace.objects.filter(pk=space.pk).update(is_live=True, live_at=timezone.now())


def spaces_drop_others(space: EmbeddingSpace) -> int:
    """Throws the vectors of all other models away."""
    count, _ = EmbeddingSpace.objects.exclude(pk=space.pk).filter(is_live=False).delete()
    return count
