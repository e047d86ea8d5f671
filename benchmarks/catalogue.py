"""Generated tools: 50 skills, the same every time, with near twins inside each skill."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

_DOMAINS = """
    calendar event, mailbox message, git branch, pull request, invoice, customer, sales lead, purchase order,
    shipment, warehouse item, hotel booking, flight ticket, restaurant table, recipe, workout, patient record,
    prescription, lab sample, insurance claim, bank transfer, exchange rate, stock position, tax return, contract,
    court case, support ticket, chat channel, video call, podcast episode, song, photo, video clip, map route,
    parking space, charging station, weather station, irrigation valve, thermostat, door lock, security camera,
    container image, kubernetes pod, virtual machine, storage bucket, database table, search index, log stream,
    alert rule, feature flag, survey
"""
_VERBS = """
    create, update, delete, list, search, get, archive, restore, export, import, share, copy, rename, tag,
    approve, reject, schedule, cancel, assign, compare
"""
_SCOPES = """
    by id, in bulk, for a team, by date range, from a template, as a report, with comments, by owner, by status,
    for review
"""
DOMAINS, VERBS, SCOPES = ([w.strip() for w in text.split(",")] for text in (_DOMAINS, _VERBS, _SCOPES))
STYLES = ("{v} {s} please", "how do I {v} a {d} {s}?", "I need to {v} the {d} {s}", "{d}: {v} {s}", "{v} {d}s {s} now")


@dataclass(frozen=True, slots=True)
class GeneratedTool:
    skill: str
    name: str
    description: str
    schema: dict[str, object]


def skill_id(domain: str) -> str:
    return domain.replace(" ", "_")


def tools(count: int) -> Iterator[GeneratedTool]:
    combinations = itertools.product(SCOPES, VERBS, DOMAINS)
    for number, (scope, verb, domain) in zip(range(count), combinations, strict=False):
        noun = skill_id(domain)
        yield GeneratedTool(
            skill=noun,
            name=f"{verb}_{noun}_{scope.replace(' ', '_')}_{number}",
            description=f"{verb.capitalize()} a {domain} {scope}. Returns the {domain} and what changed in it.",
            schema={
                "type": "object",
                "properties": {
                    f"{noun}_id": {"type": "string", "description": f"Which {domain}."},
                    "options": {"type": "object", "properties": {"dry_run": {"type": "boolean"}}},
                },
                "required": [f"{noun}_id"],
            },
        )


def queries(count: int, seed: int = 7) -> list[str]:
    """All different, so that none comes from the query cache."""
    rng = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        style = rng.choice(STYLES)
        text = style.format(v=rng.choice(VERBS), d=rng.choice(DOMAINS), s=rng.choice(SCOPES))
        made[f"{text} #{len(made)}"] = None
    return list(made)
