"""Untrusted text on a terminal: escapes instead of control sequences, one line, bounded length."""

from __future__ import annotations

import pytest

from flagfall.texts import MAX_LINE_CHARS, one_line, sanitize_terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\rb\x7f", "a\\rb\\x7f"),
        ("\x9b2J\u202e\ud800", "\\x9b2J\\u202e\\ud800"),  # C1 control, right-to-left override, lone surrogate
        ("naïve ✓", "naïve ✓"),
    ],
)
def test_only_printable_characters_line_breaks_and_tabs_are_left(text: str, shown: str) -> None:
    assert sanitize_terminal(text) == shown


def test_one_line_joins_lines_and_keeps_the_beginning_and_the_end() -> None:
    assert one_line("  first\n\n second \x1b \n") == "first; second \\x1b"
    long = one_line("the place" + "x" * 10 * MAX_LINE_CHARS + "the fix")
    assert long.startswith("the place")
    assert long.endswith("the fix")
    assert len(long) <= MAX_LINE_CHARS + len(" ... ")
