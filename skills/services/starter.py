"""What a new installation begins with: the starter skills, and a demo catalogue of fictional servers."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import transaction

from skills.models import Assignment, Skill
from skills.services.assignments import assignment_replace
from skills.services.curation import skill_create
from skills.types import SkillChoice, SkillSpec
from tools_catalog.models import Server, Tool
from tools_catalog.published import prompt_spec, resource_spec, tool_spec
from tools_catalog.services.catalog import server_upsert
from tools_catalog.types import ServerSpec, ToolSpec

DATA = Path(__file__).resolve().parent.parent / "data"
READERS: dict[str, Callable[[Mapping[str, Any]], ToolSpec]] = {
    "tools": tool_spec,
    "prompts": prompt_spec,
    "resources": resource_spec,
}


@transaction.atomic
def starter_skills_create() -> int:
    """Only where there are no skills at all: what curators deleted does not come back."""
    if Skill.objects.exists():
        return 0
    entries = json.loads((DATA / "starter_skills.json").read_text(encoding="utf-8"))
    for entry in entries:
        skill_create(
            SkillSpec(
                id=entry["id"],
                name=entry["name"],
                description=entry["description"],
                keywords=tuple(entry["keywords"]),
                examples=tuple(entry["examples"]),
                parent_domain=entry["parent_domain"],
            )
        )
    return len(entries)


@transaction.atomic
def demo_catalog_create() -> int:
    """Only where there are no servers at all."""
    if Server.objects.exists():
        return 0
    known = set(Skill.objects.values_list("id", flat=True))
    count = 0
    for entry in json.loads((DATA / "demo_catalog.json").read_text(encoding="utf-8")):
        items = list(_items(entry))
        spec = ServerSpec(entry["name"], entry["title"], entry["description"], tuple(item for item, _ in items))
        server, _ = server_upsert(spec)
        tools = {(tool.type, tool.name): tool for tool in Tool.objects.filter(server=server)}
        for item, skills in items:
            choices = [SkillChoice(skill, confidence, "Demo catalogue") for skill, confidence in skills.items()]
            assignment_replace(
                tools[item.type, item.name],
                [choice for choice in choices if choice.skill_id in known],
                source=Assignment.Source.HUMAN,
            )
        count += len(items)
    return count


def _items(entry: Mapping[str, Any]) -> Iterator[tuple[ToolSpec, dict[str, float]]]:
    for group, read in READERS.items():
        for item in entry.get(group, ()):
            yield read(item), item["skills"]
