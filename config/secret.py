"""Secrets in files that their owner alone can read. Whoever looks finds all of one, or nothing."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def kept_secret(path: Path) -> str:
    """Made once. Of two processes that make one at once, the first counts. An empty file counts as none."""
    known = _read(path)
    if known:
        return known
    if known is None:
        with _written_aside(path, secrets.token_urlsafe(48)) as temporary:
            _name_unless_there(temporary, path)
    else:
        write_private(path, secrets.token_urlsafe(48))
    return _read(path) or ""


def write_private(path: Path, text: str) -> None:
    with _written_aside(path, text) as temporary:
        temporary.replace(path)


@contextmanager
def _written_aside(path: Path, text: str) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None


def _name_unless_there(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        pass  # another process made it meanwhile
    except OSError:  # a file system without links
        temporary.replace(path)
