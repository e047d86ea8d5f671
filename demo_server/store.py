"""Records in JSON files. Every web process has a server of its own, so several may write to one folder."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def all(self, kind: str) -> list[Record]:
        path = self.folder / f"{kind}.json"
        records: list[Record] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return records

    @contextmanager
    def changing(self, kind: str) -> Iterator[list[Record]]:
        """The records, to be changed in place. They are written at the end, all or nothing."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            records = self.all(kind)
            yield records
            part = self.folder / f"{kind}.json.{os.getpid()}"
            part.write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")
            part.replace(self.folder / f"{kind}.json")

    def add(self, kind: str, record: Record) -> Record:
        with self.changing(kind) as records:
            record = {"id": max((r["id"] for r in records), default=0) + 1, **record}
            records.append(record)
        return record

    def remove(self, kind: str, record_id: int) -> Record | None:
        with self.changing(kind) as records:
            found = next((r for r in records if r["id"] == record_id), None)
            if found is not None:
                records.remove(found)
        return found
