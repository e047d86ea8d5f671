"""General documents that any machine has: docstrings of the standard library, read without importing it."""

from __future__ import annotations

import ast
import hashlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from training.data import RetrievalSet

_SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}
_NODES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def documents_set(part: str, root: Path | None = None) -> RetrievalSet:
    """Query: a docstring's first line; document: the rest. `part`: `validation` or `test` half."""
    sections = [
        (heading, body)
        for module, heading, body in _sections(root or Path(sysconfig.get_path("stdlib")))
        if _part(module) == part
    ]
    unique: dict[str, str] = {}
    bodies: set[str] = set()
    for heading, body in sections:
        if heading.lower() not in unique and body not in bodies:
            unique[heading.lower()] = body
            bodies.add(body)
    return RetrievalSet(
        "documents",
        documents=tuple(unique.values()),
        queries=tuple(unique),
        golds=tuple(frozenset({place}) for place in range(len(unique))),
    )


def _sections(root: Path) -> Iterator[tuple[str, str, str]]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if _SKIPPED.intersection(parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # lib2to3-style fixtures that are no valid Python 3
            continue
        for node in ast.walk(tree):
            if isinstance(node, _NODES):
                heading, _, body = (ast.get_docstring(node) or "").partition("\n")
                if 3 <= len(heading.split()) <= 20 and len(body.split()) >= 15:
                    yield parts[0].removesuffix(".py"), heading, " ".join(body.split())


def _part(module: str) -> str:
    return "validation" if hashlib.sha256(module.encode()).digest()[0] % 2 else "test"
