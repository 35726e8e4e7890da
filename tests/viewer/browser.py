"""A real headless Chromium for tests of pages: watched pages, accessibility, screenshots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args
from urllib.parse import urlsplit

import attrs
import pytest

from benchmarks.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Scheme = Literal["light", "dark"]
SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)

ARTEFACTS: Final = "FLAGFALL_TEST_ARTEFACTS"
"""Environment variable: the folder that keeps screenshots; without it they go with pytest's own files."""

NARROW, WIDE = 390, 1280

FLAGS: Final = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser; skip the test where it is not installed."""
    path, missing = find_browser()
    if missing:
        pytest.skip(missing)
    from playwright import sync_api  # noqa: PLC0415 - not everywhere installed

    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@attrs.define
class Complaints:
    """Errors in the pages of a test; a test that expects one takes it out.

    Attributes:
        found: errors on the console (violations of the policy among them), errors of scripts, and requests to
            anything but the page's own origin.
    """

    found: list[str] = attrs.field(factory=list)
    _origins: set[str] = attrs.field(factory=set)

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.found.append(f"script: {error}"))
        page.on(
            "request", lambda request: self._request(request.url, navigation=request.is_navigation_request())
        )
        page.on(
            "websocket", lambda socket: self._request(socket.url.replace("ws", "http", 1), navigation=False)
        )

    def _console(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.found.append(f"console: {text}")

    def _request(self, url: str, *, navigation: bool) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"data", "blob", "about"}:
            return
        origin = f"{parts.scheme}://{parts.netloc}"
        if navigation and (parts.scheme == "file" or parts.hostname in {"127.0.0.1", "localhost"}):
            self._origins.add(origin)
        elif parts.scheme == "file" or origin not in self._origins:
            self.found.append(f"request: {url}")


OpenPage = Callable[..., "Page"]
"""`open_page(url=None, *, width=WIDE, height=900, scheme="light", reduced_motion=False)`: a watched page."""


def in_schemes(page: Page, schemes: Sequence[Scheme] = SCHEMES) -> Iterator[Scheme]:
    """Show a page in one colour scheme after the other, and yield the one that is shown."""
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        yield scheme


def check_accessibility(page: Page) -> None:
    """Fail if axe-core finds something serious in the page, or its text has backticks, which are read out."""
    shown = page.inner_text("body")
    for code in page.locator("pre").all_inner_texts():
        shown = shown.replace(code, "")
    assert "`" not in shown, shown[max(0, shown.index("`") - 200) :][:400]
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    violations = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    found = [
        f"{one['impact']} {one['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in violations
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]
    assert not found, "\n".join(found)


def check_width(page: Page) -> None:
    """Fail if the page is wider than its window, so that it would scroll sideways."""
    wide, window = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= window


@attrs.frozen
class Screenshots:
    """The folder of screenshots.

    Args:
        folder: where they are written, under names of the tests' choice.
    """

    folder: Path

    def __call__(self, page: Page, name: str, *, full_page: bool = False) -> Path:
        """Write a screenshot and return its path.

        Args:
            page: the page.
            name: name of the file without its ending, such as `replay-vgdl-390-dark`.
            full_page: the whole page instead of what the window shows.
        """
        path = self.folder / f"{name}.png"
        page.screenshot(path=path, full_page=full_page, animations="disabled")
        return path
