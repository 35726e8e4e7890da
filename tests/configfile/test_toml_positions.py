import tomllib

import pytest

from flagfall.configfile.files import TomlPositions

TEXT = '''\
title = "a"
list = [
    1,  # [[not.a.header]]
]
[[tasks]]
task = "x"
text = """
[not]
a = "header"
"""
[[tasks]]
"quoted name" = 1
[tasks.more]
a.b = 2

[stop]
sprt = { elo0 = 1 }
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("list",), 2),
        (("list", 0), 2),
        (("tasks", 0), 5),
        (("tasks", 0, "task"), 6),
        (("tasks", 0, "text"), 7),
        (("tasks", 0, "nothing"), 5),
        (("tasks", 1), 11),
        (("tasks", 1, "quoted name"), 12),
        (("tasks", 1, "more", "a", "b"), 14),
        (("stop", "sprt", "elo0"), 17),
        (("not",), None),
        ((), None),
    ],
)
def test_everything_stands_on_its_line(path, line):
    assert TomlPositions(TEXT).line(path) == line
    assert TomlPositions(TEXT.replace("\n", "\r\n")).line(path) == line


def test_a_list_that_seems_to_end_in_every_line_takes_bounded_time(monkeypatch):
    parsed = 0
    real = tomllib.loads

    def counting(text: str) -> dict[str, object]:
        nonlocal parsed
        parsed += len(text)
        return real(text)

    text = "a = 1\nb = [\n" + '"]",\n' * 3000 + "]\nc = 1\n"
    monkeypatch.setattr(tomllib, "loads", counting)
    positions = TomlPositions(text)
    assert parsed <= 50 * len(text)
    assert positions.line(("a",)) == 1
    assert positions.line(("c",)) is None
