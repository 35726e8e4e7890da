import json

import pytest

from flagfall.configfile.files import JsonPositions

TEXT = """\
{
  "worlds": {"gw": {"type": "grid, {or} so"}},
  "tasks": {
    "a \\"quoted\\" name": {
      "type": "x"
    },
    "many": [1, "two",
      [3,
       {"deep": true}],
      null]
  },
  "twice": 1,
  "twice": 2
}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("worlds",), 2),
        (("worlds", "gw", "type"), 2),
        (("tasks",), 3),
        (("tasks", 'a "quoted" name', "type"), 5),
        (("tasks", "many"), 7),
        (("tasks", "many", 1), 7),
        (("tasks", "many", 2, 0), 8),
        (("tasks", "many", 2, 1, "deep"), 9),
        (("tasks", "many", 3), 10),
        (("tasks", "none of these"), 3),
        (("twice",), 13),
        (("not",), None),
        ((), None),
    ],
)
def test_every_value_stands_on_its_line(path, line):
    assert JsonPositions(TEXT).line(path) == line


def test_a_text_of_one_line_gives_no_lines():
    assert JsonPositions(json.dumps(json.loads(TEXT))).line(("tasks",)) is None
