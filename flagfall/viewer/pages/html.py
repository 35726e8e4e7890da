"""Pages as HTML: one file that stands alone, or a page of the server. Pure.

Rule 1: data never becomes HTML or script. It stands in blocks that the browser does not interpret, and the
    page's script shows it as text.
Rule 2: a Content-Security-Policy names the one script and the one style (or the server's own files), so
    nothing else runs even where rule 1 is broken; nothing is loaded from elsewhere.
"""

from __future__ import annotations

__all__ = ["Block", "content_security_policy", "self_contained_page", "served_page"]

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Final, TypeAlias

import msgspec

from flagfall.terminal_text import one_line
from flagfall.viewer.pages.assets import bundle, stylesheet

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
        title: title of the page; any text.
        entry: path of the page's module inside the static folder, such as `replay/main.js`.
        blocks: data by the id with which the script reads it; values as msgspec writes them to JSON.
        styles: style sheets of the page, after those of every page.

    Raises:
        AssetError: a script or style of the package is missing or cannot be joined.
        ValueError: an id of a block is no plain word.
    """
    script, style = bundle(entry), stylesheet(*BASE_STYLES, *styles)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return _page(
        title,
        head=head,
        style=f"<style>{style}</style>",
        blocks=blocks,
        script=f'<script type="module">{script}</script>',
    )


def served_page(*, title: str, entry: str, blocks: Mapping[str, Block], styles: Sequence[str] = ()) -> bytes:
    """Return a page of the server, whose scripts and styles are files below `/static/`.

    Args:
        title: title of the page; any text.
        entry: path of the page's module inside the static folder.
        blocks: data by the id with which the script reads it.
        styles: style sheets of the page, after those of every page.

    Raises:
        ValueError: an id of a block is no plain word.
    """
    links = "\n".join(
        f'<link rel="stylesheet" href="/static/{escape(name)}">' for name in (*BASE_STYLES, *styles)
    )
    script = f'<script type="module" src="/static/{escape(entry)}"></script>'
    return _page(title, head="", style=links, blocks=blocks, script=script)


def _page(title: str, *, head: str, style: str, blocks: Mapping[str, Block], script: str) -> bytes:
    shown = escape(one_line(title, MAX_TITLE_CHARS))
    start = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{shown}</title>\n{style}\n</head>\n<body>\n'
        '<main id="page"><noscript>This page needs JavaScript.</noscript></main>\n'
    ).encode()
    parts = [_block(name, block) for name, block in blocks.items()]
    return b"".join([start, *parts, script.encode(), b"\n</body>\n</html>\n"])


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
