"""A skill's centroid and prototypes: pure functions on unit vectors."""

import numpy as np
import numpy.typing as npt

from embeddings.types import Vectors, unit

FEWEST = 96
MOST = 128
TOOLS_PER_PROTOTYPE = 2
ROUNDS = 12


def centroid(vectors: Vectors, weights: npt.NDArray[np.float32]) -> Vectors:
    """The confidence-weighted mean, normalised. Vectors that cancel out leave the heaviest one."""
    mean = (vectors * weights[:, None]).sum(axis=0)
    if not np.linalg.norm(mean) > 1e-6:
        mean = vectors[int(np.argmax(weights))]
    centre: Vectors = unit(mean[None, :].astype(np.float32))[0]
    return centre


def prototype_count(tools: int) -> int:
    return min(tools, max(FEWEST, min(MOST, tools // TOOLS_PER_PROTOTYPE)))


def prototypes(vectors: Vectors) -> Vectors:
    """Centres of sub-clusters, by spherical k-means from a farthest-first start: the same input, the same output."""
    count = prototype_count(len(vectors))
    if count == len(vectors):
        return vectors
    centres = _farthest_first(vectors, count)
    for _ in range(ROUNDS):
        nearest = (vectors @ centres.T).argmax(axis=1)
        moved = centres.copy()
        for index in range(count):
            members = vectors[nearest == index]
            if len(members):
                moved[index] = centroid(members, np.ones(len(members), dtype=np.float32))
        if np.allclose(moved, centres, atol=1e-5):
            break
        centres = moved
    return centres


def _farthest_first(vectors: Vectors, count: int) -> Vectors:
    chosen = [int((vectors @ vectors.mean(axis=0)).argmax())]
    closest = vectors @ vectors[chosen[0]]
    while len(chosen) < count:
        chosen.append(int(closest.argmin()))
        closest = np.maximum(closest, vectors @ vectors[chosen[-1]])
    return vectors[chosen].copy()
