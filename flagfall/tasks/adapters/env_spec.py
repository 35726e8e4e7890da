"""Text form of environments with options: `gym:FrozenLake-v1?is_slippery=false&map_name=8x8`.

Options follow a question mark as `name=value`, separated by `&`. A value is parsed as JSON (`false`, `3`,
`[1, 2]`, `"8"`); if it is not JSON, it is the text itself. `%26` stands for a `&` in it, as in URLs. Options
are passed to the maker of the environment, except for those of the task itself.
"""

from __future__ import annotations

__all__ = ["parse_text", "split_texts"]

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from flagfall.errors import UsageError

_PARTS: Final = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},]|[^"\[\]{},]+|"')
_OPENING: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def parse_text(text: str) -> tuple[str, dict[str, Any]]:
    """Parse the text form of an environment.

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


def split_texts(text: str) -> Iterator[str]:
    """Yield the ids of tasks in a comma-separated text; commas in brackets or quotes do not separate.

    Args:
        text: the ids.
    """
    depth, begun = 0, ""
    for part in _PARTS.findall(text):
        if part == "," and depth <= 0:
            if begun:
                yield begun
            begun = ""
            continue
        depth += _OPENING.get(part, 0)
        begun += part
    if begun:
        yield begun
