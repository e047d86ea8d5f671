"""Chromium for tests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@contextmanager
def page_in_chromium(profile: Path, width: int = 1200, height: int = 900) -> Iterator[Page]:
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=CHROMIUM,
            args=[*FLAGS, "--disable-component-update"],
            viewport={"width": width, "height": height},
        )
        yield context.pages[0] if context.pages else context.new_page()
        context.close()
