"""Bundles, pages and their policy, in text and in a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from flagfall.viewer import pages
from flagfall.viewer.pages import (
    STATIC,
    AssetError,
    bundle,
    content_security_policy,
    module_graph,
    self_contained_page,
    served_page,
    stylesheet,
)
from tests.viewer.browser import (
    Complaints,
    OpenPage,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)

MODULES = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*.js"))
STYLES = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*.css"))
HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u202er \x00\x1b[31m\ud800 ]]>"

DEMO = """\
import { readBlock, inflate } from "../common/blocks.js";
import { el, fill, plain, visible } from "../common/dom.js";
import { bindKeys } from "../common/keys.js";
import { countOf, duration } from "../common/format.js";
import { axisBottom, axisLeft, bandPath, bar, drawing, linear, linePath, svg } from "../common/svg.js";

const page = document.getElementById("page");
const x = linear([0, 10], [40, 380]);
const y = linear([0, 1], [100, 10]);
const text = readBlock("hostile");
window.bytes = readBlock("bytes");
window.inflated = inflate(readBlock("zlib")).then((bytes) => new TextDecoder().decode(bytes));
fill(page,
  el("h1", {}, "Title ", visible(text.name)),
  el("p", { id: "long" }, visible(text.long)),
  el("p", { title: plain(text.name) }, countOf(1, "turn"), " in ", duration(12_345_678)),
  el("section", { class: "panel" },
    el("button", { class: "primary", onclick: (event) => fill(event.target, "pressed") }, "Press"),
    el("button", {}, "Other"),
    ["late", "bad", "good", "credit"].map((one) => el("span", { class: `tag ${one}` }, one)),
    el("p", { class: "notice" }, "A notice"), el("p", { class: "notice bad" }, "A problem"),
    el("p", { class: "muted" }, "Muted words")),
  drawing(400, 140, "A line in a band",
    axisLeft(y, 40, { across: 340 }), axisBottom(x, 100, { label: "turns" }),
    svg("path", { d: bandPath([[40, 90, 80], [380, 40, 20]]), fill: "var(--think-soft)" }),
    svg("path", { d: linePath([[40, 85], [200, NaN], [380, 30]]), stroke: "var(--think)", fill: "none" }),
    bar(100, 50, 20, 50, { title: "a bar" })));
const next = () => Object.assign(page.dataset, { pressed: "n" });
bindKeys([{ keys: ["n", "ArrowRight"], does: "Next", group: "Move", run: next }]);
"""


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that takes the place of the static one."""
    static = tmp_path / "static"
    static.mkdir()
    monkeypatch.setattr(pages, "STATIC", static)
    caches = [pages._source, bundle, stylesheet]
    for cache in caches:
        cache.cache_clear()
    yield static
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def demo(static: Path) -> str:
    """The entry of a page that uses all shared modules, in a copy of the static folder."""
    for name in [*MODULES, *STYLES]:
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_bytes((STATIC / name).read_bytes())
    (static / "demo").mkdir()
    (static / "demo/main.js").write_text(DEMO)
    return "demo/main.js"


@pytest.fixture
def demo_page(demo: str, tmp_path: Path) -> Path:
    long = "x" * 2_000_000
    blocks = {
        "hostile": {"name": HOSTILE, "long": long, "number": float("nan")},
        "bytes": bytes(range(256)),
        "zlib": zlib.compress(b"deflated"),
    }
    path = tmp_path / "demo.html"
    path.write_bytes(self_contained_page(title=f"Demo {HOSTILE}", entry=demo, blocks=blocks))
    return path


class Scripts(HTMLParser):
    """Collects the start tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag} {dict(attrs).get('type', '')}".strip())


def test_a_bundle_holds_each_module_once_after_those_it_imports(demo: str) -> None:
    order = module_graph(demo)
    assert order[-1] == demo
    assert order.index("common/dom.js") < order.index("common/keys.js")
    assert len(set(order)) == len(order) == 6
    text = bundle(demo)
    assert not re.search(r"^(import|export)\b", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_joined(name: str) -> None:
    assert bundle(name)


@pytest.mark.parametrize("name", STYLES)
def test_every_style_can_stand_in_a_page(name: str) -> None:
    assert "{" in stylesheet(name)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"main.js": 'import { a } from "./b.js";\n'}, "b.js: no such file"),
        ({"main.js": 'import { a } from "../../../setup.js";\n'}, "no such file"),
        (
            {"main.js": 'import { a } from "./b.js";\n', "b.js": 'import { c } from "./main.js";\n'},
            "each other",
        ),
        (
            {
                "main.js": 'import { a } from "./b.js";\nconst c = 1;\n',
                "b.js": "export const a = 1;\nlet c;\n",
            },
            "declares c",
        ),
        ({"main.js": 'import { a } from "./b.js";\n', "b.js": "const a = 1;\n"}, "exports no a"),
        ({"main.js": 'import a from "./b.js";\n', "b.js": ""}, "cannot be joined"),
        ({"main.js": 'import * as a from "./b.js";\n', "b.js": ""}, "cannot be joined"),
        (
            {"main.js": 'import { a as b } from "./b.js";\n', "b.js": "export const a = 1;\n"},
            "exports no a as b",
        ),
        ({"main.js": "export default 1;\n"}, "cannot be joined"),
        ({"main.js": "const a = '</SCRIPT>';\n"}, "end the script"),
    ],
)
def test_what_cannot_be_joined_is_refused(static: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (static / name).write_text(text)
    with pytest.raises(AssetError, match=message):
        bundle("main.js")


def test_hostile_titles_and_blocks_start_no_element(demo_page: Path) -> None:
    parser = Scripts()
    parser.feed(demo_page.read_text())
    scripts = [tag for tag in parser.tags if tag.startswith("script")]
    assert scripts == [
        "script application/json",
        "script application/octet-stream",
        "script application/octet-stream",
        "script module",
    ]
    assert "img" not in parser.tags


def test_a_block_has_a_plain_id(demo: str) -> None:
    with pytest.raises(ValueError, match="no id of a block"):
        self_contained_page(title="", entry=demo, blocks={'"><script>': 1})


def test_a_page_shows_hostile_text_as_text_and_runs_nothing_else(
    demo_page: Path, open_page: OpenPage
) -> None:
    page = open_page(demo_page)
    heading = page.locator("h1")
    assert "</script><script>alert(1)</script>" in heading.inner_text()
    assert r"\u202e" in heading.inner_text()
    assert r"\x00\e[31m\ud800" in heading.inner_text()
    assert page.locator("script").count() == 4
    assert page.title().startswith("Demo </script><script>alert(1)")
    assert page.evaluate("Array.from(bytes)") == list(range(256))
    assert page.evaluate("inflated") == "deflated"
    long = page.locator("#long")
    assert len(long.inner_text()) < 3000
    long.locator("button").click()
    assert 99_000 < len(long.inner_text()) < 101_000


def test_the_policy_of_a_page_blocks_other_scripts_and_requests(
    demo_page: Path, open_page: OpenPage, complaints: Complaints
) -> None:
    page = open_page(demo_page)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.injected = 1";
        document.body.append(script);
        const style = document.createElement("style");
        style.textContent = "body { background: red }";
        document.body.append(style);
        document.body.setAttribute("onclick", "window.injected = 2");
        document.body.click();
        new Image().src = "http://127.0.0.1:9/x.png";
    }""")
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')") == "blocked"
    assert page.evaluate("window.injected") is None
    page.close()  # nothing comes later
    found = [text for text in complaints.found if "Content Security Policy" in text]
    complaints.found.clear()
    assert len(found) >= 4, "the browser reports each violation, and the harness notices"


def test_the_harness_notices_errors_and_requests(
    open_page: OpenPage, complaints: Complaints, tmp_path: Path
) -> None:
    path = tmp_path / "bad.html"
    path.write_text(
        "<script>console.error('one'); fetch('http://127.0.0.1:9/two'); throw Error('three')</script>"
    )
    page = open_page(path)
    wanted = {"console: one", "request: http://127.0.0.1:9/two", "script: three"}
    until = time.monotonic() + 30
    while missing := {one for one in wanted if one not in " ".join(complaints.found)}:
        assert time.monotonic() < until, missing
        page.wait_for_timeout(20)
    page.close()  # it may complain again
    complaints.found.clear()


def test_keys_and_their_sheet(demo_page: Path, open_page: OpenPage) -> None:
    page = open_page(demo_page)
    page.keyboard.press("ArrowRight")
    assert page.locator("main").get_attribute("data-pressed") == "n"
    page.keyboard.press("?")
    assert page.locator("dialog dd").all_inner_texts() == [
        "Next",
        "Leave a field; empty a search first",
        "Show or hide this sheet",
    ]
    check_accessibility(page)
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 0
    page.locator("button.primary").focus()
    page.keyboard.press("Enter")
    assert page.locator("button.primary").inner_text() == "pressed"


def test_shared_looks_are_accessible(
    demo_page: Path, open_page: OpenPage, width: int, screenshot: Screenshots
) -> None:
    page = open_page(demo_page, width=width)
    for scheme in in_schemes(page):
        check_accessibility(page)
        check_width(page)
        assert screenshot(page, f"pages-{width}-{scheme}").stat().st_size > 1000


def test_a_served_page_names_files_and_holds_no_code() -> None:
    text = served_page(
        title=HOSTILE, entry="demo/main.js", blocks={"a": [HOSTILE]}, styles=["demo/x.css"]
    ).decode()
    assert '<script type="module" src="/static/demo/main.js"></script>' in text
    assert text.index("common/theme.css") < text.index("common/base.css") < text.index("demo/x.css")
    assert "<style" not in text
    assert text.count("<script") == 2
    assert "unsafe" not in content_security_policy()


class Served(SimpleHTTPRequestHandler):
    """Serves a page and the static folder as the viewer's server does."""

    def __init__(self, *args: object, page: bytes, static: Path, **more: object) -> None:
        self.page_bytes = page
        self.static = static
        super().__init__(*args, directory=str(static.parent), **more)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page_bytes)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", content_security_policy())
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay quiet."""


def test_served_modules_stand_alone_under_the_policy(demo: str, static: Path, open_page: OpenPage) -> None:
    blocks = {"hostile": {"name": HOSTILE, "long": ""}, "bytes": b"\x01", "zlib": zlib.compress(b"deflated")}
    page_bytes = served_page(title="Demo", entry=demo, blocks=blocks)
    handler = partial(Served, page=page_bytes, static=static)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = open_page(f"http://127.0.0.1:{server.server_port}/")
        assert page.locator("h1").inner_text().startswith("Title </script>")
        assert page.evaluate("inflated") == "deflated"
        for name in MODULES:
            if not name.endswith("main.js"):  # those mount a page, and need its blocks
                assert page.evaluate(f"import('/static/{name}').then((one) => Object.keys(one).length)") > 0
        server.shutdown()


def test_a_wheel_holds_the_static_files(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert {f"flagfall/viewer/static/{name}" for name in [*MODULES, *STYLES]} <= names
