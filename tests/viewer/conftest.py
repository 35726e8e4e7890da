"""One browser for all tests of pages, and pages that fail the test on any error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.viewer.browser import ARTEFACTS, NARROW, WIDE, Complaints, OpenPage, Scheme, Screenshots, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser, one for all tests of a process."""
    with chromium() as running:
        yield running


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """Errors of the pages of the test; what is left in it at the end fails the test."""
    complaints = Complaints()
    yield complaints
    assert complaints.found == []


@pytest.fixture
def open_page(browser: Browser, complaints: Complaints) -> Iterator[OpenPage]:
    """Make watched pages, each in a context of its own, closed with the test."""
    with ExitStack() as contexts:

        def open_page(
            url: str | Path | None = None,
            *,
            width: int = WIDE,
            height: int = 900,
            scheme: Scheme = "light",
            reduced_motion: bool = False,
        ) -> Page:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce" if reduced_motion else "no-preference",
                has_touch=width == NARROW,
            )
            contexts.callback(context.close)
            page = context.new_page()
            complaints.watch(page)
            if url is not None:
                page.goto(url.as_uri() if isinstance(url, Path) else url)
            return page

        yield open_page


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """An empty watched page, 1280 pixels wide."""
    return open_page()


@pytest.fixture(params=[NARROW, WIDE])
def width(request: pytest.FixtureRequest) -> int:
    """Width in pixels: the two in which every page is checked, each in both colour schemes."""
    found: int = request.param
    return found


@pytest.fixture(scope="session")
def screenshot(tmp_path_factory: pytest.TempPathFactory) -> Screenshots:
    """Write screenshots to the folder of artefacts."""
    named = os.environ.get(ARTEFACTS)
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return Screenshots(folder)
