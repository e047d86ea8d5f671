"""A few documents for tests, taken in through the same service as real ones."""

from typing import Any

from knowledge.models import Source
from knowledge.services.ingest import source_ingest, sources_embed
from knowledge.types import SourceSpec
from tenants.models import Tenant
from tools_catalog.services.reindex import index_refresh

HARBOUR = """---
title: Harbour handbook
authors: [Ines Quill, Tomas Reed]
tags: [harbour, tides]
type: book
year: 2021
rating: 4.5
draft: false
---
Everything about the harbour.

# Tides

## Reading the tide table

High tide and low tide alternate about every six hours. Read the tide table before you leave the mooring.

## Spring tides

When sun and moon pull together the range between high and low water is largest.

# Moorings

Tie the boat with two lines at the bow and one at the stern. Check the knots after every storm.
"""
BREAD = """---
title: Bread at home
authors: Mara Ostin
tags: [baking]
year: 2019
rating: 3
---
# Sourdough

Feed the starter with flour and water twice a day until it doubles in size.

# Baking

Bake the loaf in a hot oven on a stone. Steam keeps the crust soft for the first ten minutes.
"""
BACKUPS = """<html><head><title>Backups that work</title><meta name="author" content="Jon Vale">
<meta name="keywords" content="operations, databases"></head><body><nav>Home</nav>
<h1>Backups that work</h1><h2>Restoring</h2><p>A backup that was never restored is no backup. Restore the database to a
spare machine every month.</p><h2>Rotation</h2><p>Keep seven daily and four weekly copies.</p></body></html>"""
NOTES = "Meeting notes. We talked about the budget for the new office and about chairs."

DOCUMENTS = {
    "harbour.md": ("markdown", HARBOUR),
    "bread.md": ("markdown", BREAD),
    "backups.html": ("html", BACKUPS),
    "notes.txt": ("text", NOTES),
}


def add(path: str, content: str | bytes, kind: str = "markdown", tenant: Tenant | None = None, **given: Any) -> Source:
    data = content.encode() if isinstance(content, str) else content
    report = source_ingest(SourceSpec(path, kind, data, **given), tenant=tenant)
    assert report.source_id is not None
    return Source.objects.get(pk=report.source_id)


def make_library(tenant: Tenant | None = None) -> dict[str, Source]:
    index_refresh()
    sources = {path: add(path, content, kind, tenant) for path, (kind, content) in DOCUMENTS.items()}
    sources_embed(None)
    return sources
