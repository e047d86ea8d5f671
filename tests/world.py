"""A small catalogue for tests, made through the same services as a real one."""

from dataclasses import dataclass

from skills.models import Assignment, Skill
from skills.services.assignments import assignment_replace
from skills.services.curation import skill_create
from skills.types import SkillChoice, SkillSpec
from tenants.models import Tenant
from tools_catalog.models import Server, Tool
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ItemType, ServerSpec, ToolSpec

SKILLS = {
    "calendar_management": "Create, move and cancel events in a calendar, invite people, find free time for meetings.",
    "version_control": "Commit changes, create branches, show diffs and merge pull requests in a Git repository.",
    "file_operations": "Read, write, move, copy and delete files and folders on disk.",
    "weather": "Current weather, forecasts and storm warnings for a place.",
}
SCHEMA = {
    "type": "object",
    "properties": {"zeta": {"type": "string"}, "alpha": {"type": "integer"}},
    "required": ["zeta"],
}


@dataclass(frozen=True)
class Entry:
    name: str
    description: str
    skills: tuple[str, ...]
    type: ItemType = "tool"
    server: str = "alpha"


TOOLS = (
    Entry("create_event", "Create a calendar event and invite people to a meeting.", ("calendar_management",)),
    Entry("list_events", "List the events of a day in the calendar.", ("calendar_management",)),
    Entry("find_free_time", "Find a time when all invited people are free for a meeting.", ("calendar_management",)),
    Entry("cancel_event", "Cancel a calendar event and tell its attendees.", ("calendar_management",)),
    Entry("commit_changes", "Record the staged changes in the Git repository.", ("version_control",)),
    Entry("create_branch", "Create a branch in the Git repository.", ("version_control",)),
    Entry("show_diff", "Show what changed in files since the last commit.", ("version_control", "file_operations")),
    Entry("read_file", "Read the contents of a file from disk.", ("file_operations",)),
    Entry("write_file", "Write text to a file on disk.", ("file_operations",)),
    Entry("delete_file", "Delete a file or folder from disk.", ("file_operations",)),
    Entry("plan_week", "A prompt that plans the meetings of a week.", ("calendar_management",), "prompt"),
    Entry("holidays", "Public holidays as a calendar file.", ("calendar_management",), "resource"),
    Entry("book_meeting_room", "Book a room for a meeting in the calendar.", (), "tool", "beta"),
)


def spec_of(entry: Entry) -> ToolSpec:
    return ToolSpec(
        type=entry.type,
        name=entry.name,
        description=entry.description,
        input_schema=SCHEMA,
        output_schema={"type": "object"},
        annotations={"readOnlyHint": True},
    )


def make_skill(
    skill_id: str, description: str = "A skill that the tests made up.", tenant: Tenant | None = None
) -> Skill:
    return skill_create(SkillSpec(skill_id, skill_id.replace("_", " ").title(), description), tenant=tenant)


def make_tools(*entries: Entry, tenant: Tenant | None = None) -> dict[str, Tool]:
    for name in {entry.server for entry in entries}:
        items = tuple(spec_of(entry) for entry in entries if entry.server == name)
        server_upsert(ServerSpec(name, items=items), tenant=tenant)
    tools = {tool.name: tool for tool in Tool.objects.filter(server__tenant=tenant)}
    for entry in entries:
        choices = [SkillChoice(skill, 0.9 - 0.1 * i) for i, skill in enumerate(entry.skills)]
        assignment_replace(tools[entry.name], choices, source=Assignment.Source.HUMAN)
    return tools


def make_world() -> dict[str, Tool]:
    for skill_id, description in SKILLS.items():
        make_skill(skill_id, description)
    tools = make_tools(*TOOLS)
    index_refresh()
    return tools


def server(name: str) -> Server:
    return Server.objects.get(name=name)
