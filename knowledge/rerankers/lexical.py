"""Half the score it had, half the share of the query's words that the passage holds, rare words counting more."""

import math

from knowledge.rerankers import Candidate
from knowledge.snippets import stems

WEIGHT = 0.5


def rerank(query: str, candidates: list[Candidate]) -> list[float]:
    wanted = stems(query)
    held = [stems(candidate.text) & wanted for candidate in candidates]
    weights = {word: _rarity(sum(word in words for words in held), len(held)) for word in wanted}
    total = sum(weights.values()) or 1.0
    coverage = [sum(weights[word] for word in words) / total for words in held]
    return [
        (1 - WEIGHT) * candidate.score + WEIGHT * covered
        for candidate, covered in zip(candidates, coverage, strict=True)
    ]


def _rarity(count: int, of: int) -> float:
    return math.log(1 + (of - count + 0.5) / (count + 0.5))
