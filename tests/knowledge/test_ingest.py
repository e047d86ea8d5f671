"""Ingest: idempotent, resumable, each broken file reported and the others taken in."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from django.db import connection

from benchmarks.pdf import write_pdf
from cli.main import toolscript
from core.errors import ValidationFailed
from knowledge.models import Chunk, Extraction, KnowledgeVector, Source
from knowledge.services.extractions import extraction_create
from knowledge.services.ingest import source_describe, source_ingest, sources_embed
from knowledge.types import SourceSpec
from tenants.models import Tenant
from tests.knowledge.library import HARBOUR, add
from tests.processes import ROOT, environment, eventually
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.reindex import index_refresh

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["The tide rises. " + "Water and wind. " * 60, "The tide falls. " + "Wind and water. " * 60]
MERGES = "a0: &a0 {x: 1}\n" + "\n".join(f"a{n}: &a{n} {{<<: [{f'*a{n - 1}, ' * 10}]}}" for n in range(1, 9))
"""A mapping of a hundred million entries, in nine lines."""
TABLES = ("source", "chunk", "extraction", "knowledgevector")


@pytest.fixture(autouse=True)
def live_index(transactional_db: None) -> None:
    index_refresh()


def versions() -> list[Any]:
    """Changes with every write to any row."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT xmin::text, ctid::text FROM knowledge_{t}" for t in TABLES))
        return sorted(cursor.fetchall())


def run(*arguments: str, expect: int = 0) -> Any:
    result = CliRunner().invoke(toolscript, ["ingest", *arguments, "--output", "json"])
    assert result.exit_code == expect, result.output
    return json.loads(result.stdout) if expect in {0, 1} else result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "harbour.md").write_text(HARBOUR)
    (tmp_path / "sub" / "page.html").write_text("<h1>Moorings</h1><p>Two lines at the bow.</p>")
    (tmp_path / "sub" / "notes.TXT").write_bytes("Café notes about chairs.".encode("latin-1"))
    (tmp_path / "book.pdf").write_bytes(write_pdf(PAGES, title="Tide book"))
    return tmp_path


class TestTheService:
    def test_the_same_again_writes_and_embeds_nothing(self) -> None:
        add("a.md", HARBOUR)
        assert sources_embed(None) == 4
        before = versions()
        report = source_ingest(SourceSpec("a.md", "markdown", HARBOUR.encode()))
        assert report.outcome == "unchanged"
        assert sources_embed(None) == 0
        assert versions() == before

    def test_a_change_replaces_what_changed_and_keeps_the_rest_with_its_vectors(self) -> None:
        source = add("a.md", HARBOUR)
        sources_embed(None)
        before = dict(KnowledgeVector.objects.values_list("chunk__section", "pk"))
        changed = HARBOUR.replace("range between high and low water is largest", "range is at its widest")
        report = source_ingest(SourceSpec("a.md", "markdown", f"{changed}\n# Ropes\n\nCoil them.".encode()))
        assert (report.outcome, report.chunks, report.kept, report.source_id) == ("changed", 5, 3, source.pk)
        assert sources_embed(None) == 2
        after = dict(KnowledgeVector.objects.values_list("chunk__section", "pk"))
        assert after["Reading the tide table"] == before["Reading the tide table"]
        assert after["Spring tides"] != before["Spring tides"]
        assert list(Chunk.objects.values_list("ordinal", flat=True)) == [0, 1, 2, 3, 4]

    def test_passages_that_trade_places_keep_their_vectors(self) -> None:
        add("a.md", "# A\n\nFirst words.\n\n# B\n\nSecond words.")
        sources_embed(None)
        report = source_ingest(SourceSpec("a.md", "markdown", b"# B\n\nSecond words.\n\n# A\n\nFirst words."))
        assert report.kept == 2
        assert sources_embed(None) == 0
        assert list(Chunk.objects.values_list("chapter", flat=True)) == ["B", "A"]

    def test_extractions_of_people_outlive_their_passage_and_those_of_models_do_not(self) -> None:
        source = add("a.md", HARBOUR)
        chunk = Chunk.objects.get(section="Spring tides")
        extraction_create(chunk, type="warning", content={"statement": "Mind the range"})
        extraction_create(chunk, type="pattern", content={"statement": "Twice a month"}, method="llm")
        add("a.md", HARBOUR.replace("sun and moon", "the two of them"))
        left = Extraction.objects.get(source=source)
        assert (left.type, left.chunk, left.section) == ("warning", None, "Spring tides")

    def test_a_new_title_reaches_the_passages(self) -> None:
        source = add("a.md", HARBOUR)
        sources_embed(None)
        source.title = "Port manual"
        source_describe(source)
        assert sources_embed(None) == 4
        assert Chunk.objects.filter(heading__startswith="Port manual").count() == 4

    def test_deleting_a_source_leaves_nothing_of_it(self) -> None:
        source = add("a.md", HARBOUR)
        sources_embed(None)
        source.delete()
        assert not Chunk.objects.exists()
        assert not KnowledgeVector.objects.exists()

    @pytest.mark.parametrize(
        "given",
        [
            {"metadata": {"title": "x"}},
            {"metadata": {"a": {"b": 1}}},
            {"metadata": {"a": None}},
            {"metadata": {"a": float("nan")}},
            {"metadata": {"a": "x\0"}},
            {"metadata": {str(n): n for n in range(101)}},
            {"type": "No Type"},
        ],
        ids=str,
    )
    def test_bad_descriptions_are_refused_and_change_nothing(self, given: dict[str, Any]) -> None:
        with pytest.raises(ValidationFailed):
            source_ingest(SourceSpec("a.md", "markdown", b"Text.", **given))
        assert not Source.objects.exists()

    def test_another_model_gets_vectors_of_its_own_before_it_goes_live(self) -> None:
        add("a.md", HARBOUR)
        sources_embed(None)
        old = EmbeddingSpace.objects.get(is_live=True)
        new = index_refresh("all-MiniLM-L6-v2")
        assert new is not None
        assert EmbeddingSpace.objects.get(is_live=True) == new
        counts = {space.pk: KnowledgeVector.objects.filter(space=space).count() for space in (old, new)}
        assert set(counts.values()) == {4}


class TestTheCommand:
    def test_folders_files_and_formats(self, folder: Path) -> None:
        report = run(str(folder))
        assert (report["files"], report["created"], report["failed"]) == (4, 4, [])
        assert report["chunks"] == report["embedded"] == Chunk.objects.count() >= 8
        assert set(Source.objects.values_list("title", flat=True)) == {
            "Harbour handbook", "Moorings", "notes", "Tide book"}  # fmt: skip
        assert set(Chunk.objects.filter(source__format="pdf").values_list("page", flat=True)) == {1, 2}

    def test_a_second_run_does_nothing(self, folder: Path) -> None:
        run(str(folder))
        before = versions()
        report = run(str(folder))
        assert (report["unchanged"], report["chunks"], report["embedded"]) == (4, 0, 0)
        assert versions() == before

    def test_a_broken_file_is_reported_and_the_others_go_on(self, folder: Path) -> None:
        (folder / "a-broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
        (folder / "b-empty.md").write_bytes(b"")
        (folder / "c-link.md").symlink_to(folder / "nowhere.md")
        (folder / "picture.png").write_bytes(b"\x89PNG")
        report = run(str(folder), expect=1)
        assert report["created"] == 4
        errors = {Path(item["path"]).name: item["error"] for item in report["failed"]}
        assert set(errors) == {"a-broken.pdf", "b-empty.md", "c-link.md"}
        assert "no readable PDF" in errors["a-broken.pdf"]
        assert "cannot be opened" in errors["c-link.md"]
        assert Source.objects.get(path__endswith="b-empty.md").status == "failed"

    def test_a_file_that_breaks_keeps_what_was_read_before_and_heals(self, folder: Path) -> None:
        run(str(folder))
        (folder / "book.pdf").write_bytes(b"damaged")
        assert len(run(str(folder), expect=1)["failed"]) == 1
        source = Source.objects.get(path__endswith="book.pdf")
        assert (source.status, source.chunks.exists()) == ("failed", True)
        (folder / "book.pdf").write_bytes(write_pdf(["All new."]))
        assert run(str(folder))["changed"] == 1
        source.refresh_from_db()
        assert (source.status, source.error, source.chunks.count()) == ("ready", "", 1)

    def test_hidden_ones_loops_and_second_names_are_left_out(self, folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "x.md").write_text("hidden")
        (folder / ".hidden.md").write_text("hidden")
        (folder / "sub" / "loop").symlink_to(folder)
        (folder / "again.md").symlink_to(folder / "harbour.md")
        assert run(str(folder), str(folder / "harbour.md"), str(folder / "**" / "*.md"))["files"] == 4

    def test_files_that_are_gone_are_named_and_deleted_on_request(self, folder: Path) -> None:
        add("uploaded.md", "Sent by a caller.")
        run(str(folder), "--root", str(folder))
        (folder / "book.pdf").unlink()
        report = run(str(folder), "--root", str(folder))
        assert (report["gone"], report["deleted"]) == (["book.pdf"], 0)
        assert run(str(folder), "--root", str(folder), "--prune")["deleted"] == 1
        assert set(Source.objects.values_list("path", flat=True)) == {
            "harbour.md", "sub/page.html", "sub/notes.TXT", "uploaded.md"}  # fmt: skip

    def test_what_is_gone_from_one_root_says_nothing_about_another(self, tmp_path: Path) -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        for folder, name in ((one, "a.md"), (other, "b.md")):
            folder.mkdir()
            (folder / name).write_text(f"Notes {name}")
            run(str(folder), "--root", str(folder))
        assert run(str(other), "--root", str(other), "--prune")["gone"] == []
        moved = one.rename(tmp_path / "moved")  # a checkout may lie elsewhere tomorrow
        (moved / "c.md").write_text("New notes")
        assert run(str(moved), "--root", str(moved), "--prune")["gone"] == []
        (moved / "a.md").unlink()
        report = run(str(moved), "--root", str(moved), "--prune")
        assert (report["gone"], report["deleted"]) == (["a.md"], 1)
        assert set(Source.objects.values_list("path", flat=True)) == {"b.md", "c.md"}

    @pytest.mark.parametrize(
        ("front", "kept"),
        [
            ("date: 2024-13-45", {}),
            ('title: "a\\0b"\nnote: "x\\uD800y"', {"note": "xy"}),
            ("digits: " + "9" * 5000, {}),
            ("deep: " + "[" * 3000, {}),
            ("id: 1" + "0" * 400, {"id": "1" + "0" * 400}),
            ("id: 0x" + "f" * 9000 + "\nyear: 2024", {"year": 2024}),
            ("sure: !!bool maybe", {}),
            (MERGES, {}),
            ("tags: ['', ' ', sea]\nauthors: ['', Ines]", {}),
        ],
        ids=["month", "escapes", "digits", "brackets", "long", "hex", "bool", "merges", "blanks"],
    )
    def test_odd_front_matter_stops_nobody(self, tmp_path: Path, front: str, kept: dict[str, Any]) -> None:
        (tmp_path / "01.md").write_text(f"---\n{front}\n---\nThe text below it.")
        (tmp_path / "02.md").write_text("Good notes.")
        report = run(str(tmp_path))
        assert (report["created"], report["failed"]) == (2, [])
        source = Source.objects.get(path__endswith="01.md")
        assert source.metadata == kept
        assert "" not in source.topics + source.authors

    def test_a_path_that_is_too_long_is_reported(self, tmp_path: Path) -> None:
        deep = tmp_path.joinpath(*("d" * 200 for _ in range(5)))
        deep.mkdir(parents=True)
        (deep / "broken.md").symlink_to(deep / "nowhere.md")
        (deep / "long.md").write_text("Notes.")
        (tmp_path / "short.md").write_text("Notes.")
        report = run(str(tmp_path), expect=1)
        assert (report["created"], len(report["failed"])) == (1, 2)
        errors = {Path(failed["path"]).name: failed["error"] for failed in report["failed"]}
        assert "cannot be opened" in errors["broken.md"]
        assert "1000 characters" in errors["long.md"]

    def test_what_is_given_describes_all(self, folder: Path) -> None:
        tenant = Tenant.objects.create(slug="north", name="North")
        run(str(folder / "sub"), "--tenant", "north", "--topic", "office", "--type", "case_study")
        assert {(s.tenant, s.type, tuple(s.topics)) for s in Source.objects.all()} == {
            (tenant, "case_study", ("office",))}  # fmt: skip
        assert set(KnowledgeVector.objects.values_list("tenant_id", flat=True)) == {tenant.pk}

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["/nowhere/at/all.md"], "nothing to read"),
            (["--tenant", "nobody", "."], "no tenant"),
            ([], "Missing argument"),
            (["pyproject.toml"], "nothing to read"),
        ],
    )
    def test_wrong_arguments_are_a_2(self, arguments: list[str], said: str) -> None:
        assert said in run(*arguments, expect=2)

    def test_the_report_in_words(self, folder: Path) -> None:
        (folder / "broken.pdf").write_bytes(b"x")
        result = CliRunner().invoke(toolscript, ["ingest", str(folder)])
        assert result.exit_code == 1
        assert "5 files: 4 created, 0 changed, 0 unchanged, 1 failed." in result.stdout
        count = Chunk.objects.count()
        assert f"{count} passages written, {count} embedded." in result.stdout
        assert "broken.pdf: It is no readable PDF" in result.stderr

    def test_help_shows_how(self) -> None:
        text = CliRunner().invoke(toolscript, ["ingest", "--help"]).stdout
        assert "toolscript ingest docs/" in text
        assert "Exit codes" in text


def test_killed_and_run_again_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """A real process, ended by SIGKILL while it embeds a book."""
    pages = [f"Chapter {n}. " + f"The tide of day {n} rises and falls at hour {n % 24}. " * 20 for n in range(30)]
    (tmp_path / "book.pdf").write_bytes(write_pdf(pages))
    for number in range(10):
        (tmp_path / f"note{number}.md").write_text(f"# Note {number}\n\nAbout harbour {number}.")
    database = connection.settings_dict
    url = f"postgresql://{database['USER']}@{quote(database['HOST'], safe='')}/{database['NAME']}"
    env = environment({"DATABASE_URL": url, "TOOLSCRIPT_DATA_DIR": str(tmp_path / "data")})
    command = [sys.executable, "-m", "cli", "ingest", str(tmp_path), "--output", "json"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert eventually(lambda: KnowledgeVector.objects.count() >= 32, 60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = KnowledgeVector.objects.count()
    whole = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True, timeout=120)
    report = json.loads(whole.stdout)
    assert report["failed"] == []
    assert report["created"] + report["changed"] + report["unchanged"] == 11
    assert KnowledgeVector.objects.count() == Chunk.objects.count() > 32
    assert report["embedded"] == Chunk.objects.count() - before
    stamp = versions()
    again = run(str(tmp_path))
    assert (again["unchanged"], again["embedded"]) == (11, 0)
    assert versions() == stamp
