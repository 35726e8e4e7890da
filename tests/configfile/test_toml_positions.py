import pytest

from flagfall.configfile.toml_positions import TomlPositions

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
