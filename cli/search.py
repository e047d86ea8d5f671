from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from cli.errors import Failure
from cli.gateway import Gateway, find
from cli.output import Column, clean, note, output_option, say, say_json, table, terminal_width
from cli.settings import LIMIT, MAX_LIMIT, THRESHOLD, Share, data_dir_option, gateway_option

ROOM_FOR_DESCRIPTIONS = 120
BY_MEANING = ("Semantic similarity", "Capability inference")
MAX_QUERY = 1000
"""As the gateway has it."""


def searchable(ctx: click.Context, param: click.Parameter, query: str) -> str:
    if not query.strip():
        raise click.BadParameter("it is empty: say in plain words what the tool should do.", ctx, param)
    if len(query.strip()) > MAX_QUERY:
        raise click.BadParameter(f"it has {len(query.strip())} characters; {MAX_QUERY} are allowed.", ctx, param)
    return query


@click.command(
    epilog="""\b
Examples:
  toolscript search "read a file"
  toolscript search "database query" --limit 5 --threshold 0.5
  toolscript search "send a message" --output json | jq '.results[].toolId'
  toolscript search "read a file" --output types > tools.md
  toolscript search "read a file" --model all-MiniLM-L6-v2

\b
Asks the gateway that runs; where none does, searches in this process. A flag wins over its variable.
Also read: TOOLSCRIPT_SEARCH_DEVICE, TOOLSCRIPT_SEARCH_NO_CACHE, TOOLSCRIPT_API_KEY.
"""
)
@click.argument("query", callback=searchable)
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, MAX_LIMIT),
    default=LIMIT,
    show_default=True,
    envvar="TOOLSCRIPT_SEARCH_LIMIT",
    show_envvar=True,
    help="How many tools at most.",
)
@click.option(
    "--threshold",
    "-t",
    type=Share(),
    default=THRESHOLD,
    show_default=True,
    envvar="TOOLSCRIPT_SEARCH_THRESHOLD",
    show_envvar=True,
    help="The lowest confidence that is shown.",
)
@click.option(
    "--alpha",
    type=Share(),
    envvar="TOOLSCRIPT_SEARCH_ALPHA",
    show_envvar=True,
    help="How much meaning counts against words. Default: the gateway's, 0.7.",
)
@click.option(
    "--model",
    envvar="TOOLSCRIPT_SEARCH_MODEL",
    show_envvar=True,
    help="Embedding model for this search. Default: the one of the index.",
)
@output_option("table", "json", "types")
@gateway_option
@data_dir_option
def search(
    query: str,
    *,
    limit: int,
    threshold: float,
    alpha: float | None,
    model: str | None,
    output: str,
    gateway: str | None,
) -> None:
    """Find tools for a request in plain words."""
    with gateway_for(gateway, model) as asked:
        found = asked.get("/search", q=query, limit=limit, threshold=threshold, alpha=alpha)
        results = results_of(found)
        if found.get("degraded"):
            note(what_is_missing(results), "warn")
        if output == "json":
            say_json(found)
        elif not results:
            nothing_found(threshold, is_empty=holds_no_tools(asked))
        elif output == "types":
            ids = ",".join(hit["toolId"] for hit in results)
            say(types_page(results, asked.get_text("/runtime/tools.ts", filter=ids)))
        else:
            show(results)


@contextmanager
def gateway_for(url: str | None, model: str | None = None) -> Iterator[Gateway]:
    """Whoever answers: the gateway named, the one that runs here, or this process."""
    running = find(url)
    if running is not None and model:
        theirs = running.ready().get("model")
        if theirs != model and url:
            raise Failure(
                f"The gateway at {running.url} searches with {theirs}, not with {model}.",
                hint="Without --gateway and TOOLSCRIPT_GATEWAY_URL the search runs here, with any model.",
            )
        running = running if theirs == model else None
    if running is not None:
        yield running
        return
    from cli.inprocess import in_process

    with in_process(model) as here:
        yield here


def results_of(found: Any) -> list[dict[str, Any]]:
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, list) or not all(map(is_hit, results)):
        raise Failure("The gateway answered without results: is it of another version, or no gateway at all?")
    return results


def is_hit(found: Any) -> bool:
    needed = {"toolId": str, "confidence": int | float, "reason": str}
    return isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in needed.items())


def what_is_missing(results: list[dict[str, Any]]) -> str:
    """The gateway says that one side is away; which one is told by the reasons of what it found."""
    if not results:
        return "The embedding model or the keyword index is not available: only one of them was asked."
    if any(hit["reason"].startswith(BY_MEANING) for hit in results):
        return "The keyword index is not available yet: these are matches by meaning only."
    return "The embedding model is not available: these are matches by words only."


def show(results: list[dict[str, Any]]) -> None:
    columns = [Column("Tool", 20, style="name", tail=True), Column("Confidence", 10), Column("Reason", 16)]
    rows: list[list[object]] = [[hit["toolId"], f"{hit['confidence']:.2f}", hit["reason"]] for hit in results]
    width = terminal_width()
    if width is not None and width >= ROOM_FOR_DESCRIPTIONS:
        columns.append(Column("Description", 20, style="dim"))
        rows = [[*row, hit.get("description", "")] for row, hit in zip(rows, results, strict=True)]
    table(columns, rows)


def holds_no_tools(gateway: Gateway) -> bool:
    """False also where it cannot be told."""
    try:
        return bool(gateway.get("/tools", limit=1) == [])
    except Failure:
        return False


def nothing_found(threshold: float, *, is_empty: bool) -> None:
    say("No tools found matching query")
    if is_empty:
        note("The catalogue holds no tools yet: `toolscript sync` asks servers, `toolscript import` reads files.")
        return
    lower = f", or lower the threshold: --threshold {max(threshold - 0.15, 0):.2g}" if threshold > 0 else ""
    note(f"Try different keywords{lower}.")


def types_page(results: list[dict[str, Any]], module: str) -> str:
    """Markdown: what was found, the client for it, and how to call it."""
    rows = [f"| {_cell(hit['toolId'])} | {hit['confidence']:.2f} | {_cell(hit['reason'])} |" for hit in results]
    example = next((line for line in module.splitlines() if line.startswith("// Example: ")), "// Example: ")
    return "\n".join(
        [
            "## Search Results",
            "",
            "| Tool | Confidence | Reason |",
            "|------|-----------|--------|",
            *rows,
            "",
            "```typescript",
            module.rstrip("\n"),
            "```",
            "",
            "Usage example:",
            "```typescript",
            'import { tools } from "toolscript";',
            "",
            "// Call tools using the generated client",
            example.removeprefix("// Example: "),
            "```",
        ]
    )


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|")
