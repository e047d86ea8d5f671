"""Groups of tools that are alike, and the words that tell a group from the rest. Pure, and always the same."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from embeddings.types import Vectors, unit
from tools_catalog.text import split_name

SMALLEST = 3
ALIKE = 0.55
"""Average linkage stops below this similarity."""
_STOP = """
    a about above after all also an and any are as at be been before being below between both but by can could did
    do does doing down during each either else few for from further get gets given gives had has have having he her
    here him his how i if in into is it its itself just let like list lists made make makes many may me mode more
    most must my name names need new no nor not now of off on once one only onto optional or other our out over own
    param parameter parameters per please provide provided put read returns return required same see set sets should
    so some string such take than that the their them then there these they this those through to too tool tools two
    type under until up update updates use used user users uses using value values very via want was way we were
    what when where which while who why will with within without would you your id ids create creates delete deletes
    add adds remove removes based example examples default true false null none specific specified existing current
    available including include e g etc information details data result results object array number json mcp server
    api input output query
"""
STOP = set(_STOP.split())


def groups(vectors: Vectors) -> list[list[int]]:
    """Average-linkage clusters of at least three, largest first. Each row is in one of them, or in none."""
    count = len(vectors)
    if count < SMALLEST:
        return []
    members: dict[int, list[int]] = {i: [i] for i in range(count)}
    sums = vectors.astype(np.float64).copy()
    sizes = np.ones(count)
    similarity = sums @ sums.T
    np.fill_diagonal(similarity, -np.inf)
    while True:
        best = int(np.argmax(similarity))
        left, right = sorted(divmod(best, count))
        if similarity[left, right] < ALIKE:
            break
        sums[left] += sums[right]
        sizes[left] += sizes[right]
        members[left] += members.pop(right)
        row = (sums @ sums[left]) / (sizes * sizes[left])
        dead = ~np.isin(np.arange(count), list(members))
        row[dead | (np.arange(count) == left)] = -np.inf
        similarity[left, :] = similarity[:, left] = row
        similarity[right, :] = similarity[:, right] = -np.inf
    found = [sorted(group) for group in members.values() if len(group) >= SMALLEST]
    return sorted(found, key=lambda group: (-len(group), group[0]))


def words_of(name: str, description: str) -> set[str]:
    text = f"{split_name(name)} {description[:400]}".casefold()
    words = re.findall(r"[^\W\d_]{3,}", text)
    return {_singular(word) for word in words if word not in STOP} - STOP


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


def distinctive(groups_words: Sequence[set[str]], all_words: Sequence[set[str]], most: int = 8) -> list[str]:
    """Words common in the group and rare outside it, best first."""
    inside = Counter(word for words in groups_words for word in words)
    outside = Counter(word for words in all_words for word in words)
    size, total = len(groups_words), len(all_words)

    def weight(word: str) -> float:
        share = inside[word] / size
        return share * math.log((total + 1) / (outside[word] + 0.5))

    telling = [word for word in inside if inside[word] >= max(2, size // 4)]
    return sorted(telling, key=lambda word: (-weight(word), word))[:most]


def central(vectors: Vectors) -> Sequence[int]:
    """Rows by nearness to the middle of them all."""
    middle = unit(vectors.mean(axis=0, keepdims=True))[0]
    order: list[int] = np.argsort(-(vectors @ middle), kind="stable").tolist()
    return order
