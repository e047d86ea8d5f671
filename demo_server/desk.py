"""Notes, to-dos and the calendar."""

from datetime import date, datetime
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from demo_server.store import Store

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class Note(BaseModel):
    id: int
    title: str
    text: str
    created: str


class Todo(BaseModel):
    id: int
    task: str
    due: str | None
    done: bool


class Event(BaseModel):
    id: int
    title: str
    start: str
    end: str


def register(server: MCPServer, store: Store) -> None:
    notes(server, store)
    todos(server, store)
    calendar(server, store)


def notes(server: MCPServer, store: Store) -> None:
    @server.tool(annotations=ADDS)
    def add_note(
        title: Annotated[str, Field(description="What the note is about.", min_length=1, max_length=200)],
        text: Annotated[str, Field(description="The note itself.", max_length=20_000)] = "",
    ) -> Note:
        """Write down a note with a title, to find it again later."""
        record = {"title": title, "text": text, "created": datetime.now().astimezone().isoformat("T", "seconds")}
        return Note.model_validate(store.add("notes", record))

    @server.tool(annotations=READS)
    def search_notes(
        words: Annotated[str, Field(description="Words that the note must contain. Empty: all notes.")] = "",
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> list[Note]:
        """Find notes that contain all of these words in their title or text, newest first."""
        wanted = words.lower().split()
        found = [n for n in store.all("notes") if all(w in f"{n['title']} {n['text']}".lower() for w in wanted)]
        return [Note.model_validate(note) for note in reversed(found)][:limit]

    @server.tool(annotations=DESTROYS)
    def delete_note(note_id: Annotated[int, Field(description="The id of the note.")]) -> Note:
        """Delete a note for good. The answer is the note that is gone."""
        note = store.remove("notes", note_id)
        if note is None:
            raise ToolError(f"There is no note {note_id}.")
        return Note.model_validate(note)


def todos(server: MCPServer, store: Store) -> None:
    @server.tool(annotations=ADDS)
    def add_todo(
        task: Annotated[str, Field(description="What is to be done.", min_length=1, max_length=500)],
        due: Annotated[date | None, Field(description="The day it is due, as 2026-11-30.")] = None,
    ) -> Todo:
        """Put a task on the to-do list, with a day when it is due if there is one."""
        record = {"task": task, "due": due.isoformat() if due else None, "done": False}
        return Todo.model_validate(store.add("todos", record))

    @server.tool(annotations=READS)
    def list_todos(include_done: bool = False) -> list[Todo]:
        """List the tasks on the to-do list, the most urgent first."""
        wanted = [t for t in store.all("todos") if include_done or not t["done"]]
        wanted.sort(key=lambda t: (t["done"], t["due"] or "9999", t["id"]))
        return [Todo.model_validate(todo) for todo in wanted]

    @server.tool(
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
    )
    def complete_todo(todo_id: Annotated[int, Field(description="The id of the task.")]) -> Todo:
        """Tick off a task on the to-do list as done."""
        with store.changing("todos") as records:
            todo = next((t for t in records if t["id"] == todo_id), None)
            if todo is None:
                raise ToolError(f"There is no task {todo_id}.")
            todo["done"] = True
        return Todo.model_validate(todo)


def calendar(server: MCPServer, store: Store) -> None:
    @server.tool(annotations=ADDS)
    def add_event(
        title: Annotated[str, Field(description="What happens.", min_length=1, max_length=200)],
        start: Annotated[datetime, Field(description="When it begins, as 2026-11-30T15:00.")],
        end: Annotated[datetime, Field(description="When it ends.")],
    ) -> Event:
        """Put an appointment into the calendar file of this desk."""
        if (start.tzinfo is None) != (end.tzinfo is None) or end <= start:
            raise ToolError("The end must be after the start, and both with a time zone or both without.")
        record = {"title": title, "start": start.isoformat(), "end": end.isoformat()}
        return Event.model_validate(store.add("events", record))

    @server.tool(annotations=READS)
    def list_events(
        day: Annotated[date | None, Field(description="Only this day, as 2026-11-30. None: all days.")] = None,
    ) -> list[Event]:
        """List the appointments in the calendar file of this desk, earliest first."""
        found = [e for e in store.all("events") if day is None or e["start"][:10] <= day.isoformat() <= e["end"][:10]]
        return [Event.model_validate(event) for event in sorted(found, key=lambda e: e["start"])]

    @server.tool(annotations=DESTROYS)
    def remove_event(event_id: Annotated[int, Field(description="The id of the event.")]) -> Event:
        """Remove an appointment from the calendar file of this desk."""
        event = store.remove("events", event_id)
        if event is None:
            raise ToolError(f"There is no event {event_id}.")
        return Event.model_validate(event)
