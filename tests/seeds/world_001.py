"""The servers that the scenarios of seed 001 speak of."""

from skills.models import Capability, Skill
from skills.services.capabilities import capability_save
from tests.world import Entry, make_skill, make_tools
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh

SKILLS = {
    "file_operations": "Read, write, move, copy and delete files and folders on disk.",
    "code_search": "Find text and symbols in the files of a project.",
    "version_control": "Commit changes, create branches, show diffs and merge in a Git repository.",
    "shell_execution": "Run commands and scripts in a shell or terminal.",
    "databases": "Query tables of a database with SQL.",
}
TOOLS = (
    Entry("read_file", "Read file contents from disk", ("file_operations",), server="desktop-commander"),
    Entry("search_files", "Search for files by name pattern", ("file_operations",), server="desktop-commander"),
    Entry("search_code", "Find files that contain a text", ("code_search",), server="desktop-commander"),
    Entry("execute_command", "Run a command in a terminal", ("shell_execution",), server="desktop-commander"),
    Entry("read", "Read file from filesystem", ("file_operations",), server="filesystem"),
    Entry("query", "Run an SQL query on a database", ("databases",), server="postgres"),
    Entry("list_tables", "List the tables of a database", ("databases",), server="postgres"),
    Entry("explain_query", "Explain how a database query runs", ("databases",), server="postgres"),
    Entry("import_csv", "Import a CSV file into a database table", ("databases",), server="postgres"),
    Entry("backup", "Back up a database", ("databases",), server="postgres"),
    Entry("database_query_log", "Show the log of database queries", ("databases",), server="postgres"),
)


def make_world_001() -> dict[str, Tool]:
    for skill_id, description in SKILLS.items():
        make_skill(skill_id, description)
    tools = make_tools(*TOOLS)
    shell, git = (Skill.objects.get(pk=name) for name in ("shell_execution", "version_control"))
    capability_save(Capability(provider=shell, need=git, weight=0.9))
    index_refresh()
    return tools
