"""Two tenants with the same tools, and keys to ask with."""

from dataclasses import dataclass

from skills.models import Skill
from tenants.models import Tenant
from tenants.services.keys import key_create
from tests.world import SKILLS, Entry, make_skill, make_tools
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh

MARKS = {"acme": "zanzibar", "globex": "quokka"}
"""A word in every text of a tenant: whoever reads the other's word has seen what is not theirs."""


@dataclass(frozen=True)
class Side:
    tenant: Tenant
    mark: str
    key: str
    tools: dict[str, Tool]
    skill: Skill


def make_side(slug: str) -> Side:
    mark = MARKS[slug]
    tenant = Tenant.objects.create(slug=slug, name=slug.title())
    skill = make_skill(f"t{tenant.pk}_calendar", f"Plan meetings in the calendar of {mark}.", tenant)
    tools = make_tools(
        Entry("create_event", f"Create a calendar event, {mark}.", ("calendar_management", skill.pk)),
        Entry("list_events", f"List the events of a day, {mark}.", (skill.pk,)),
        Entry("plan_day", f"A prompt that plans the meetings of a day, {mark}.", (skill.pk,), "prompt"),
        tenant=tenant,
    )
    _, key = key_create(name=f"{slug} agents", tenant=tenant)
    return Side(tenant, mark, key, tools, skill)


def make_sides() -> tuple[Side, Side]:
    make_skill("calendar_management", SKILLS["calendar_management"])
    make_tools(Entry("create_event", "Create a calendar event that all may see.", ("calendar_management",)))
    sides = make_side("acme"), make_side("globex")
    index_refresh()
    return sides
