"""No server on both sides of a split."""

from __future__ import annotations

from collections import Counter

import pytest

from training.data import EXTRA, Served, check_served, read_jsonl
from training.folds import FOLDS, check_disjoint, deal, family
from training.pairs import make_rows, without_folds
from training.texts import Tool

SERVERS = [f"server-{number}" for number in range(40) for _ in range(number % 7 + 1)]


def _served(server: str, name: str, source: str = "mcp") -> Served:
    return Served(Tool(f"{server}__{name}", server, name, "does it", ()), (f"please {name}",), source)


def test_every_server_gets_one_fold_and_folds_are_about_even() -> None:
    folds = deal(SERVERS)
    sizes = Counter(folds[server] for server in SERVERS)
    assert set(sizes) == set(range(FOLDS))
    assert max(sizes.values()) - min(sizes.values()) <= 7


def test_the_deal_depends_on_names_only() -> None:
    assert deal(SERVERS) == deal(sorted(SERVERS, reverse=True))


def test_two_packages_for_one_product_stay_together() -> None:
    folds = deal([*SERVERS, "npm-zereight__mcp-gitlab", "npm-modelcontextprotocol__server-gitlab"])
    assert family("npm-zereight__mcp-gitlab") == "gitlab"
    assert folds["npm-zereight__mcp-gitlab"] == folds["npm-modelcontextprotocol__server-gitlab"]


def test_rows_left_after_dropping_folds_share_no_server_with_the_dropped() -> None:
    rows = make_rows([_served(server, f"tool_{place}") for place, server in enumerate(SERVERS)])
    kept = without_folds(rows, [1, 2])
    dropped = [row for row in rows if row.fold in (1, 2)]
    assert kept
    assert dropped
    check_disjoint([row.served.group for row in kept], [row.served.group for row in dropped])


def test_a_shared_server_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        check_disjoint(["a", "b"], ["B"])


def test_tools_without_a_server_are_split_one_by_one() -> None:
    rows = make_rows([_served("", f"plugin{number}", "metatool") for number in range(25)])
    assert {row.fold for row in rows} == set(range(FOLDS))


def test_the_extra_requests_are_well_formed_and_never_repeat() -> None:
    rows = list(read_jsonl(EXTRA))
    assert len(rows) > 300
    names = [(row["server"], row["name"]) for row in rows]
    assert len(set(names)) == len(names)
    requests = [request.lower() for row in rows for request in row["requests"]]
    assert len(set(requests)) == len(requests)
    tools = [Tool(f"{server}__{name}", server, name, "", ()) for server, name in names]
    check_served([Served(tool, tuple(row["requests"]), "extra") for tool, row in zip(tools, rows, strict=True)])


def test_an_empty_request_is_refused() -> None:
    with pytest.raises(ValueError, match="empty request"):
        make_rows([Served(Tool("a", "s", "n", "", ()), (" ",), "mcp")])
