"""General prose: docstrings of packages that training needs anyway, never of the library that is judged."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

from training.data import Served
from training.pairs import Row
from training.texts import Tool

PACKAGES = ("numpy", "torch.nn", "torch.optim", "torch.distributions")


def general_prose(most: int) -> list[str]:
    """Headings and bodies as separate texts."""
    return [text for section in sections(most // 2) for text in section]


def prose_rows(most: int) -> list[Row]:
    """Sections as if they were tools that their headings ask for, so general retrieval is trained too."""
    rows = []
    for place, (heading, body) in enumerate(sections(most)):
        served = Served(Tool(f"prose-{place}", "", f"prose {place}", body, ()), (heading,), "prose")
        rows.append(Row(served, -1, body, (body,)))
    return rows


@cache
def sections(most: int) -> list[tuple[str, str]]:
    """First line and rest of docstrings, evenly thinned to a fixed number."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        for path in sorted(Path(spec.origin).parent.rglob("*.py")):
            if "tests" not in path.parts:
                found |= dict(_docstrings(path))
    every = max(1, len(found) // max(1, most))
    return list(found.items())[::every][:most]


def _docstrings(path: Path) -> list[tuple[str, str]]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            heading, _, body = (ast.get_docstring(node) or "").partition("\n")
            if 3 <= len(heading.split()) <= 20 and len(body.split()) >= 15:
                found.append((heading, " ".join(body.split())[:800]))
    return found
