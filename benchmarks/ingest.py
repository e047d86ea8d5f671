"""Ingest of a 300-page PDF and of 1,000 Markdown files: time, memory, killed and resumed, and a second run.

Each run is `toolscript ingest` in a process of its own, as a user would start it.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.pdf import Entry, write_pdf
from benchmarks.service import database

NOUNS = [
    "harbour",
    "tide",
    "mooring",
    "rope",
    "anchor",
    "lighthouse",
    "cargo",
    "crane",
    "pilot",
    "chart",
    "compass",
    "engine",
    "sail",
    "hull",
    "deck",
]
VERBS = [
    "checks",
    "repairs",
    "moves",
    "loads",
    "measures",
    "paints",
    "replaces",
    "inspects",
    "records",
    "lowers",
    "raises",
    "secures",
]
LIMIT_MB = 500


def prose(dice: random.Random, sentences: int) -> str:
    return " ".join(
        f"The {dice.choice(NOUNS)} crew {dice.choice(VERBS)} the {dice.choice(NOUNS)} before the {dice.choice(NOUNS)} "
        f"number {dice.randrange(1000)} {dice.choice(VERBS)} it."
        for _ in range(sentences)
    )


def make_pdf(path: Path, pages: int) -> None:
    dice = random.Random(1)
    texts = [f"Section {n}\n{prose(dice, 26)}" for n in range(pages)]
    outline = [Entry(f"Chapter {n // 30}", n) if n % 30 == 0 else Entry(f"Section {n}", n, 1) for n in range(pages)]
    path.write_bytes(write_pdf(texts, outline, title="A long book"))


def make_markdown(folder: Path, files: int) -> None:
    dice = random.Random(2)
    for n in range(files):
        target = folder / f"part{n % 10}"
        target.mkdir(parents=True, exist_ok=True)
        sections = "\n\n".join(f"## {dice.choice(NOUNS)} {i}\n\n{prose(dice, 5)}" for i in range(2))
        (target / f"note{n}.md").write_text(f"# Note {n}\n\n{sections}\n")


@dataclass
class Run:
    label: str
    seconds: float
    peak_mb: float
    files: int = 0
    created: int = 0
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    killed: bool = False


def ingest(label: str, path: Path, kill_after: int | None = None) -> Run:
    """Runs the command; with `kill_after`, ends it by SIGKILL as soon as so many passages are embedded."""
    command = [sys.executable, "-m", "cli", "ingest", str(path), "--output", "json"]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ))
    watched = psutil.Process(process.pid)
    peak = 0.0
    while process.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss / 1e6)
        except psutil.NoSuchProcess:
            break
        if kill_after is not None and vectors() >= kill_after:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.05)
    output, _ = process.communicate()
    run = Run(label, time.perf_counter() - started, peak, killed=process.returncode == -signal.SIGKILL)
    if not run.killed:
        report: dict[str, Any] = json.loads(output)
        assert not report["failed"], report["failed"]
        for name in ("files", "created", "unchanged", "chunks", "embedded"):
            setattr(run, name, report[name])
    return run


def vectors() -> int:
    from knowledge.models import KnowledgeVector

    return KnowledgeVector.objects.count()


def measure(root: Path, pages: int, files: int) -> list[Run]:
    book, notes = root / "book.pdf", root / "notes"
    make_pdf(book, pages)
    make_markdown(notes, files)
    runs = [ingest(f"PDF of {pages} pages, killed on the way", book, kill_after=96)]
    runs.append(ingest("the same, resumed", book))
    runs.append(ingest("the same again", book))
    runs.append(ingest(f"{files:,} Markdown files, killed on the way", notes, kill_after=vectors() + files // 2))
    runs.append(ingest("the same, resumed", notes))
    runs.append(ingest("the same again", notes))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with database() as root:
        from tools_catalog.services.reindex import index_refresh

        index_refresh()
        runs = measure(root, options.pages, options.files)
    print("| run | seconds | peak MB | files taken in | unchanged | passages written | embedded |")
    print("|---|---|---|---|---|---|---|")
    for run in runs:
        counts = ["-"] * 4 if run.killed else [run.created, run.unchanged, run.chunks, run.embedded]
        print(f"| {run.label} | {run.seconds:.1f} | {run.peak_mb:.0f} | {' | '.join(str(c) for c in counts)} |")
    if options.json:
        options.json.write_text(json.dumps([asdict(run) for run in runs], indent=2))
    if max(run.peak_mb for run in runs) > LIMIT_MB:
        raise SystemExit(f"more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
