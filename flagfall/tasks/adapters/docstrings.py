"""Goal and rules of environments from their documentation: Markdown in docstrings, as plain text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from operator import itemgetter
from textwrap import dedent
from typing import Any, Final

from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS

_SECTION: Final = re.compile(r"^(?= {0,3}#+\s)", re.MULTILINE)
_BLOCK: Final = re.compile(r"\n\s*\n")
_HEADING: Final = re.compile(r" {0,3}(#+)\s+(.*)")
_RULE: Final = re.compile(r"(?=.*--)[|:\s-]+")
_OWN_LINE: Final = re.compile(r"\s*([-*+]|\d+[.)])\s|\s*\||\s{4,}[+]|[_\s]+$")
"""What begins a line of its own: items, rows of tables, drawings."""

_INLINE: Final = (
    (re.compile(r"!\[[^\[\]]{0,200}\]\([^()]{0,400}\)|</?[a-zA-Z][^<>]{0,400}>|\*\*"), ""),
    (re.compile(r"\[([^\[\]]{0,200})\]\([^()]{0,400}\)"), r"\1"),
    (re.compile(r"`([^`\n]{0,200})`"), r"\1"),
)
"""Marks of Markdown and HTML, and what remains of them."""

_FOR_PROGRAMS: Final = (
    *("argument", "version", "reference", "citation", "info", "credit", "vectorized environment"),
    "legal action",
)
"""Beginnings of the titles of sections that are not on the game; what a mask allows is shown in any case."""

_OBSERVATIONS: Final = "observation"

_FACTS: Final = ("| Creation", "| Import", "This environment is part of the")
"""Beginnings of blocks on the library at the head of PettingZoo's pages."""

MAX_DOCSTRING_CHARS: Final = 50_000
"""Longer docstrings are cut before they are read; the longest of Gymnasium has 31,000."""


def instructions_from(env: Any) -> str:
    """Return the documentation of an environment as text, without what concerns programs.

    It is the docstring of the class or, in PettingZoo, that of the module.
    """
    kind = type(env.unwrapped)
    of_module = kind.__module__.startswith("pettingzoo.")
    return plain_text((sys.modules[kind.__module__] if of_module else kind).__doc__ or "")


def plain_text(markdown: str) -> str:
    """Return Markdown as text of bounded length, with sections on observations at the end."""
    source = "\n".join(_without_code(cleandoc(markdown[:MAX_DOCSTRING_CHARS])))
    sections = sorted(_sections(source), key=itemgetter(0))
    text = "\n\n".join(text for _, text in sections)
    return text if len(text) <= MAX_INSTRUCTIONS_CHARS else f"{text[: MAX_INSTRUCTIONS_CHARS - 3]}..."


def _without_code(markdown: str) -> Iterator[str]:
    """Yield the lines besides examples and figures; blocks without a language are drawings, and kept."""
    is_code = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            is_code = line.strip() != "```"
        elif not is_code:
            yield line


def _sections(markdown: str) -> Iterator[tuple[bool, str]]:
    """Yield the sections that are on the game, with their titles, and whether they are on observations."""
    top, level, title = 1, 0, ""
    for section in _SECTION.split(markdown):
        heading = _HEADING.match(section)
        if heading is not None:
            level, own = len(heading[1]), heading[2].strip().lower()
            is_part = level > top and title.startswith((*_FOR_PROGRAMS, _OBSERVATIONS))
            if not is_part or own.startswith(_FOR_PROGRAMS):
                top, title = level, own
        if title.startswith(_FOR_PROGRAMS):
            continue
        body = dedent(section[heading.end() + 1 :] if heading else section)
        text = "\n\n".join(filter(None, map(_block, _BLOCK.split(body))))
        named = f"{heading[2].strip()}:\n{text}".strip() if heading and level > 1 else text
        if named:
            yield title.startswith(_OBSERVATIONS), named


def _block(block: str) -> str:
    """Return a paragraph, list or table; lines of prose are joined."""
    if block.strip().startswith(_FACTS):
        return ""
    lines: list[str] = []
    for line in block.splitlines():
        if not line.strip() or (line.strip().startswith("|") and _RULE.fullmatch(line)):
            continue
        text = line
        for pattern, rest in _INLINE:
            text = pattern.sub(rest, text)
        if line.startswith("|"):
            text = " | ".join(
                re.sub(r"\s+", " ", cell).strip() for cell in text.strip().strip("|").split("|")
            )
        if lines and text.strip() and not _OWN_LINE.match(line):
            lines[-1] += f" {text.strip()}"
        elif text.strip():
            lines.append(text.rstrip())
    return "\n".join(lines)
