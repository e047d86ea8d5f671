"""The map of the catalogue: every served tool and every skill as a point."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
from django.conf import settings

from core import db, scope
from embeddings.types import Vectors
from skills.models import Skill
from skills.reports.projection import Points, project
from skills.reports.vectors import centroids
from skills.services.similar import space_live
from skills.visible import skills_seen
from tools_catalog.models import EmbeddingSpace

TIMEOUT = 20.0
DESCRIPTION = 140
NEAREST = 5
DIGITS = 4
KEPT = 16
"""Layouts in the cache: each tenant sees other tools, and so another map."""
LAYOUT = 1
"""Of the projection: to be raised whenever the same vectors would get other positions."""
# Positions depend on vectors alone: while this stays the same, they are taken from the file.
VERSION: LiteralString = """
    SELECT md5(coalesce(string_agg(tool_id || ':' || key, ',' ORDER BY tool_id), ''))
    FROM mcp_unified_search_seen
    WHERE space_id = %(space)s AND is_active AND (%(all)s OR tenant_id IS NULL OR tenant_id = %(tenant)s)
"""
VECTORS: LiteralString = """
    SELECT vector FROM mcp_unified_search_seen
    WHERE space_id = %(space)s AND is_active AND (%(all)s OR tenant_id IS NULL OR tenant_id = %(tenant)s)
    ORDER BY tool_id
"""
TOOLS: LiteralString = """
    SELECT t.id, t.name, s.name, left(t.description, %(length)s), v.primary_skill_id
    FROM mcp_unified_search_seen v
    JOIN tools_catalog_tool t ON t.id = v.tool_id JOIN tools_catalog_server s ON s.id = t.server_id
    WHERE v.space_id = %(space)s AND v.is_active AND (%(all)s OR v.tenant_id IS NULL OR v.tenant_id = %(tenant)s)
    ORDER BY v.tool_id
"""


@dataclass(frozen=True, slots=True)
class _Layout:
    key: str
    vectors: Vectors
    points: Points


_layout: _Layout | None = None


def catalog_map() -> dict[str, Any]:
    """Ready for JSON: skills as objects, tools as columns, since there may be ten thousand of them."""
    space = space_live()
    if space is None:
        return {"skills": [], "tools": {"id": [], "name": [], "server": [], "about": [], "skill": [], "x": [], "y": []}}
    layout = _layout_for(space)
    rows = db.fetch(TOOLS, {**_params(space), "length": DESCRIPTION}, timeout=TIMEOUT)
    if len(rows) != len(layout.points):  # a tool came or went between the two reads
        layout = _layout_for(space)
        rows = rows[: len(layout.points)]
    skills = list(skills_seen().filter(is_active=True).order_by("name", "id"))
    number = {skill.pk: i for i, skill in enumerate(skills)}
    primary = np.array([number.get(row[4], -1) for row in rows], dtype=np.intp)
    return {
        "skills": _skill_points(space, skills, primary, layout),
        "tools": {
            "id": [row[0] for row in rows],
            "name": [row[1] for row in rows],
            "server": [row[2] for row in rows],
            "about": [row[3] for row in rows],
            "skill": primary.tolist(),
            "x": _rounded(layout.points[: len(rows), 0]),
            "y": _rounded(layout.points[: len(rows), 1]),
        },
    }


def _skill_points(space: EmbeddingSpace, skills: list[Skill], primary: Any, layout: _Layout) -> list[dict[str, Any]]:
    """A skill lies in the middle of its tools; without any, beside the tools that are nearest to its text."""
    centres, found = centroids(space), []
    for i, skill in enumerate(skills):
        members, centre = np.flatnonzero(primary == i), centres.vector(skill.pk)
        if not len(members) and centre is not None:
            members = np.argsort(-(layout.vectors @ centre), kind="stable")[:NEAREST]
        x, y = np.median(layout.points[members], axis=0) if len(members) else (0.0, 0.0)
        count = int((primary == i).sum())
        found.append({"id": skill.pk, "name": skill.name, "x": _rounded(x), "y": _rounded(y), "tools": count})
    return found


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=np.float64), DIGITS).tolist()


def _params(space: EmbeddingSpace) -> dict[str, Any]:
    mine = scope.current()
    return {"space": space.pk, "tenant": mine.tenant_id, "all": mine.everything}


def _layout_for(space: EmbeddingSpace) -> _Layout:
    global _layout  # noqa: PLW0603 - one a process; two threads may both compute it, and get the same
    key = f"{LAYOUT}-{space.pk}-{db.fetch(VERSION, _params(space), timeout=TIMEOUT)[0][0]}"
    layout = _layout
    if layout is None or layout.key != key:
        rows = db.fetch(VECTORS, _params(space), timeout=TIMEOUT)
        vectors = np.array([row[0].to_numpy() for row in rows], dtype=np.float32).reshape(len(rows), space.dim)
        _layout = layout = _Layout(key, vectors, _points(key, vectors))
    return layout


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:  # another process was faster
        return 0.0


def _points(key: str, vectors: Vectors) -> Points:
    """From the file that any process of this machine left, or computed and left there."""
    folder = Path(settings.DATA_DIR) / "cache" / "map"
    path = folder / f"{key}.npy"
    try:
        points: Points = np.load(path, allow_pickle=False)
        if points.shape == (len(vectors), 2):
            return points
    except (OSError, ValueError, EOFError):
        pass  # not there, or not whole: computed again
    points = project(vectors)
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.npy"), key=_age)[KEPT - 1 :]:
        old.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as file:
        np.save(file, points)
    Path(name).rename(path)
    return points
