"""`toolscript skills`: what curators do from a shell. It works on the database of this machine's service."""

from typing import Any

import click

from cli.errors import failure_of
from cli.identity import identify, operator_only
from cli.output import Column, output_option, say_json, table
from cli.service import prepare_database


class OnTheDatabase(click.Command):
    """Prepares the database when it runs, and not for its help."""

    def invoke(self, ctx: click.Context) -> Any:
        prepare_database()
        return super().invoke(ctx)


class Skills(click.Group):
    command_class = OnTheDatabase


@click.group(cls=Skills)
def skills() -> None:
    """List skills, propose new ones, and decide on suggestions.

    \b
    Examples:
      toolscript skills list
      toolscript skills propose
      toolscript skills suggestions
      toolscript skills approve 12
      toolscript skills classify --retry
    """


@skills.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are switched off.")
@output_option("table", "json")
def list_skills(everything: bool, output: str) -> None:
    """The skills, with how many tools each has."""
    from skills.bodies import skill_body
    from skills.lists import skills_list

    active = "all" if everything else "true"
    rows = [skill_body(s) for s in skills_list(identify().tenant_id, active=active, parent_domain="", q="")]
    if output == "json":
        say_json(rows)
        return
    cells = [[r["id"], r["name"], r["tool_count"], _yes(r["is_active"])] for r in rows]
    _table(["id", "name", "tools", "active"], cells)


@skills.command()
@click.option(
    "--status",
    default="pending",
    show_default=True,
    type=click.Choice(["pending", "approved", "merged", "rejected", "all"]),
    help="Suggestions in this state.",
)
@output_option("table", "json")
def suggestions(status: str, output: str) -> None:
    """The suggested skills, most asked for first."""
    from skills.bodies import suggestion_body
    from skills.lists import suggestions_list

    rows = [suggestion_body(row) for row in suggestions_list(identify().tenant_id, status=status, q="")]
    if output == "json":
        say_json(rows)
        return
    if not rows:
        click.echo("There are none. `toolscript skills propose` looks for groups of tools that no skill holds.")
        return
    _table(
        ["id", "name", "asked", "status", "tools"],
        [[r["id"], r["name"], r["asked"], r["status"], _names(r["example_tools"])] for r in rows],
    )


@skills.command()
@click.option(
    "--all", "everything", is_flag=True, help="Cluster all tools that nobody filed by hand, not only the unfiled."
)
def propose(everything: bool) -> None:
    """Cluster tools that are in no skill, and file a named suggestion for each cluster.

    The same catalogue gives the same clusters. Names come from the language model where one is configured
    (TOOLSCRIPT_LLM_MODEL), else from the words that set a cluster apart.
    """
    from core.errors import ToolscriptError
    from skills.models import Suggestion
    from skills.services.propose import skills_propose

    operator_only("Proposing skills")
    _build_index_on_first_use()
    try:
        report = skills_propose(
            everything=everything, progress=lambda done, of: click.echo(f"named {done} of {of}", err=True)
        )
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    click.echo(f"{report.looked_at} tools looked at, {report.clusters} clusters, {report.created} suggestions filed.")
    rows = Suggestion.objects.filter(pk__in=report.suggestion_ids)
    if rows:
        _table(["id", "name", "asked"], [[row.pk, row.name, row.asked] for row in rows])
        click.echo("Decide in the admin, or: toolscript skills approve ID | merge ID SKILL | reject ID")


@skills.command()
@click.argument("suggestion_id", type=int)
@click.option("--id", "skill_id", help="The new skill's id.")
@click.option("--name", help="The new skill's name.")
@click.option("--description", help="The new skill's description.")
def approve(suggestion_id: int, skill_id: str | None, name: str | None, description: str | None) -> None:
    """Make the suggested skill and file the tools that asked for it."""
    from dataclasses import replace

    from skills.services.curation import skill_id_check
    from skills.services.suggestions import suggestion_approve, suggestion_spec

    edits = {"id": skill_id, "name": name, "description": description}

    def decide(suggestion: Any, by: str) -> str:
        changes: dict[str, Any] = {name: value for name, value in edits.items() if value is not None}
        if skill_id:
            skill_id_check(skill_id, suggestion.tenant_id)
        spec = replace(suggestion_spec(suggestion), **changes)
        return f"Made the skill {suggestion_approve(suggestion, by=by, spec=spec).pk}."

    _decide(suggestion_id, decide)


@skills.command()
@click.argument("suggestion_id", type=int)
@click.argument("skill_id")
def merge(suggestion_id: int, skill_id: str) -> None:
    """File the tools that asked under a skill that exists."""
    from skills.lists import skill_get
    from skills.services.suggestions import suggestion_merge

    def into() -> Any:
        return skill_get(skill_id, identify().tenant_id)

    _decide(
        suggestion_id,
        lambda suggestion, by: f"Merged into {suggestion_merge(suggestion, into=into(), by=by).pk}.",
    )


@skills.command()
@click.argument("suggestion_id", type=int)
@click.option("--reason", default="", help="Why; it is kept.")
def reject(suggestion_id: int, reason: str) -> None:
    """Reject a suggestion: the same does not come back."""
    from skills.services.suggestions import suggestion_reject

    def decide(suggestion: Any, by: str) -> str:
        suggestion_reject(suggestion, by=by, reason=reason)
        return "Rejected."

    _decide(suggestion_id, decide)


@skills.command()
@click.argument("suggestion_id", type=int)
def undo(suggestion_id: int) -> None:
    """Take the last decision on a suggestion back."""
    from skills.services.undo import suggestion_undo

    _decide(suggestion_id, lambda suggestion, by: f"Undone: {suggestion_undo(suggestion, by=by).action}.")


@skills.command()
@click.option("--retry", is_flag=True, help="Also tools that failed before.")
def classify(retry: bool) -> None:
    """Classify what waits, here and now, with progress."""
    from core.errors import ToolscriptError
    from skills.models import ClassificationRun
    from skills.services.freshness import skills_refresh_live
    from skills.services.pipeline import classify_batch
    from skills.services.switch import classification_paused, classification_retry

    operator_only("Classifying")
    if classification_paused():
        raise click.ClickException("Classification is paused. Resume it in the admin.")
    if retry:
        click.echo(f"{classification_retry()} tools that failed are tried again.")
    total = 0
    try:
        while count := classify_batch(by=_user()):
            total += count
            skills_refresh_live()
            click.echo(f"{total} tools done", err=True)
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    if not total:
        click.echo("Nothing waits to be classified.")
        return
    run = ClassificationRun.objects.first()
    if run is not None:
        spent = (
            f", {run.prompt_tokens + run.completion_tokens} tokens, cost {run.cost:.4f}" if run.prompt_tokens else ""
        )
        click.echo(f"{run.assigned} filed, {run.suggested} suggested, {run.failed} failed{spent}.")


def _decide(suggestion_id: int, decide: Any) -> None:
    from core.errors import ToolscriptError
    from skills.lists import suggestion_get
    from skills.tasks import request_classification, request_skill_refresh
    from tenants.types import OPERATOR

    try:
        caller = identify()
        by = _user() if caller == OPERATOR else caller.name
        suggestion = suggestion_get(suggestion_id, caller.tenant_id)
        caller.require_write(suggestion.tenant_id, "This suggestion")
        click.echo(decide(suggestion, by))
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    request_skill_refresh()
    request_classification(by)


def _build_index_on_first_use() -> None:
    """Clusters are made of vectors; where no service ever ran, nobody has built any."""
    from tools_catalog.selectors import live_space

    if live_space() is None:
        from cli.catalogue import refresh_index

        refresh_index(quiet=False)


def _user() -> str:
    import getpass

    try:
        return f"{getpass.getuser()} (shell)"
    except (KeyError, OSError):
        return "shell"


def _table(head: list[str], rows: list[list[Any]]) -> None:
    table([Column(title) for title in head], rows)


def _names(tools: list[dict[str, Any]]) -> str:
    return ", ".join(tool["name"] for tool in tools)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
