"""Pages as HTML: scripts and styles joined, blocks of data, and the policy that lets nothing else run.

Rule 1: a module imports by name from a relative path, `import { a, b } from "./x.js";`, and exports
    declarations, `export function a`. So joining needs no parser of JavaScript.
Rule 2: the modules of a bundle share one scope; two that declare the same name at top level are refused.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final, TypeAlias

import msgspec

from flagfall.texts import one_line

STATIC: Final = Path(__file__).parent / "static"
"""Folder of the scripts and styles; a server offers its files as `/static/...`."""

_IMPORT = re.compile(r'^import \{([\w$,\s]*)\} from "(\.\.?/[\w./-]+\.js)";\n', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b|let\b)", flags=re.MULTILINE)
_UNJOINABLE = re.compile(r"^(?:import\b|export\b).*", flags=re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:(?:async )?function\*?|class|const|let|var)\s+(?:([\w$]+)|\{([^}]*)\}|\[([^\]]*)\])",
    flags=re.MULTILINE,
)
_ENDS_SCRIPT = re.compile(r"</script|<!--", flags=re.IGNORECASE)


class AssetError(ValueError):
    """A file of the package that cannot be part of a page: a defect of the package."""


@cache
def _source(name: str) -> str:
    path = STATIC / name
    if normpath(name) != name or name.startswith(("/", "..")) or not path.is_file():
        raise AssetError(f"{name}: no such file in {STATIC}")
    return path.read_text(encoding="utf-8")


def _imports(name: str) -> list[tuple[str, list[str]]]:
    """Return the modules that a module imports, each with the imported names."""
    return [
        (normpath(join(dirname(name), path)), [part.strip() for part in names.split(",") if part.strip()])
        for names, path in _IMPORT.findall(_source(name))
    ]


def _declared(source: str) -> set[str]:
    """Return the names that a module declares at top level: in lines that are not indented."""
    found: set[str] = set()
    for single, *several in _DECLARED.findall(source):
        found |= {single} if single else set(re.findall(r"[\w$]+", "".join(several)))
    return found


def module_graph(entry: str) -> list[str]:
    """Return an ES module and all that it imports, in no circle, each after those that it imports."""
    done: list[str] = []
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_:
            raise AssetError(f"{name}: modules import each other: {', '.join(open_)}")
        open_.append(name)
        for imported, _ in _imports(name):
            visit(imported)
        open_.pop()
        done.append(name)

    visit(normpath(entry))
    return done


def _joined(name: str, exported: dict[str, set[str]]) -> str:
    """Return the text of one module without its imports and the word `export`."""
    source = _source(name)
    for path, names in _imports(name):
        if missing := set(names) - exported[path]:
            raise AssetError(f"{name}: {path} exports no {', '.join(sorted(missing))}")
    text = _EXPORT.sub("", _IMPORT.sub("", source))
    if bad := _UNJOINABLE.search(text):
        raise AssetError(f"{name}: this form of import or export cannot be joined: {bad[0]}")
    if bad := _ENDS_SCRIPT.search(text):
        raise AssetError(f"{name}: {bad[0]} would end the script in a page")
    return text


@cache
def bundle(entry: str) -> str:
    """Join an ES module and all that it imports into the text of one script.

    Raises:
        AssetError: a file is missing, holds a form of import or export that cannot be joined, imports a name
            that is not exported, or declares a top-level name that another module of the bundle has.
    """
    owner: dict[str, str] = {}
    exported: dict[str, set[str]] = {}
    parts: list[str] = []
    for name in module_graph(entry):
        source = _source(name)
        for declared in sorted(_declared(source)):
            if (other := owner.setdefault(declared, name)) != name:
                raise AssetError(f"{name}: {other} declares {declared} too")
        exported[name] = _declared("\n".join(re.findall(r"^export .*", source, flags=re.MULTILINE)))
        parts.append(f"// {name}\n{_joined(name, exported)}")
    return "\n".join(parts)


@cache
def stylesheet(*names: str) -> str:
    """Join style sheets, by paths inside `STATIC`, in their order; none may load another file."""
    text = "\n".join(_source(name) for name in names)
    if bad := re.search(r"@import|</style", text, flags=re.IGNORECASE):
        raise AssetError(f"{', '.join(names)}: {bad[0]} cannot stand in a page")
    return text


# Rule 3: data never becomes HTML or script. It stands in blocks that the browser does not interpret, and the
#     page's script shows it as text.
# Rule 4: a Content-Security-Policy names the one script and the one style (or the server's own files), so
#     nothing else runs even where rule 3 is broken; nothing is loaded from elsewhere.

Block: TypeAlias = object
"""Data of a page: bytes stay bytes (base64 in the page), every other value is JSON."""

MAX_TITLE_CHARS: Final = 200
"""Longest title: a browser shows fewer, and names in journals may have megabytes."""

_BLOCK_ID = re.compile(r"[A-Za-z][\w-]*")

BASE_STYLES: Final = ("common/theme.css", "common/base.css")
"""Style sheets of every page, before its own."""


def content_security_policy() -> str:
    """Return the value of the header `Content-Security-Policy` for pages of the server."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def self_contained_page(
    *, title: str, entry: str, blocks: Mapping[str, Block], styles: Sequence[str] = ()
) -> bytes:
    """Return a page as one HTML file that needs no network.

    Args:
        entry: path of the page's module inside the static folder, such as `replay/main.js`.
        blocks: data by the id with which the script reads it; values as msgspec writes them to JSON.
        styles: style sheets of the page, after those of every page.

    Raises:
        AssetError: a script or style of the package is missing or cannot be joined.
        ValueError: an id of a block is no plain word.
    """
    return b"".join(page_parts(title=title, entry=entry, blocks=blocks.items(), styles=styles))


def page_parts(
    *, title: str, entry: str, blocks: Iterable[tuple[str, Block]], styles: Sequence[str] = ()
) -> Iterator[bytes]:
    """Yield a self-contained page in parts, each block as it comes; see `self_contained_page`."""
    script, style = bundle(entry), stylesheet(*BASE_STYLES, *styles)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    style, script = f"<style>{style}</style>", f'<script type="module">{script}</script>'
    yield from _page(title, head=head, style=style, blocks=blocks, script=script)


def served_page(*, title: str, entry: str, blocks: Mapping[str, Block], styles: Sequence[str] = ()) -> bytes:
    """Return a page of the server, whose scripts and styles are files below `/static/`; see above."""
    links = "\n".join(
        f'<link rel="stylesheet" href="/static/{escape(name)}">' for name in (*BASE_STYLES, *styles)
    )
    script = f'<script type="module" src="/static/{escape(entry)}"></script>'
    return b"".join(_page(title, head="", style=links, blocks=blocks.items(), script=script))


def _page(
    title: str, *, head: str, style: str, blocks: Iterable[tuple[str, Block]], script: str
) -> Iterator[bytes]:
    shown = escape(one_line(title, MAX_TITLE_CHARS))
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{shown}</title>\n{style}\n</head>\n<body>\n'
        '<main id="page"><noscript>This page needs JavaScript.</noscript></main>\n'
    ).encode()
    for name, block in blocks:
        yield _block(name, block)
    yield script.encode() + b"\n</body>\n</html>\n"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _block(name: str, block: Block) -> bytes:
    """Return the element that holds a block of data; the browser does not interpret its type."""
    if not _BLOCK_ID.fullmatch(name):
        raise ValueError(f"{name!r} is no id of a block: letters, digits, - and _, and a letter first")
    if isinstance(block, bytes):
        kind, content = "application/octet-stream", b64encode(block)
    else:
        kind, content = "application/json", _json(block)
    return f'<script type="{kind}" id="{name}">'.encode() + content + b"</script>\n"


def _json(block: Block) -> bytes:
    """Return JSON that holds no `<`, so that no end of an element can stand in it; NaN is null."""
    try:
        text = msgspec.json.encode(block)
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot hold; JSON's escapes can
        text = json.dumps(json.loads(json.dumps(block), parse_constant=lambda _: None)).encode()
    return text.replace(b"<", b"\\u003c")
