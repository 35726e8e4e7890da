"""Texts: untrusted ones as a terminal may show them, in one line of bounded length; short names of tasks."""

from __future__ import annotations

from random import Random

import pytest

from flagfall.texts import MAX_LINE_CHARS, one_line, sanitize_terminal, short_names


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


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["vgdl:windfall#0"], ["windfall#0"]),
        (["vgdl:windfall#0", "vgdl:windfall#1"], ["windfall#0", "windfall#1"]),
        (["vgdl:a#0:observation=image", "vgdl:a#1:observation=image"], ["a#0", "a#1"]),
        (["vgdl:a#0:pixels=7", "vgdl:a#0:pixels=9"], ["a#0?pixels=7", "a#0?pixels=9"]),
        (["my.py:Guess?size=20&seed=1", "my.py:Guess?size=30&seed=1"], ["Guess?size=20", "Guess?size=30"]),
        (["micro1", "x:micro1"], ["micro1", "x:micro1"]),
        (["a:b", "c:b", "c:d"], ["a:b", "c:b", "d"]),
        (["set micro1", "set micro2"], ["micro1", "micro2"]),
        (["gym:ALE/Pong-v5", "gym:ALE/Boxing-v5"], ["Pong-v5", "Boxing-v5"]),
        (["micro5.1", "micro5.2"], ["micro5.1", "micro5.2"]),
        (["foo?x=1", "vgdl:foo:x=1", "vgdl:foo:x=2"], ["foo?x=1", "vgdl:foo?x=1", "foo?x=2"]),
        (["a:x/b", "c:x/d", "x/d"], ["x/b", "c:x/d", "x/d"]),
        (["", ":", "?", "a:", "\0:b", "vgdl:a +2"], ["", ":", "?", "a:", "b", "a +2"]),
        ([], []),
    ],
)
def test_names_of_tasks_are_as_short_as_they_are_different(names: list[str], short: list[str]) -> None:
    assert short_names(names) == dict(zip(names, short, strict=True))


def test_any_names_stay_different() -> None:
    random = Random(1)
    for _ in range(2000):
        parts = ["a", "b", ":", "?", "=", "&", " ", "/", ".", "#", "x=1"]
        names = {"".join(random.choices(parts, k=random.randrange(6))) for _ in range(4)}
        short = short_names(names)
        assert short.keys() == names
        assert len(set(short.values())) == len(names)
