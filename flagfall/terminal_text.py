"""Text for people: untrusted text without control sequences and of bounded length, and numbers of things."""

from __future__ import annotations

__all__ = ["MAX_LINE_CHARS", "counted", "one_line", "sanitize_terminal"]

from typing import Final

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
        count: the number.
        one: the noun in the singular.
        many: its plural; by default with an `s`.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
