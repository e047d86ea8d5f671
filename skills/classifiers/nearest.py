"""The classifier that needs no network: similarity of a tool to the words of each skill, its server and its tools."""

import hashlib
from collections.abc import Sequence

import numpy as np
import structlog

from core.errors import NotReady
from embeddings.types import Vectors
from skills.classifiers.similarity import (
    Scores,
    SkillVectors,
    SkillWords,
    confidences,
    text_scores,
    tool_scores,
    words_of,
)
from skills.classifiers.types import Classification, SkillCard, ToolCard
from skills.models import SkillTextVector
from skills.types import SkillChoice, SkillIdea
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.spaces import embedder_for
from tools_catalog.text import part_key, split_name

log = structlog.get_logger("toolscript.skills")
EMBED_AT_ONCE = 32
SERVERS_KEPT = 1000


class NearestClassifier:
    name = "nearest"
    needs_vectors = True

    def __init__(self, space: EmbeddingSpace) -> None:
        self.model = space.model
        self._space = space
        self._texts: dict[str, Vectors] = {}
        self._groups: dict[SkillWords, tuple[Vectors, ...]] = {}
        self._servers: dict[bytes, Scores] = {}
        self._words: list[SkillWords] = []

    def classify(self, tool: ToolCard, skills: Sequence[SkillCard]) -> Classification:
        if tool.vector is None:
            raise NotReady("The tool has no vector yet.")
        if not skills:
            return Classification(idea=idea_for(tool))
        vectors = self._vectors(skills)
        own = text_scores(tool.vector[None, :], vectors)[0]
        scores = tool_scores(tool.vector, vectors, own, self._server(tool, vectors, own))
        choices = tuple(
            SkillChoice(skills[column].id, confidence, reasoning(skills[column], confidence))
            for column, confidence in confidences(scores)
        )
        return Classification(choices) if choices else Classification(idea=idea_for(tool))

    def _server(self, tool: ToolCard, vectors: list[SkillVectors], own: Scores) -> Scores:
        if tool.siblings is None or len(tool.siblings) < 2:
            return own
        # By what they are: two tenants may each have a server of this name, and its tools change.
        key = hashlib.blake2b(tool.siblings.tobytes(), digest_size=16).digest()
        if key not in self._servers:
            if len(self._servers) >= SERVERS_KEPT:
                self._servers.clear()
            self._servers[key] = text_scores(tool.siblings, vectors).mean(axis=0)
        return self._servers[key]

    def _vectors(self, skills: Sequence[SkillCard]) -> list[SkillVectors]:
        words = [words_of(skill) for skill in skills]
        if words != self._words:
            self._words, self._servers = words, {}
        new = [entry for entry in words if entry not in self._groups]
        self._embed([text for entry in new for text in entry.texts()])
        for entry in new:
            groups = [(entry.whole,), (entry.short,), entry.keywords, entry.examples, entry.phrases]
            self._groups[entry] = tuple(self._stack(group) for group in groups)
        return [SkillVectors(self._groups[entry], skill.prototypes) for skill, entry in zip(skills, words, strict=True)]

    def _stack(self, texts: Sequence[str]) -> Vectors:
        rows = [self._texts[part_key(text)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self._space.dim)

    def _embed(self, texts: list[str]) -> None:
        """What no process has embedded yet is embedded now, and kept for all of them."""
        wanted = {key: text for text in texts if (key := part_key(text)) not in self._texts}
        rows = SkillTextVector.objects.filter(space=self._space, key__in=wanted).values_list("key", "vector")
        self._texts |= {key: np.asarray(vector, dtype=np.float32) for key, vector in rows}
        missing = [key for key in wanted if key not in self._texts]
        embedder = embedder_for(self._space)
        for start in range(0, len(missing), EMBED_AT_ONCE):
            keys = missing[start : start + EMBED_AT_ONCE]
            # Whole texts read like documents, keywords and examples like requests: one kind keeps them comparable.
            vectors = embedder.embed_batch([wanted[key] for key in keys], kind="query")
            self._texts |= dict(zip(keys, vectors, strict=True))
            SkillTextVector.objects.bulk_create(
                [SkillTextVector(space=self._space, key=key, vector=self._texts[key]) for key in keys],
                ignore_conflicts=True,
            )


def reasoning(skill: SkillCard, confidence: float) -> str:
    how = "clearly" if confidence >= 0.8 else "somewhat" if confidence >= 0.65 else "barely"
    return f"Its text, and what its server does, are {how} closest to {skill.name!r}."


def idea_for(tool: ToolCard) -> SkillIdea:
    """Named after the server: its tools that nothing fits mostly belong together. `propose` finds finer groups."""
    name = split_name(tool.server.rpartition("/")[2]).strip().capitalize() or split_name(tool.name).capitalize()
    return SkillIdea(
        name=f"{name} tools"[:255],
        description=f"What the tools of {tool.server} do, such as {split_name(tool.name)}.",
        reasoning="No skill is near enough to this tool.",
    )


_kept: dict[int, NearestClassifier] = {}
"""One a space and process: it knows the vectors of the skills' words."""


def from_settings() -> NearestClassifier:
    space = EmbeddingSpace.objects.filter(is_live=True).first()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    if space.pk not in _kept:
        _kept[space.pk] = NearestClassifier(space)
    return _kept[space.pk]
