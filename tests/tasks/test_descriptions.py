"""The language of descriptions against a naive reading of its rules, and the strings drawn for it."""

from __future__ import annotations

from itertools import combinations, product
from random import Random
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tasks.commai.mini.descriptions import (
    ANYTHING,
    Description,
    Join,
    parse,
    right_string,
    wrong_string,
)
from flagfall.tasks.commai.mini.task import MINI_SETS, make_example

RUNS = st.text("ABC", min_size=1, max_size=3)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    items = draw(
        st.lists(st.one_of(RUNS, RUNS.map("not {}".format), st.just(ANYTHING)), min_size=1, max_size=4)
    )
    if any(item.startswith("not ") for item in items) and ANYTHING not in items:
        items.append(ANYTHING)
    return Description(tuple(items), draw(st.sampled_from(["and", "or"])))


def naive(items: tuple[str, ...], join: str, text: str) -> bool:
    """The three rules, word for word."""
    wanted = [item for item in items if item.isupper()]
    covered = {
        place
        for run in wanted
        for at in range(len(text))
        if text[at : at + len(run)] == run
        for place in range(at, at + len(run))
    }
    return (
        not any(item.removeprefix("not ") in text for item in items if item.startswith("not "))
        and (join == "or" or all(run in text for run in wanted))
        and (ANYTHING in items or len(covered) == len(text))
    )


def strings(letters: str, longest: int) -> list[str]:
    return ["".join(text) for size in range(longest + 1) for text in product(letters, repeat=size)]


# --- reading and writing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "items", "join"),
    [
        ("ABC", ("ABC",), "and"),
        ("anything", (ANYTHING,), "and"),
        ("A or B or CC", ("A", "B", "CC"), "or"),
        ("not AB and CF and anything", ("not AB", "CF", ANYTHING), "and"),
    ],
)
def test_descriptions_are_read(text: str, items: tuple[str, ...], join: Join) -> None:
    description = parse(text)
    assert description == Description(items, join)
    assert str(description) == text


@given(descriptions())
def test_what_is_written_reads_back(description: Description) -> None:
    assert parse(str(description), single=description.join) == description


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: letters, 'not' and letters, or 'anything' expected"),
        (" A", "column 1: ' ' is not a capital letter A to Z"),
        ("A  and B", "column 2: ' ' is not a capital letter"),
        ("A and", "column 7: letters, 'not' and letters, or 'anything' expected"),
        ("and A", "column 1: letters"),
        ("A and B or C", "column 9: 'or' after 'and'; one kind throughout"),
        ("A or bB", "column 6: 'b' is not a capital letter"),
        ("A and not Bb and anything", "column 12: 'b' is not a capital letter"),
        ("A\u00c4", "column 2: '\u00c4' is not a capital letter"),
        ("A and not B", "'A and not B': `not` needs 'anything' among the items"),
    ],
)
def test_what_is_no_description_is_refused_by_column(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert message in str(refused.value)


def test_descriptions_without_items_are_refused() -> None:
    with pytest.raises(UsageError, match="column 1"):
        Description(())


@given(st.text("AB nordthiyg", max_size=30))
def test_any_text_is_a_description_or_a_usage_error(text: str) -> None:
    try:
        description = parse(text)
    except UsageError:
        return
    assert str(description) == text


# --- the predicate -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "fitting", "others"),
    [
        ("AB and CF", ["ABABABCF"], ["CFCF", "ABCAFAB"]),
        ("AB and anything", ["FKGABJJ", "AB"], ["GLEEA"]),
        ("not AB and CF and anything", ["ACF"], ["GLEEABCF"]),
        ("XX", ["XXX"], ["X", ""]),
        ("C or CAB or ABC", ["ABCAB", ""], ["CABA"]),
    ],
)
def test_examples_of_the_specification(description: str, fitting: list[str], others: list[str]) -> None:
    accepts = parse(description).accepts
    assert all(map(accepts, fitting))
    assert not any(map(accepts, others))


def test_a_single_run_fits_the_empty_string_only_under_or() -> None:
    assert not parse("A").accepts("")
    assert parse("A", single="or").accepts("")


@pytest.mark.parametrize("join", ["and", "or"])
@pytest.mark.parametrize(("letters", "longest_run", "most", "longest"), [("AB", 2, 3, 7), ("ABC", 2, 2, 6)])
def test_all_small_descriptions_with_all_short_strings(
    letters: str, longest_run: int, most: int, longest: int, join: Join
) -> None:
    runs = strings(letters, longest_run)[1:]
    pool = [*runs, *(f"not {run}" for run in runs), ANYTHING]
    texts = strings(letters, longest)
    for size in range(1, most + 1):
        for items in combinations(pool, size):
            if ANYTHING not in items and any(item.startswith("not ") for item in items):
                continue
            accepts = Description(items, join).accepts
            wrong = [text for text in texts if accepts(text) != naive(items, join, text)]
            assert not wrong, (items, join, wrong)


@given(descriptions(), st.text("ABCD", max_size=30))
@settings(max_examples=300)
def test_the_predicate_is_the_naive_reading(description: Description, text: str) -> None:
    assert description.accepts(text) == naive(description.items, description.join, text)


def test_long_strings_are_judged_at_once() -> None:
    long = "A" * 20_000
    assert parse("A" * 50 + " and AB").accepts(long + "B")
    assert not parse("A" * 50 + " and AB").accepts(long + "C")


# --- strings -----------------------------------------------------------------------------------------------


@given(descriptions(), st.integers(0, 12), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_strings_keep_their_promise_or_do_not_exist(
    description: Description, length: int, rng: Random
) -> None:
    """Descriptions of any kind, also such as no string fits."""
    naive_fit = naive
    for draw, fits in ((right_string, True), (wrong_string, False)):
        try:
            text = draw(description, length, rng)
        except UsageError:
            continue
        assert naive_fit(description.items, description.join, text) == fits
        assert not fits or len(text) > length


@pytest.mark.parametrize("text", ["anything", "A or anything", "anything or B"])
def test_what_fits_everything_has_no_wrong_strings(text: str) -> None:
    with pytest.raises(UsageError, match="fits every string"):
        wrong_string(parse(text), 3, Random(0))


def test_what_fits_nothing_has_no_strings() -> None:
    with pytest.raises(UsageError, match="found no string that fits"):
        right_string(parse("A and not A and anything"), 3, Random(0))


# Specification 8.3, of 20,000 draws each: mean length, shortest, longest.
LENGTHS = {
    "mini1": {True: (7.0, 2, 13), False: (8.0, 3, 13)},
    "mini2": {True: (7.1, 2, 15), False: (7.6, 0, 14)},
    "mini3": {True: (17.6, 2, 35), False: (16.8, 2, 36)},
    "mini4": {True: (17.3, 2, 35), False: (18.5, 2, 38)},
}


@pytest.mark.release
@pytest.mark.parametrize("task_id", MINI_SETS)
def test_twenty_thousand_drawn_strings(task_id: str) -> None:
    rng, row = Random(2), MINI_SETS[task_id]
    lengths: dict[bool, list[int]] = {True: [], False: []}
    everything: list[bool] = []
    for _ in range(20_000):
        description, string, fits = make_example(rng, row=row)
        join = "or" if " or " in description else "and"
        if description == ANYTHING:
            everything.append(fits)
            assert bool(string) == fits
        else:
            assert naive(tuple(description.split(f" {join} ")), join, string) == fits
        lengths[fits].append(len(string))
    for fits, (usual, shortest, longest) in LENGTHS[task_id].items():
        assert mean(lengths[fits]) == pytest.approx(usual, abs=0.3)
        assert min(lengths[fits]) == shortest
        assert max(lengths[fits]) == pytest.approx(longest, abs=2)  # these are rare
    assert len(everything) / 20_000 == pytest.approx(row.just_anything, abs=0.01)
    assert sum(everything) / 20_000 == pytest.approx(row.just_anything / 2, abs=0.006)
    assert len(lengths[True]) / 20_000 == pytest.approx(0.5, abs=0.015)
