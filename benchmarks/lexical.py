"""Where the keyword side should live: postings in numpy in each process, against Postgres' own full-text search."""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import catalogue, service

FTS = """
    SELECT id, ts_rank_cd(words, query) AS score FROM lexical_bench, to_tsquery('english', %s) query
    WHERE words @@ query ORDER BY score DESC LIMIT 100
"""


def sources(count: int) -> list[Any]:
    """The generated tools, repeated on more servers with a word of their own until there are enough."""
    from search.lexical.documents import Source

    base = list(catalogue.tools(10_000))
    made = []
    for number in range(count):
        tool, round_ = base[number % len(base)], number // len(base)
        server = f"server{round_}x{number % 20}"
        description = f"{tool.description} Batch {round_} of {server}."
        schema = json.dumps(tool.schema)
        made.append(
            Source(number + 1, None, "tool", f"h{number}", server, f"{tool.name}_{round_}", description, schema)
        )
    return made


def cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def in_process(given: list[Any], queries: list[str]) -> dict[str, float]:
    from search.lexical.documents import document
    from search.lexical.index import build, updated
    from search.lexical.query import search

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    documents: list[Any] = []
    reading = cpu_ms(lambda: documents.extend(document(source) for source in given))
    kept: list[Any] = []
    building = cpu_ms(lambda: kept.append(build(documents)))
    changed = documents[len(documents) // 2]
    documents.clear()
    index = kept[0]
    updating = cpu_ms(lambda: kept.append(updated(index, [changed], [])))

    def ask(query: str) -> float:
        return cpu_ms(lambda: search(kept[1], query, tenant_id=None, item_type=None, limit=100))

    ask(queries[0])
    typed = [f"{query[:3]}{query[4:]}" for query in queries]
    return {
        "read and split, s": reading / 1000,
        "build, s": building / 1000,
        "update of one tool, ms": updating,
        "query, ms": statistics.median(ask(query) for query in queries),
        "query with an error, ms": statistics.median(ask(query) for query in typed),
        "postings, MB": sum(a.nbytes for a in (index.large.docs, index.large.weights, index.large.starts)) / 1e6,
        "peak of the process, MB more": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }


def in_postgres(given: list[Any], queries: list[str]) -> dict[str, float]:
    from django.db import connection

    from search.lexical.words import STOP, words

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS lexical_bench")
        cursor.execute("CREATE TABLE lexical_bench (id bigint, body text, words tsvector)")
        with cursor.copy("COPY lexical_bench (id, body) FROM STDIN") as copy:
            for source in given:
                copy.write_row((source.tool_id, " ".join(words(f"{source.name} {source.server} {source.description}"))))
        started = time.perf_counter()
        cursor.execute("UPDATE lexical_bench SET words = to_tsvector('english', body)")
        cursor.execute("CREATE INDEX ON lexical_bench USING gin (words)")
        cursor.execute("ANALYZE lexical_bench")
        building = time.perf_counter() - started

        def ask(query: str) -> float:
            terms = " | ".join(word for word in words(query) if word not in STOP)
            started = time.perf_counter()
            cursor.execute(FTS, [terms])
            cursor.fetchall()
            return (time.perf_counter() - started) * 1000

        ask(queries[0])
        return {"build, s": building, "query, ms": statistics.median(ask(query) for query in queries)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lexical", description=__doc__)
    parser.add_argument("--tools", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    queries = [query.partition(" #")[0] for query in catalogue.queries(options.queries)]
    with service.database():
        for count in options.tools:
            given = sources(count)
            for where, measure in (("in process", in_process), ("Postgres", in_postgres)):
                figures = "  ".join(f"{label} {value:.2f}" for label, value in measure(given, queries).items())
                print(f"{count:>7} tools, {where:10}  {figures}", flush=True)


if __name__ == "__main__":
    main()
