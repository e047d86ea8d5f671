"""Vectors of tools on disk, one file for each set of servers, so that a database built anew embeds nothing again.

The database holds the vectors that searches use. This is a copy of them that outlives it: same text and same model
give the same vector. A file that cannot be used is ignored with a warning and written again after the next build.
"""

import base64
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from embeddings.types import Vectors

FORMAT = 1
MAX_FILES = 8
MAX_TOOLS = 50_000
"""About 100 MB at 384 dimensions. A larger set of servers is not cached."""
STALE_TEMPORARY = 3600

log = structlog.get_logger("toolscript.embeddings")

Known = dict[str, Vectors]
"""Hash of what was embedded -> its vector."""


def config_hash(servers: Iterable[str]) -> str:
    """Of the sorted list of servers: another set of servers has another file."""
    return hashlib.sha256(json.dumps(sorted(set(servers)), ensure_ascii=False).encode()).hexdigest()


class VectorCache:
    """The vectors of one model for one set of servers. `folder` None: nothing is read and nothing written."""

    def __init__(self, folder: Path | None, servers: Iterable[str], model: str, version: str, dim: int) -> None:
        self._folder = folder
        self._servers = sorted(set(servers))
        self._model = model
        self._version = version
        self._dim = dim
        self._own: Known | None = None
        self._others: Known | None = None

    @property
    def file(self) -> Path | None:
        return self._folder / f"embeddings-{config_hash(self._servers)}.json" if self._folder else None

    def is_missing(self) -> bool:
        with suppress(OSError):
            return self.file is not None and not self.file.exists()
        return False

    def get(self, digest: str) -> Vectors | None:
        if self._own is None:
            self._own = self._read(self.file, quiet=False)
        if digest in self._own:
            return self._own[digest]
        if self._others is None:  # a text has one vector, whichever set of servers it came with
            self._others = self._read_others()
        return self._others.get(digest)

    def save(self, tools: Mapping[str, tuple[str, Vectors]]) -> None:
        """Replaces the file at once: who reads it meanwhile sees the old one or the new one, never a half."""
        if self._folder is None or self.file is None:
            return
        rows = {name: {"hash": digest, "vector": _packed(vector)} for name, (digest, vector) in tools.items()}
        head = {"format": FORMAT, "model": self._model, "version": self._version, "servers": self._servers}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(self.file, json.dumps({**head, "checksum": _checksum(rows), "tools": rows}, ensure_ascii=False))
            _prune(self._folder)
        except OSError as exc:
            log.warning("embedding_cache.not_written", file=str(self.file), error=str(exc))

    def _read_others(self) -> Known:
        known: Known = {}
        for file in _files(self._folder) if self._folder else []:
            if file != self.file:
                known = {**self._read(file, quiet=True), **known}
        return known

    def _read(self, file: Path | None, *, quiet: bool) -> Known:
        """What the file holds for this model. `quiet` where another model is no surprise."""
        if file is None:
            return {}
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["checksum"] != _checksum(content["tools"]):
                raise ValueError("it is damaged, or of another version")
            if (content["model"], content["version"]) != (self._model, self._version):
                if not quiet:
                    log.warning("embedding_cache.ignored", file=file.name, reason=f"made with {content['model']}")
                return {}
            known = {row["hash"]: _unpacked(row["vector"], self._dim) for row in content["tools"].values()}
            with suppress(OSError):
                os.utime(file)  # what is used is kept longest
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
            log.warning("embedding_cache.ignored", file=file.name, reason=f"it cannot be read: {exc}")
            return {}
        return known


def _packed(vector: Vectors) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def _unpacked(text: str, dim: int) -> Vectors:
    vector = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    if vector.shape != (dim,) or not np.all(np.isfinite(vector)):
        raise ValueError("it holds something that is no vector of this model")
    return vector


def _checksum(rows: Mapping[str, Any]) -> str:
    total = hashlib.sha256()
    for name in sorted(rows):
        total.update(f"{name}\0{rows[name]['hash']}\0{rows[name]['vector']}\0".encode("utf-8", "replace"))
    return total.hexdigest()


def _write(file: Path, content: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as output:
            output.write(content)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _files(folder: Path) -> list[Path]:
    """Last used first."""
    dated = []
    with suppress(OSError):  # a folder that may not be looked into
        for file in folder.glob("embeddings-*.json"):
            with suppress(OSError):  # another process may have removed it
                dated.append((file.stat().st_mtime, file))
    return [file for _, file in sorted(dated, reverse=True)]


def _prune(folder: Path) -> None:
    for file in _files(folder)[MAX_FILES:]:
        file.unlink(missing_ok=True)
    for left in folder.glob(".*.tmp"):  # of a process that was killed while writing
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_TEMPORARY:
                left.unlink()
