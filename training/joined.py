"""Requests with several needs, made by joining single ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LINKS = (" and ", ", then ", "; ", ". Also, ", ". After that, ", ", and also ", ". ")


def join(requests: Sequence[str], draw: np.random.Generator) -> str:
    """One sentence or a few: the order is drawn, so that no need is always the first."""
    order = draw.permutation(len(requests))
    text = str(requests[order[0]]).strip().rstrip(".;,")
    for place in order[1:]:
        link = LINKS[int(draw.integers(len(LINKS)))]
        following = requests[place].strip().rstrip(".;,")
        if link == ". ":
            text += link + following[:1].upper() + following[1:]
        elif following[:2].strip() == "I" or following[:2].isupper():
            text += link + following
        else:
            text += link + following[:1].lower() + following[1:]
    return text


def draw_partners(count: int, share: float, draw: np.random.Generator) -> list[list[int]]:
    """For each of the requests in a batch the others it is joined with: mostly none, else one or two."""
    partners: list[list[int]] = [[] for _ in range(count)]
    if not share or count < 3:
        return partners
    for place in np.flatnonzero(draw.random(count) < share):
        others = draw.choice(count, size=1 + int(draw.random() < 0.3), replace=False)
        partners[place] = [int(other) for other in others if other != place]
    return partners
