"""How well a tool suits each skill, from vectors alone. Pure functions; docs/skills.md says how they were measured."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embeddings.types import Vectors
from skills.classifiers.types import LEAST_CONFIDENCE, MOST_SKILLS, SkillCard

Scores = npt.NDArray[np.float64]

BEST = 3
"""Of many keywords or examples, the mean of this many best ones counts: one alone is often chance."""
SERVER_WEIGHT = 0.6
"""What a server is about speaks for its tools, above all for those that say little about themselves."""
TOOLS_WEIGHT = 0.15
"""The same for the tools that are in a skill already."""
FIT = 0.165
STEEPNESS = 15.0
"""A tool whose best skill stands out from the mean of the others by FIT suits it with a probability of one half."""
LOWEST = 0.25
"""A best score below this suits nothing, however far behind the others are: there may be few of them."""
CONTESTED = 0.03
"""Two skills nearer to each other than this are hard to tell apart."""
SECOND = 0.06
"""A skill that trails the best by no more than this is assigned too."""


@dataclass(frozen=True, slots=True)
class SkillWords:
    """The texts that a skill is compared by."""

    whole: str
    short: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    phrases: tuple[str, ...]

    def texts(self) -> list[str]:
        return [self.whole, self.short, *self.keywords, *self.examples, *self.phrases]


def words_of(skill: SkillCard) -> SkillWords:
    keywords = ", ".join(skill.keywords)
    parts = re.split(r"[;:.]\s|, and |, ", skill.description)
    return SkillWords(
        whole=f"{skill.name}. {skill.description} {keywords}. {'. '.join(skill.examples)}",
        short=f"{skill.name}. {keywords}",
        keywords=skill.keywords,
        examples=tuple(example.replace("_", " ") for example in skill.examples),
        phrases=tuple(part.strip(" .") for part in parts if len(part.split()) > 1),
    )


@dataclass(frozen=True, slots=True)
class SkillVectors:
    """The same as vectors; a group that is empty has no rows."""

    groups: tuple[Vectors, ...]
    prototypes: Vectors | None


def text_scores(tools: Vectors, skills: list[SkillVectors]) -> Scores:
    """One row a tool, one column a skill: the mean over whole text, short text, keywords, examples and phrases."""
    columns = []
    for skill in skills:
        parts = [_best(tools @ group.T) for group in skill.groups if len(group)]
        columns.append(np.mean(parts, axis=0))
    return np.array(columns, dtype=np.float64).T


def tool_scores(tool: Vectors, skills: list[SkillVectors], own: Scores, server: Scores) -> Scores:
    """One number a skill. `own` and `server`: the text scores of the tool, and their mean over its server."""
    among = np.array(
        [
            _best(tool[None, :] @ skill.prototypes.T)[0] if skill.prototypes is not None else own[i]
            for i, skill in enumerate(skills)
        ]
    )
    return own + SERVER_WEIGHT * server + TOOLS_WEIGHT * among


def _best(similarities: Vectors) -> Scores:
    count = min(BEST, similarities.shape[1])
    best: Scores = np.sort(similarities, axis=1)[:, ::-1][:, :count].mean(axis=1, dtype=np.float64)
    return best


def confidences(scores: Scores) -> list[tuple[int, float]]:
    """The skills that fit, as (column, confidence), best first; empty when none reaches a half.

    The confidence of the best is the probability that anything fits, and lower when a second is close. Those close
    behind it follow with less.
    """
    order = np.argsort(-scores, kind="stable")
    best = float(scores[order[0]])
    others = float(scores[order[1:]].mean()) if len(scores) > 1 else 0.0
    fit = 1 / (1 + np.exp(-STEEPNESS * (best - others - FIT)))
    if fit < LEAST_CONFIDENCE or best < LOWEST:
        return []
    margin = best - float(scores[order[1]]) if len(scores) > 1 else 1.0
    sure = LEAST_CONFIDENCE + (fit - LEAST_CONFIDENCE) * (1 - 0.5 * np.exp(-margin / CONTESTED))
    found = []
    for column in order[:MOST_SKILLS]:
        behind = best - float(scores[column])
        if behind <= SECOND:
            found.append((int(column), max(LEAST_CONFIDENCE, round(float(sure) - 2 * behind, 4))))
    return found
