"""Texts: names with options, short names, and untrusted text made safe to print."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from os.path import commonprefix
from typing import Any, Final
from urllib.parse import unquote

from flagfall.errors import UsageError

MAX_LINE_CHARS: Final = 1000
"""Longest line that `one_line` returns by default: a damaged file may hold megabytes."""


def sanitize_terminal(text: str) -> str:
    """Return the text with every character that a terminal would interpret written as an escape.

    Args:
        text: text of an agent or out of a file; line breaks and tabs stay.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return a sanitized text in a single line of bounded length.

    Args:
        text: text of any length; its lines are joined by semicolons.
        max_chars: longer texts lose their middle: the beginning names the place, and the end the fix.
    """
    line = sanitize_terminal("; ".join(part.strip() for part in text.strip().splitlines() if part.strip()))
    half = max_chars // 2
    return line if len(line) <= max_chars else f"{line[:half]} ... {line[-half:]}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number of things, with the noun in the right form: `1 task`, `2,000 turns`.

    Args:
        many: its plural; by default with an `s`.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


# Options in a text that names something: `NAME?option=value&option=value`.
#
# Options follow a question mark as `name=value`, separated by `&`. A value is parsed as JSON (`false`, `3`,
# `[1, 2]`, `"8"`); if it is not JSON, it is the text itself. `%26` stands for a `&` in it, as in URLs.


def parse_text(text: str) -> tuple[str, dict[str, Any]]:
    """Parse a name with options.

    Args:
        text: the whole text.

    Returns:
        the text before the question mark, and the options after it.

    Raises:
        UsageError: an option is not `name=value`, or is given twice.
    """
    name, mark, rest = text.partition("?")
    options: dict[str, Any] = {}
    for part in rest.split("&") if mark else ():
        key, equals, value = part.partition("=")
        if not (key and equals):
            raise UsageError(f"{text}: expected `name=value` after the question mark, got {part!r}")
        if key in options:
            raise UsageError(f"{text}: {key} is given twice")
        options[key] = _value(unquote(value))
    return name, options


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Names of tasks: `FAMILY:NAME`, with options behind it, `?option=value&option=value` or `:option=value`.

_FAMILY: Final = re.compile(r"[^\s:?#=]*:(?=[^\s:])")
_OPTION: Final = re.compile(r"[?&:]([^\s?&:=#]+=[^\s?&:]*)")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of tasks, each as short as all of them stay different: `windfall#0` for `vgdl:windfall#0`.

    Families, options and first words go that tell no two of the names apart.

    Returns:
        By name; no two are equal.
    """
    different = list(dict.fromkeys(names))
    parts = {name: _parts_of(name) for name in different}
    shared: dict[str, set[str]] = {}
    for _, bare, options in parts.values():
        shared[bare] = shared.get(bare, set(options)).intersection(options)
    left = different
    short = {name: name for name in different}
    for with_family in (False, True):
        found = {}
        for name in left:
            family, bare, options = parts[name]
            own = "&".join(option for option in options if option not in shared[bare])
            found[name] = f"{family if with_family else ''}{bare}{'?' if own else ''}{own}"
        uses = Counter(found.values())
        short |= {name: text for name, text in found.items() if uses[text] == 1}
        left = [name for name in left if uses[found[name]] > 1]
    same = commonprefix([*short.values()]) if len(short) > 1 else ""  # noqa: RUF071 - of characters
    first = re.sub(r"[^ ./]*$", "", same)
    if all(text[len(first) : len(first) + 1].isalpha() for text in short.values()):
        short = {name: text[len(first) :] for name, text in short.items()}
    return short if len(set(short.values())) == len(short) else dict(zip(different, different, strict=True))


def _parts_of(name: str) -> tuple[str, str, list[str]]:
    """Return the family with its colon, the name without options, and the options of the name of a task."""
    bare = _OPTION.sub("", name)
    family = match[0] if (match := _FAMILY.match(bare)) else ""
    return family, bare[len(family) :], _OPTION.findall(name)
