"""Tables and words, as pure functions."""

import pytest

from cli.errors import no_database
from cli.output import Column, clean, cut, cut_middle, table_lines, width_of

COLUMNS = [Column("Tool", 12), Column("Confidence", 10), Column("Reason", 10)]
ROWS = [
    ["desktop-commander__read_file", "0.92", "Semantic similarity (file operations)"],
    ["文件__読み取り", "0.85", "Fuzzy match 🗓️ and a domain boost that goes on and on and on and on and on"],
]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = table_lines(COLUMNS, ROWS, width)
    assert all(width_of(line) <= width for line in lines)
    assert len(lines) == 3


def test_columns_stand_under_each_other_whatever_the_characters() -> None:
    lines = table_lines(COLUMNS, ROWS, 80)
    starts = {width_of(line[: line.index(value)]) for line, value in zip(lines, ["Conf", "0.92", "0.85"], strict=True)}
    assert len(starts) == 1


def test_without_a_terminal_nothing_is_cut() -> None:
    lines = table_lines(COLUMNS, ROWS, None)
    assert lines[2].endswith("on and on")


def test_what_fits_is_left_alone() -> None:
    assert table_lines(COLUMNS, [["a__b", "0.92", "Fuzzy match"]], 80) == [
        "Tool  Confidence  Reason",
        "a__b  0.92        Fuzzy match",
    ]


@pytest.mark.parametrize(
    ("text", "width"), [("plain", 5), ("会议", 4), ("é", 1), ("e\u0301", 1), ("🗓", 1), ("😀", 2), ("", 0)]
)
def test_width(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(("text", "made"), [("会议会议", "会…"), ("abcdef", "abc…"), ("ab", "ab"), ("a    b", "a…")])
def test_cut(text: str, made: str) -> None:
    assert cut(text, 4) == made or width_of(cut(text, 4)) <= 4
    assert width_of(cut(text, 4)) <= 4
    assert cut(text, 4) == made


@pytest.mark.parametrize(
    ("text", "width", "made"),
    [
        ("influxdb-mcp-server__ListInstances", 20, "influxd…istInstances"),
        ("服务器__列出实例", 10, "服…出实例"),
        ("server__list", 12, "server__list"),
        ("server__list", 4, "s…st"),
        ("server__list", 1, "…"),
    ],
)
def test_ids_lose_their_middle(text: str, width: int, made: str) -> None:
    assert cut_middle(text, width) == made
    assert width_of(made) <= width


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("two\nlines\r\n", "two lines"),
        ("bell\x07", "bell"),
        ("right\u202eleft", "right left"),
        ("\x1b]0;title\x07", "]0;title"),
    ],
)
def test_nothing_that_steers_a_terminal_is_printed(text: str, made: str) -> None:
    assert clean(text) == made


def test_what_a_driver_says_in_several_lines_becomes_one() -> None:
    said = no_database(OSError('connection to server at "h" failed: refused\n\tIs the server running on that host?'))
    assert said.message == 'The database is not reachable: connection to server at "h" failed: refused'
    assert said.exit_code == 3
