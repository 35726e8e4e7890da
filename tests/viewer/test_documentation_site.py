"""The documentation site builds without warnings, its links lead somewhere, and it is accessible."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

import pytest

from tests.test_documents import CODE, FACADE, LINK, anchors
from tests.viewer.browser import NARROW, WIDE, OpenPage, Scheme, check_accessibility, check_width

ROOT: Final = Path(__file__).parents[2]

MAX_LINES: Final = 500
"""A page longer than this is two pages."""


KINDS: Final = ("architecture", "index", "reference-tournament", "search", "time", "tutorial")
"""A page of each kind: the picture, the contents, a module, a script, tables, programs with their outputs."""

WINDOWS: Final[tuple[tuple[int, Scheme], ...]] = ((NARROW, "dark"), (WIDE, "light"))

MAX_EXAMINED: Final = int(os.environ.get("FLAGFALL_EXAMINED_PAGES", "6"))
"""Pages that axe-core examines, those of `KINDS` first; it takes a second for each width."""


class Links(HTMLParser):
    """Collects the targets of the links of a page, and the anchors that it has."""

    NAMES: ClassVar = ("href", "src")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in self.NAMES and value:
                self.targets.add(value)
            elif name == "id" and value:
                self.anchors.add(value)


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built once for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    built = shared / "documentation-site"
    with (shared / "documentation-site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            words = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(shared / "documentation-trees")]
            folders = [str(ROOT / "docs"), str(shared / "unfinished-site")]
            command = [sys.executable, "-m", "sphinx", *words, *folders]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr
            (shared / "unfinished-site").rename(built)
    return built


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def broken_links(site: Path) -> list[str]:
    """Return the internal links of a site whose file or anchor does not exist."""
    pages = {page: Links(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    broken = []
    for page, links in pages.items():
        for link in links.targets:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append(f"{page.name}: {link}")
    return broken


def test_every_page_is_in_the_site_and_every_link_leads_somewhere(site: Path) -> None:
    sources = sorted((ROOT / "docs").glob("*.md"))
    assert [page.stem for page in sources if not (site / f"{page.stem}.html").is_file()] == []
    assert broken_links(site) == []


def test_every_page_is_there_as_markdown_and_every_link_of_it_leads_somewhere(site: Path) -> None:
    listed = (site / "llms.txt").read_text()
    assert not [
        page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in listed + "(index.md)"
    ]
    assert "{toctree}" not in (site / "llms-full.txt").read_text()
    broken = []
    for page in (site / "llms.txt", *site.glob("*.md")):
        for link in LINK.findall(CODE.sub("", page.read_text())):
            path, _, anchor = link.partition("#")
            target = site / path if path else page
            if not urlsplit(link).scheme and not (
                target.is_file() and (not anchor or anchor in anchors(target.read_text()))
            ):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_every_public_name_is_described(site: Path) -> None:
    described = {
        anchor for page in site.glob("reference*.html") for anchor in Links(page.read_text()).anchors
    }
    in_markdown = "".join(page.read_text() for page in site.glob("reference*.md"))
    for module, of in FACADE.items():
        homes = {name: "flagfall" if name in FACADE["flagfall"].__all__ else module for name in of.__all__}
        names = {f"{home}.{name}" for name, home in homes.items()} - {
            "flagfall.events"
        }  # which has its own page
        assert names <= described
        assert not [name for name in names if f" {name}\n" not in in_markdown]


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">1</a><a href="#y">2</a><p id="y"></p>')
    (tmp_path / "b.html").write_text('<a href="a.html#y">3</a><a href="c.html">4</a>')
    assert sorted(broken_links(tmp_path)) == ["a.html: b.html#x", "b.html: c.html"]


def test_no_page_is_too_long() -> None:
    long = {
        page.name: lines
        for page in (ROOT / "docs").glob("*.md")
        if (lines := page.read_text(encoding="utf-8").count("\n")) > MAX_LINES
    }
    assert long == {}


def test_every_page_fits_its_window_and_the_first_are_accessible(
    site: Path, address: str, open_page: OpenPage
) -> None:
    names = sorted((file.stem for file in site.glob("*.html")), key=lambda name: (name not in KINDS, name))
    page = open_page()
    for at, name in enumerate(names):
        for width, scheme in WINDOWS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.goto(f"{address}/{name}.html")
            check_width(page)
            if at < MAX_EXAMINED:
                check_accessibility(page)
