"""BM25 over the catalogue, in memory: postings in numpy, in one large block and a small one for what changed since.

An index never changes. `updated` makes another one that shares what stayed the same, so that searches go on with
the old one until the new one takes its place.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from search.lexical.documents import Document
from search.lexical.words import squash

K1 = 1.2
B = 0.6
SMALL = 1000
"""Up to so many changed tools, and a tenth of the catalogue, are kept apart; more are merged into one block."""

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Tools, and for each word the tools that hold it with its weight there, one word after the other."""

    ids: Ints
    """in ascending order"""
    tenants: Ints
    types: npt.NDArray[np.str_]
    lengths: Floats
    starts: npt.NDArray[np.int64]
    """where each word's postings begin; one more than there are words"""
    docs: npt.NDArray[np.int32]
    weights: Floats

    def postings(self, term: int) -> slice:
        if term + 1 >= len(self.starts):
            return slice(0, 0)
        return slice(int(self.starts[term]), int(self.starts[term + 1]))

    def count(self, term: int) -> int:
        found = self.postings(term)
        return int(found.stop - found.start)

    def add_scores(self, term: int, weight: float, average: float, scores: Floats) -> None:
        found = self.postings(term)
        docs, tf = self.docs[found], self.weights[found]
        scores[docs] += weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * self.lengths[docs] / average))


def block(documents: Sequence[Document], vocabulary: dict[str, int]) -> Block:
    """New words are added to the vocabulary, which only ever grows."""
    documents = sorted(documents, key=lambda d: d.tool_id)
    sizes = np.fromiter((len(d.terms) for d in documents), dtype=np.int64, count=len(documents))
    total = int(sizes.sum())
    terms = np.fromiter(
        (vocabulary.setdefault(term, len(vocabulary)) for d in documents for term in d.terms),
        dtype=np.int64,
        count=total,
    )
    weights = np.fromiter((w for d in documents for w in d.terms.values()), dtype=np.float32, count=total)
    docs = np.repeat(np.arange(len(documents), dtype=np.int32), sizes)
    head = _Head(
        np.array([d.tool_id for d in documents], dtype=np.int64),
        np.array([d.tenant_id for d in documents], dtype=np.int64),
        np.array([d.type for d in documents], dtype="U8"),
        np.array([sum(d.terms.values()) for d in documents], dtype=np.float32),
    )
    return _sorted(head, terms, docs, weights, len(vocabulary))


@dataclass(frozen=True, slots=True)
class _Head:
    ids: Ints
    tenants: Ints
    types: npt.NDArray[np.str_]
    lengths: Floats


def _sorted(head: _Head, terms: Any, docs: Any, weights: Any, vocabulary: int) -> Block:
    order = np.argsort(terms, kind="stable")
    starts = np.zeros(vocabulary + 1, dtype=np.int64)
    np.cumsum(np.bincount(terms, minlength=vocabulary), out=starts[1:])
    return Block(head.ids, head.tenants, head.types, head.lengths, starts, docs[order], weights[order])


def merged(large: Block, alive: npt.NDArray[np.bool_], small: Block, vocabulary: int) -> Block:
    """One block of what is alive in the large one and all of the small one."""
    ids = np.concatenate([large.ids[alive], small.ids])
    order = np.argsort(ids, kind="stable")
    place = np.empty(len(ids), dtype=np.int32)
    place[order] = np.arange(len(ids), dtype=np.int32)
    renumber = np.full(len(large.ids), -1, dtype=np.int32)
    renumber[alive] = place[: int(alive.sum())]
    kept = alive[large.docs]
    head = _Head(
        ids[order],
        np.concatenate([large.tenants[alive], small.tenants])[order],
        np.concatenate([large.types[alive], small.types])[order],
        np.concatenate([large.lengths[alive], small.lengths])[order],
    )
    terms = np.concatenate([_terms(large)[kept], _terms(small)])
    docs = np.concatenate([renumber[large.docs[kept]], place[int(alive.sum()) :][small.docs]])
    return _sorted(head, terms, docs, np.concatenate([large.weights[kept], small.weights]), vocabulary)


def _terms(one: Block) -> Ints:
    return np.repeat(np.arange(len(one.starts) - 1, dtype=np.int64), np.diff(one.starts))


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a tool beside its postings."""

    key: str
    tenant_id: int
    type: str
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Index:
    entries: dict[int, Entry]
    vocabulary: dict[str, int]
    surface: dict[str, None]
    """Every word as written; grows until the next full build, so look up how often it occurs."""
    large: Block
    alive: npt.NDArray[np.bool_]
    """of the large block: what was not changed or removed since"""
    small: Block
    fresh: dict[int, Document]
    """what the small block is made of"""
    names: dict[str, tuple[int, ...]]
    """By name without anything but letters and digits, alone and with the server. One that has none stands as it is."""
    cache: dict[str, Any] = field(default_factory=dict)
    """Lists derived on first use."""

    @property
    def average(self) -> float:
        total = float(self.large.lengths.sum()) + float(self.small.lengths.sum())
        return total / max(1, len(self.large.ids) + len(self.small.ids)) or 1.0

    def count(self, term: str) -> int:
        """How many tools hold the word."""
        number = self.vocabulary.get(term)
        if number is None:
            return 0
        found = self.large.docs[self.large.postings(number)]
        return int(np.count_nonzero(self.alive[found])) + self.small.count(number)

    def idf(self, term: str) -> float:
        df, total = self.count(term), max(1, len(self.entries))
        return float(np.log1p(max(0.0, total - df + 0.5) / (df + 0.5)))

    def scores(self, terms: dict[str, float]) -> Iterator[tuple[Block, Floats]]:
        """BM25 of every tool for these words; 0 for tools that are gone."""
        average = self.average
        for one, alive in ((self.large, self.alive), (self.small, None)):
            scores = np.zeros(len(one.ids), dtype=np.float32)
            for term, weight in terms.items():
                number = self.vocabulary.get(term)
                if number is not None:
                    one.add_scores(number, weight * self.idf(term), average, scores)
            if alive is not None:
                scores[~alive] = 0
            yield one, scores


def build(documents: Iterable[Document]) -> Index:
    everything = list(documents)
    vocabulary: dict[str, int] = {}
    large = block(everything, vocabulary)
    entries = {d.tool_id: _entry(d) for d in everything}
    return Index(
        entries=entries,
        vocabulary=vocabulary,
        surface=dict.fromkeys(word for d in everything for word in d.surface),
        large=large,
        alive=np.ones(len(everything), dtype=np.bool_),
        small=block([], vocabulary),
        fresh={},
        names=_names(entries),
    )


def updated(index: Index, changed: Sequence[Document], removed: Iterable[int]) -> Index:
    """The index after these tools changed (or came) and those went."""
    if not index.entries:
        return build(changed)
    touched = {*removed, *(d.tool_id for d in changed)}
    fresh = {i: d for i, d in index.fresh.items() if i not in touched} | {d.tool_id: d for d in changed}
    entries, names = dict(index.entries), dict(index.names)
    for tool_id in touched & entries.keys():
        _unname(names, tool_id, entries.pop(tool_id))
    for d in changed:
        entries[d.tool_id] = _entry(d)
        _name(names, d.tool_id, entries[d.tool_id])
    alive = index.alive & ~np.isin(index.large.ids, np.fromiter(touched, dtype=np.int64, count=len(touched)))
    for d in changed:
        index.surface.update(dict.fromkeys(d.surface))
    small, large = block(list(fresh.values()), index.vocabulary), index.large
    if len(fresh) > max(SMALL, len(entries) // 10):
        large = merged(large, alive, small, len(index.vocabulary))
        alive, fresh, small = np.ones(len(large.ids), dtype=np.bool_), {}, block([], index.vocabulary)
    return Index(entries, index.vocabulary, index.surface, large, alive, small, fresh, names)


def _entry(d: Document) -> Entry:
    return Entry(d.key, d.tenant_id, d.type, d.names)


def _names(entries: dict[int, Entry]) -> dict[str, tuple[int, ...]]:
    names: dict[str, tuple[int, ...]] = {}
    for tool_id, entry in entries.items():
        _name(names, tool_id, entry)
    return names


def _spellings(entry: Entry) -> set[str]:
    return {squash(name) for name in entry.names} if squash(entry.names[0]) else set(entry.names)


def _name(names: dict[str, tuple[int, ...]], tool_id: int, entry: Entry) -> None:
    for name in _spellings(entry):
        names[name] = (*names.get(name, ()), tool_id)


def _unname(names: dict[str, tuple[int, ...]], tool_id: int, entry: Entry) -> None:
    for name in _spellings(entry):
        names[name] = tuple(other for other in names[name] if other != tool_id)
        if not names[name]:
            del names[name]
