"""The converter accepts exactly what the types of a class allow, and reports everything else at once."""

from typing import Annotated, Any, Literal

import attrs
import pytest

from flagfall.configfile.converter import Bounds, Count, Parsed, Problems, Texts, structure
from flagfall.configfile.files import read_json, read_toml
from flagfall.errors import UsageError
from flagfall.timing.durations import parse_duration


@attrs.frozen(kw_only=True)
class Table:
    name: str
    count: Count | None = None
    share: Annotated[int | float, Bounds(0, 1)] = 1
    real: float = 0.0
    flag: bool = False
    names: Texts | None = None
    kind: Literal["a", "b"] = "a"
    wait: Annotated[int, Parsed(parse_duration)] | None = None
    many: tuple[Count, ...] = ()


def problems_of(table: Any) -> list[str]:
    problems = Problems("file")
    structure(table, Table, ("it",), problems)
    with pytest.raises(UsageError) as caught:
        problems.raise_if_any()
    return [line.strip().removeprefix("file: ") for line in str(caught.value).splitlines()]


def test_values_keep_the_type_that_their_field_has():
    problems = Problems("file")
    data = {"name": "n", "share": 1, "real": 3, "names": "one", "wait": "2ms", "many": [1, 2]}
    table = structure(data, Table, (), problems)
    assert table == Table(name="n", share=1, real=3.0, names=("one",), wait=2_000_000, many=(1, 2))
    assert table is not None
    assert (type(table.share), type(table.real)) == (int, float)
    assert not problems


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", "", "it.name: expected a text in quotes, got ''"),
        ("count", 0, "it.count: expected a whole number of at least 1, got 0"),
        ("count", True, "it.count: expected a whole number of at least 1, got True"),
        ("count", 1.0, "it.count: expected a whole number of at least 1, got 1.0"),
        ("share", float("nan"), "it.share: expected a number from 0 to 1, got nan"),
        ("share", None, "it.share: expected a number from 0 to 1, got None"),
        ("real", float("inf"), "it.real: expected a number, got inf"),
        ("flag", 1, "it.flag: expected true or false, got 1"),
        ("names", ["a", 1], "it.names: expected a text or a list of texts, got ['a', 1]"),
        ("kind", "c", "it.kind: unknown value 'c'; known: a, b"),
        ("kind", [], "it.kind: unknown value []; known: a, b"),
        ("many", 1, "it.many: expected a list, got 1"),
        ("coutn", 1, "it.coutn: unknown name 'coutn'; nearest: count"),
    ],
)
def test_other_values_are_refused_with_their_place(key, value, message):
    assert problems_of({"name": "n", key: value}) == [message]


def test_a_number_too_large_to_be_a_float_is_refused():
    (message,) = problems_of({"name": "n", "real": 10**400})
    assert message.startswith("it.real: expected a number, got 1000")
    assert len(message) < 200


def test_all_problems_of_a_table_are_reported_at_once():
    found = problems_of({"count": 0, "many": [0, 1, -1], "x": 1})
    assert found == [
        "5 problems:",
        "it.name: required, but missing",
        "it.count: expected a whole number of at least 1, got 0",
        "it.many: expected a whole number of at least 1, got 0",
        "it.many: expected a whole number of at least 1, got -1",
        "it.x: unknown name 'x'; known: name, count, share, real, flag, names, kind, wait, many",
    ]


@pytest.mark.parametrize(
    ("read", "text"),
    [(read_toml, "a = 1\n[b]\nc = 2\n"), (read_json, '{"a": 1,\n"b":\n{"c": 2}}')],
)
def test_problems_of_a_file_are_ordered_by_line_and_kept_once(read, text):
    problems = read(text, "file").problems
    problems.add(("b", "c"), "second")
    problems.add(("a",), "first")
    problems.add(("b", "c"), "second")
    with pytest.raises(UsageError, match=r"2 problems:\n  line 1: a: first\n  line 3: b.c: second$"):
        problems.raise_if_any()


@pytest.mark.parametrize(("read", "deep"), [(read_toml, "a = {0}"), (read_json, '{{"a": {0}}}')])
def test_files_are_bounded(read, deep):
    assert read(deep.format("[" * 15 + "]" * 15), "file").data
    with pytest.raises(UsageError, match="file: tables and lists are nested more than 16 levels deep"):
        read(deep.format("[" * 16 + "]" * 16), "file")
    with pytest.raises(UsageError, match="file: 8388609 characters; the limit is 8388608"):
        read(" " * (8 * 2**20 + 1), "file")
