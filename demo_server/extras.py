"""Prompts and resources."""

from datetime import date

from mcp.server.mcpserver import MCPServer

from demo_server.store import Store


def register(server: MCPServer, store: Store) -> None:
    prompts(server, store)
    resources(server, store)


def prompts(server: MCPServer, store: Store) -> None:
    @server.prompt()
    def plan_day(day: str = "") -> str:
        """Plan a day from the to-do list and the calendar of this desk."""
        when = day or date.today().isoformat()  # noqa: DTZ011 - the day where the desk stands
        tasks = "\n".join(f"- {t['task']} (due {t['due'] or 'any day'})" for t in store.all("todos") if not t["done"])
        events = "\n".join(f"- {e['start']} to {e['end']}: {e['title']}" for e in store.all("events"))
        return (
            f"Plan {when} hour by hour. Leave room for breaks, and say what does not fit.\n\n"
            f"Tasks:\n{tasks or '- none'}\n\nAppointments:\n{events or '- none'}"
        )

    @server.prompt()
    def tidy_note(title: str, text: str) -> str:
        """Turn a hasty note into clear sentences without adding anything."""
        return f"Rewrite this note as clear sentences. Add nothing that is not in it.\n\n# {title}\n\n{text}"


def resources(server: MCPServer, store: Store) -> None:
    @server.resource("desk://notes", mime_type="text/markdown")
    def all_notes() -> str:
        """All notes of this desk as one Markdown page."""
        return "\n\n".join(f"## {n['title']}\n\n{n['text']}" for n in store.all("notes")) or "There are no notes."

    @server.resource("desk://calendar", mime_type="text/calendar")
    def calendar_file() -> str:
        """The calendar of this desk as an iCalendar file."""
        events = [
            f"BEGIN:VEVENT\r\nUID:{e['id']}@desk\r\nSUMMARY:{escaped(e['title'])}\r\n"
            f"DTSTART:{stamp(e['start'])}\r\nDTEND:{stamp(e['end'])}\r\nEND:VEVENT\r\n"
            for e in store.all("events")
        ]
        return (
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//toolscript//desk//EN\r\n"
            + "".join(events)
            + "END:VCALENDAR\r\n"
        )


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(",", "\\,").replace(";", "\\;").replace("\n", "\\n")


def stamp(time: str) -> str:
    return time[:19].replace("-", "").replace(":", "")
