"""From bytes to passages: headings, pages, encodings, and what cannot be read."""

import contextlib
import io
from itertools import pairwise
from types import SimpleNamespace

import pytest

from benchmarks.pdf import Entry, write_pdf
from knowledge.chunking import count_tokens, pieces_of
from knowledge.readers import Unreadable, read
from knowledge.readers.pdf import page_text
from knowledge.types import Document, Passage

MARKDOWN = """---
title: "Sea & shore"
author: Ines Quill
tags: tides, boats
published: 2024-05-01
nested: {a: 1}
levels: [1, 2]
---
Before any heading.

Tides
=====

Under tides.

## Spring *tides* and `neap`

```python
# not a heading
```

### Deeper

Down here.

# Boats

Under boats.
"""


def places(document: Document) -> list[tuple[str, str, str]]:
    return [(p.chapter, p.section, p.text.split("\n")[0]) for p in document.passages]


class TestMarkdown:
    def test_headings_become_chapter_and_section(self) -> None:
        assert places(read(MARKDOWN.encode(), "markdown")) == [
            ("", "", "Before any heading."),
            ("Tides", "", "Under tides."),
            ("Tides", "Spring tides and neap", "```python"),
            ("Tides", "Deeper", "Down here."),
            ("Boats", "", "Under boats."),
        ]

    def test_front_matter_describes_it(self) -> None:
        document = read(MARKDOWN.encode(), "markdown")
        assert (document.title, document.authors) == ("Sea & shore", ("Ines Quill",))
        assert document.topics == ("tides", "boats")
        assert document.metadata == {"published": "2024-05-01", "levels": [1, 2]}

    def test_one_heading_above_all_is_the_title(self) -> None:
        document = read(b"# Handbook\n\nHello.\n\n## First\n\nOne.\n\n### Part\n\nTwo.", "markdown")
        assert document.title == "Handbook"
        assert places(document) == [("", "", "Hello."), ("First", "", "One."), ("First", "Part", "Two.")]

    def test_the_lines_of_a_heading_stay_apart(self) -> None:
        assert read(b"Tides and\nboats\n=====\n\nText.", "markdown").title == "Tides and boats"

    def test_headings_with_nothing_under_them_are_text(self) -> None:
        document = read(
            b"# Rules\n\n## No work on Friday\n\n## Boats\n\n### Two lines\n\n## \n\n## Tides\n\nWait.", "markdown"
        )
        assert places(document) == [
            ("No work on Friday", "", "No work on Friday"),
            ("Boats", "Two lines", "Two lines"),
            ("Tides", "", "Wait."),
        ]
        assert places(read(b"# Only a title", "markdown")) == [("", "", "Only a title")]

    @pytest.mark.parametrize("head", ["---\n: : [\n---\n", "---\njust text\n---\n", "---\nnever closed\n"])
    def test_front_matter_that_is_none_stays_text(self, head: str) -> None:
        document = read(f"{head}Body.".encode(), "markdown")
        assert "Body." in document.passages[-1].text
        assert document.metadata == {}


class TestHtml:
    def test_what_a_reader_sees_under_its_headings(self) -> None:
        page = b"""<!doctype html><html><head><title>Page title</title><meta name=author content="Jon Vale"></head>
        <body><nav>Menu</nav><script>alert(1)</script><h1>Guide</h1><p>Intro   with
        breaks.</p><h2>Tables</h2><table><tr><th>Day</th><th>Tide</th></tr><tr><td>Mon</td><td>high</td></tr></table>
        <h3>Code</h3><pre>a = 1
  b = 2</pre><ul><li>one</li><li>two</li></ul><!-- hidden --></body></html>"""
        document = read(page, "html")
        assert (document.title, document.authors) == ("Guide", ("Jon Vale",))
        assert [(p.chapter, p.section, p.text) for p in document.passages] == [
            ("", "", "Intro with breaks."),
            ("Tables", "", "Day | Tide\n\nMon | high"),
            ("Tables", "Code", "a = 1\n  b = 2\n\none\n\ntwo"),
        ]

    def test_a_page_nested_deeper_than_the_stack(self) -> None:
        page = b"<div>" * 3000 + b"deep" + b"</div>" * 3000
        assert read(page, "html").passages[0].text == "deep"

    def test_end_tags_may_be_left_out(self) -> None:
        page = b"""<!doctype html><html><head><title>Prices</title><body><p>One<p>Two
        <table><tr><th><th>Price<tr><td>Apple<td>3</table><pre>| a | b |</pre>"""
        document = read(page, "html")
        assert document.title == "Prices"
        assert document.passages[0].text == "One\n\nTwo\n\n| Price\nApple | 3\n\n| a | b |"

    def test_a_heading_that_is_not_closed_is_not_the_rest_of_the_page(self) -> None:
        page = b"<h1>A</h1><p>One.</p><h2>Part <b>two</b><!-- x --><p>Two.</p><h2><div>C</div></h2>Three."
        assert places(read(page, "html")) == [("", "", "One."), ("Part two", "", "Two."), ("C", "", "Three.")]

    def test_the_encoding_it_names(self) -> None:
        for encoding, text in (("iso-8859-2", "Žluťoučký"), ("iso-2022-jp", "日本語")):
            page = f'<meta charset="{encoding}"><p>{text}</p>'.encode(encoding)
            assert read(page, "html").passages[0].text == text


class TestText:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32"])
    def test_encodings(self, encoding: str) -> None:
        assert read("Café à la crème".encode(encoding), "text").passages[0].text == "Café à la crème"

    def test_line_ends_and_stray_controls(self) -> None:
        assert read(b"one\r\ntwo\rthree" + b" word" * 50 + b"\0", "text").passages[0].text.startswith("one\ntwo\nthree")

    @pytest.mark.parametrize("content", [b"", b"  \n\t ", b"\xef\xbb\xbf"])
    def test_nothing_in_it(self, content: bytes) -> None:
        with pytest.raises(Unreadable, match="no text"):
            read(content, "text")

    def test_a_picture_is_not_text(self) -> None:
        with pytest.raises(Unreadable, match="not text"):
            read(bytes(range(32)) * 20, "text")


class TestPdf:
    def pdf(self) -> bytes:
        pages = [
            "Preface text here.",
            "Tides\nHigh and low water alter-\nnate all day.",
            "More on tides.\n\nBoats\nTie them.",
        ]
        outline = [Entry("Tides", 1), Entry("Boats", 2, 1)]
        return write_pdf(pages, outline, title="Sea book", author="Ines Quill; Tomas Reed")

    def test_pages_and_outline(self) -> None:
        document = read(self.pdf(), "pdf")
        assert (document.title, document.authors) == ("Sea book", ("Ines Quill", "Tomas Reed"))
        assert [(p.chapter, p.section, [n for _, n in p.pages]) for p in document.passages] == [
            ("", "", [1]),
            ("Tides", "", [2, 3]),
            ("Tides", "Boats", [3]),
        ]
        assert "alternate all day" in document.passages[1].text

    def test_lines_become_paragraphs_again(self) -> None:
        page = SimpleNamespace(extract_text=lambda: "One line \n and more.\n  \nThe next.")
        assert page_text(page) == "One line and more.\n\nThe next."

    def test_a_chunk_knows_the_page_it_begins_on(self) -> None:
        pages = [f"Page {n} " + "water and wind " * 60 for n in range(1, 4)]
        document = read(write_pdf(pages), "pdf")
        pieces = pieces_of(document, "pdf", tokens=100, overlap=0)
        assert [piece.position.page for piece in pieces] == sorted(piece.position.page or 0 for piece in pieces)
        assert {piece.position.page for piece in pieces} == {1, 2, 3}

    @pytest.mark.parametrize("content", [b"%PDF-1.4\ngarbage", b"no pdf", b"", b"%PDF-1.7\n" + b"\0" * 500])
    def test_a_damaged_one(self, content: bytes) -> None:
        with pytest.raises(Unreadable, match="no readable PDF"):
            read(content, "pdf")

    def test_one_cut_off_in_the_middle_gives_what_it_has_or_says_so(self) -> None:
        whole = self.pdf()
        for length in range(100, len(whole), 400):
            with contextlib.suppress(Unreadable):
                assert read(whole[:length], "pdf").passages

    def test_an_encrypted_one(self) -> None:
        from pypdf import PdfWriter

        writer = PdfWriter(clone_from=io.BytesIO(self.pdf()))
        writer.encrypt("secret", algorithm="RC4-128")
        out = io.BytesIO()
        writer.write(out)
        with pytest.raises(Unreadable, match="password"):
            read(out.getvalue(), "pdf")

    def test_pages_that_are_pictures(self) -> None:
        with pytest.raises(Unreadable, match="pictures"):
            read(write_pdf(["", ""]), "pdf")


class TestChunks:
    TEXT = " ".join(f"Sentence number {n} speaks of boats and water." for n in range(200))

    def test_none_is_larger_than_the_limit_in_the_models_own_tokens(self) -> None:
        pieces = pieces_of(Document((Passage(self.TEXT),)), "text", tokens=64, overlap=0)
        assert max(piece.token_count for piece in pieces) <= 64
        assert all(piece.token_count == count_tokens(piece.content) for piece in pieces)
        assert min(piece.token_count for piece in pieces[:-1]) > 40

    def test_they_overlap_and_lose_nothing(self) -> None:
        pieces = pieces_of(Document((Passage(self.TEXT),)), "text", tokens=64, overlap=16)
        for first, second in pairwise(pieces):
            assert first.content.split(". ")[-1].rstrip(".") in second.content
        assert all(f"Sentence number {n} speaks" in " ".join(p.content for p in pieces) for n in range(200))

    @pytest.mark.parametrize("run", ["f", "é", "a/", "\U0001f600"])
    def test_a_run_without_blanks_is_many_although_the_model_sees_one_word(self, run: str) -> None:
        text = f"A dump: {run * 5000} and its end."
        pieces = pieces_of(Document((Passage(text, pages=((0, 1), (4000, 2))),)), "text", tokens=64, overlap=0)
        assert max(len(piece.content) for piece in pieces) < 600
        assert "".join(piece.content for piece in pieces).replace(" ", "") == text.replace(" ", "")
        assert pieces[0].position.page == 1
        assert pieces[-1].position.page == 2

    def test_they_stop_at_headings(self) -> None:
        document = Document((Passage("One.", "A"), Passage("Two.", "B", "C")))
        pieces = pieces_of(document, "text", tokens=64, overlap=16)
        assert [(p.content, p.position.chapter, p.position.section) for p in pieces] == [
            ("One.", "A", ""),
            ("Two.", "B", "C"),
        ]
