"""Finds the files to take in: folders with all below them, globs, single files; each file once."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from knowledge.readers import format_of


@dataclass(slots=True)
class Found:
    files: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    """Those that were named and looked through: what was in them and is gone can be told."""
    missing: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    """Named by themselves, and of no format that can be read."""


def find_files(names: Iterable[str]) -> Found:
    found = Found()
    seen: set[Path] = set()
    for name in names:
        paths = [Path(name)] if Path(name).exists() else _globbed(name)
        if not paths:
            found.missing.append(name)
        for path in paths:
            if path.is_dir():
                found.folders.append(plain(path))
                _add(found, seen, _walk(path))
            elif format_of(path.name) is None or not path.is_file():
                found.unsupported.append(str(path))
            else:
                _add(found, seen, [path])
    return found


def plain(path: Path) -> Path:
    """Absolute, without `..`, links as they are written."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib has no such thing


def _globbed(pattern: str) -> list[Path]:
    """Folders, and files that can be read: nobody means the others by a `*`."""
    paths = [Path(path) for path in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207 - absolute ones too
    return [path for path in paths if path.is_dir() or (path.is_file() and format_of(path.name) is not None)]


def _add(found: Found, seen: set[Path], paths: Iterable[Path]) -> None:
    """Under whichever of its names a file came first."""
    for path in paths:
        real = path.resolve()
        if real not in seen:
            seen.add(real)
            found.files.append(plain(path))


def _walk(folder: Path) -> Iterator[Path]:
    """In the order of names. Hidden ones are left out; links are followed, but no folder is entered twice."""
    entered: set[Path] = set()
    for base, folders, files in os.walk(folder, followlinks=True):
        real = Path(base).resolve()
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(base, name)
            if not name.startswith(".") and format_of(name) is not None and (path.is_file() or path.is_symlink()):
                yield path
