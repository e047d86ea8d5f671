"""Two tenants, and the two locks that keep them apart."""

from collections.abc import Iterator

import pytest
from django.db import connection, connections

from knowledge.models import Chunk
from knowledge.services.extractions import extraction_create
from knowledge.services.ingest import sources_embed
from skills.models import Suggestion
from tests.knowledge.library import add
from tests.tenants.people import Side, make_sides
from tests.tenants.walls import filters_off


@pytest.fixture
def sides(transactional_db: None) -> tuple[Side, Side]:
    made = make_sides()
    for side in made:
        text = f"# Meetings\n\nHow {side.mark} plans calendar events: book a room, then invite everybody.\n"
        source = add("handbook.md", text, tenant=side.tenant, title=f"Handbook of {side.mark}")
        chunk = Chunk.objects.filter(source=source).first()
        assert chunk is not None
        extraction_create(chunk, type="decision", content={"text": f"Decided by {side.mark}."}, topics=[])
        Suggestion.objects.create(
            tenant=side.tenant,
            key=f"idea {side.mark}",
            name=f"Idea {side.mark}",
            description=f"For {side.mark} only.",
            origin=Suggestion.Origin.PROPOSE,
        )
    sources_embed(None)
    return made


@pytest.fixture(params=["both locks", "row-level security alone"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A connection takes its wrappers when it is opened, so all are opened anew."""
    if request.param == "both locks":
        yield request.param
        return
    connections.close_all()
    connection.execute_wrappers.clear()
    with filters_off(monkeypatch):
        yield request.param
    connections.close_all()
    connection.execute_wrappers.clear()
