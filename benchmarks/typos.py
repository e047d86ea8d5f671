"""Names with one and two typing errors over a large real catalogue: is the tool that was meant the first result?"""

import argparse
import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import service

CATALOG = Path(__file__).resolve().parent.parent.parent / "shared" / "mcp" / "catalog"


def one_error(name: str, rng: random.Random) -> str:
    place = rng.randrange(len(name))
    kind = rng.choice(["delete", "insert", "replace", "swap"])
    letter = rng.choice(string.ascii_lowercase)
    if kind == "delete":
        return name[:place] + name[place + 1 :]
    if kind == "insert":
        return name[:place] + letter + name[place:]
    if kind == "replace":
        return name[:place] + letter + name[place + 1 :]
    place = min(place, len(name) - 2)
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


def misspelt(names: list[str], count: int, seed: int, shortest: int) -> Iterator[tuple[str, str, int]]:
    """Meant, typed, errors. What is typed is itself no name."""
    rng = random.Random(seed)
    known = {name.lower() for name in names}
    made = 0
    while made < count:
        meant = rng.choice(names)
        errors = 1 + made % 2
        typed = meant
        for _ in range(errors):
            typed = one_error(typed, rng)
        if len(meant) >= shortest and typed.lower() not in known:
            made += 1
            yield meant, typed, errors


def fill(folder: Path) -> list[str]:
    from tools_catalog.published import tool_spec
    from tools_catalog.services.catalog import server_upsert
    from tools_catalog.types import ServerSpec

    names = []
    for path in sorted(folder.glob("*.json")):
        entry = json.loads(path.read_text(encoding="utf-8"))
        items = tuple(tool_spec(tool) for tool in entry["tools"])
        names += [item.name for item in items]
        server_upsert(ServerSpec(path.stem, items=items))
    return sorted(set(names))


def measure(first: Callable[[str], str | None], names: list[str], options: argparse.Namespace) -> dict[str, object]:
    cases = list(misspelt(names, options.count, options.seed, options.shortest))
    missed = [(meant, typed, errors, found) for meant, typed, errors in cases if (found := first(typed)) != meant]
    displaced = [name for name in names if first(name) != name] if options.correct else []
    return {
        "first": 1 - len(missed) / len(cases),
        "one error": 1 - sum(m[2] == 1 for m in missed) / sum(c[2] == 1 for c in cases),
        "two errors": 1 - sum(m[2] == 2 for m in missed) / sum(c[2] == 2 for c in cases),
        "correct names displaced": len(displaced),
        "missed": missed,
        "displaced": displaced,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.typos", description=__doc__)
    parser.add_argument("--catalog", type=Path, default=CATALOG, help="a folder of JSON files, one a server")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shortest", type=int, default=4, help="the shortest name that gets errors")
    parser.add_argument("--correct", action=argparse.BooleanOptionalAction, default=True, help="also try every name")
    parser.add_argument("--embed", action=argparse.BooleanOptionalAction, default=True, help="keywords alone without")
    options = parser.parse_args()
    if not options.catalog.is_dir():
        raise SystemExit(f"There is no catalogue at {options.catalog}.")
    with service.database():
        names = fill(options.catalog)
        from search.lexical.store import store
        from search.services import gateway_search, search_tools
        from search.types import SearchRequest
        from tools_catalog.services.reindex import index_refresh

        def gateway(query: str) -> str | None:
            hits = gateway_search(query, limit=1).hits
            return hits[0].tool.name if hits else None

        def hybrid(query: str) -> str | None:
            found = search_tools(SearchRequest(query, limit=1, include_schemas=False, strategy="hybrid")).found
            return found.tools[0].name if found.tools else None

        store.get(timeout=300)
        results = {"keywords alone": measure(gateway, names, options)}
        if options.embed:
            index_refresh()
            results |= {"gateway": measure(gateway, names, options), "hybrid": measure(hybrid, names, options)}
    for label, result in results.items():
        print(label, *(f"{k}: {v:.3f}" if isinstance(v, float) else f"{k}: {v}" for k, v in result.items()), sep="\n  ")


if __name__ == "__main__":
    main()
