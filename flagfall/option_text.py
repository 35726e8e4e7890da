"""Options in a text that names something: `NAME?option=value&option=value`.

Options follow a question mark as `name=value`, separated by `&`. A value is parsed as JSON (`false`, `3`,
`[1, 2]`, `"8"`); if it is not JSON, it is the text itself. `%26` stands for a `&` in it, as in URLs.
"""

from __future__ import annotations

__all__ = ["parse_text"]

import json
from typing import Any
from urllib.parse import unquote

from flagfall.errors import UsageError


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
