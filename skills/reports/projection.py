"""Vectors in two dimensions, so that what is similar lies together: pure numpy, the same input gives the same map.

Principal components give the start and the large shape. Then neighbours attract each other and chance pairs repel,
as in UMAP, for a fixed number of steps with a fixed sequence of pairs.
"""

import numpy as np
import numpy.typing as npt

from embeddings.types import Vectors

Points = npt.NDArray[np.float32]

NEIGHBOURS = 12
STEPS = 160
REPELLED = 6
BLOCK = 1024
SPAN = 10.0
COMPONENTS = 48


def project(vectors: Vectors) -> Points:
    """One point a vector, within -1..1."""
    if len(vectors) < 3:
        return np.array([[0.6 * i, 0.0] for i in range(len(vectors))], dtype=np.float32).reshape(len(vectors), 2)
    reduced = principal_components(vectors, min(COMPONENTS, *vectors.shape))
    points = reduced[:, :2] if reduced.shape[1] > 1 else np.column_stack([reduced[:, 0], np.zeros(len(reduced))])
    points = _scaled(points.astype(np.float32)) * SPAN
    wanted = int(np.clip(len(vectors) ** 0.5 / 2, 4, NEIGHBOURS))
    return _scaled(_refined(points, neighbours(reduced, min(wanted, len(vectors) - 1))))


def principal_components(vectors: Vectors, count: int) -> Points:
    """By the covariance matrix: its size is the dimension's, however many vectors there are."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = axes[:, ::-1][:, :count]
    # An axis may point either way: the largest part of each is made positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    result: Points = (centred @ axes).astype(np.float32)
    return result


def neighbours(points: Points, count: int) -> npt.NDArray[np.intp]:
    """The nearest others of each point, in blocks, so that ten thousand points need no square matrix."""
    lengths = (points**2).sum(axis=1)
    found = np.empty((len(points), count), dtype=np.intp)
    for start in range(0, len(points), BLOCK):
        block = slice(start, min(start + BLOCK, len(points)))
        distances = lengths[None, :] - 2 * points[block] @ points.T
        distances[np.arange(distances.shape[0]), np.arange(block.start, block.stop)] = np.inf
        found[block] = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return found


def _refined(points: Points, near: npt.NDArray[np.intp]) -> Points:
    count, width = near.shape
    heads, tails = np.repeat(np.arange(count), width), near.ravel()
    chance = np.random.default_rng(0)
    for step in range(STEPS):
        rate = 1.0 - step / STEPS
        pulled = points[tails] - points[heads]
        squared = (pulled**2).sum(axis=1, keepdims=True)
        pull = np.clip(pulled * (1.2 / (1 + squared)), -4, 4) / width * 2
        move = _summed(heads, pull, count) - _summed(tails, pull, count)
        for others in chance.integers(0, count, size=(REPELLED, count)):
            pushed = points - points[others]
            squared = (pushed**2).sum(axis=1, keepdims=True)
            move += np.clip(pushed * (1.6 / ((0.01 + squared) * (1 + squared))), -4, 4) / REPELLED
        points = (points + rate * move).astype(np.float32)
    return points


def _summed(targets: npt.NDArray[np.intp], moves: Points, count: int) -> Points:
    columns = [np.bincount(targets, weights=moves[:, axis], minlength=count) for axis in (0, 1)]
    return np.stack(columns, axis=1).astype(np.float32)


def _scaled(points: Points) -> Points:
    """Within -1..1 on each axis but for the farthest few, which are put at the edge."""
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    reach = np.where(high > low, (high - low) / 2, 1.0)
    result: Points = np.clip((points - (low + high) / 2) / reach, -1, 1).astype(np.float32)
    return result
