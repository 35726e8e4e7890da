"""Fault schedules: their text form, their checks, and random ones."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.testing.faults import FAULTS, Fault, FaultSchedule, Host, Moment, kinds_for, random_schedule
from flagfall.timing.durations import format_duration


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("seat 1: crash @turn 200", "seat 1: crash @turn 200"),
        ("crash @turn 5", "seat 0: crash @turn 5"),
        ("disconnect 3s @turn 5", "seat 0: disconnect 3s @turn 5"),
        ("stall host 500ms @1.5s", "stall host 0.5s @1.5s"),
        ("stall host", "stall host 0.5s @start"),
        ("garbage", "seat 0: garbage 16 @start"),
        ("  disk full ;\n\n sink fails @end;", "disk full @start; sink fails @end"),
        ("", ""),
    ],
)
def test_a_schedule_has_a_canonical_text(text, canonical):
    schedule = FaultSchedule.parse(text)
    assert str(schedule) == canonical
    assert FaultSchedule.parse(canonical) == schedule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crsh", "fault 1, at character 1: unknown fault 'crsh'; nearest: crash"),
        ("crash; \n disk ful @start", "fault 2, at character 10: unknown fault 'disk ful'"),
        ("seat x: crash", "no seat: 'x'"),
        ("seat 1: disk full", "disk full strikes no single seat"),
        ("crash 5s", "crash has no amount: leave '5s' out"),
        ("delay long", "'long' is not a duration"),
        ("garbage -1", "no count: '-1'"),
        ("prints 10000001", "no count: '10000001'; write a whole number from 0 to 10000000"),
        ("stall host 1001h", "1001h is too long: write at most 1000h"),
        ("crash @1001h", "1001h is too long"),
        ("crash @turn", "no turn: ''"),
        ("crash @soon", "no moment: 'soon'; write @start, @turn 5, @end, @1.5s, @match 3"),
        ("crash @turn 5 @turn 6", "no turn: '5 @turn 6'"),
        ("drop @end", "drop cannot happen @end: write @start, @turn 5, @1.5s"),
        ("crash;" * 1001, "more than 1000 faults"),
        (f"crash @turn {'9' * 5000}", "no turn"),
    ],
)
def test_a_mistake_is_named_in_one_line_with_its_position(text, message):
    with pytest.raises(UsageError) as caught:
        FaultSchedule.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="seat crash disk full 0123456789:;@.turnms\n", max_size=60))
def test_any_text_is_a_schedule_or_a_usage_error(text):
    try:
        schedule = FaultSchedule.parse(text)
    except UsageError:
        return
    assert FaultSchedule.parse(str(schedule)) == schedule


def test_a_random_schedule_fits_its_match_and_follows_from_the_generator():
    hosts: tuple[Host, ...] = ("task", "remote")
    drawn = [random_schedule(np.random.default_rng(seed), hosts, turns=20) for seed in range(500)]
    assert drawn == [random_schedule(np.random.default_rng(seed), hosts, turns=20) for seed in range(500)]
    assert {len(schedule) for schedule in drawn} == {1, 2, 3}
    for fault in (fault for schedule in drawn for fault in schedule):
        assert fault.seat is None or hosts[fault.seat] in fault.row.hosts
        assert fault.moment.unit != "turn" or fault.moment.at < 20
        assert FaultSchedule.parse(str(fault)) == FaultSchedule((fault,))
    assert {fault.kind for schedule in drawn for fault in schedule} == {row.name for row in kinds_for(hosts)}


def test_a_fault_that_contradicts_its_kind_is_refused():
    with pytest.raises(UsageError, match="strikes one agent"):
        Fault("crash")
    with pytest.raises(UsageError, match="has no amount"):
        Fault("crash", seat=0, amount=5)
    with pytest.raises(UsageError, match="cannot happen @end"):
        Fault("illegal", Moment("end"), 0)
    assert all(row.name == name for name, row in FAULTS.items())


def row_of_the_page(row):
    """The line of a kind in `docs/faults.md`."""
    usual = format_duration(row.usual) if row.amount == "duration" else str(row.usual)
    name = f"{row.name} {usual}" if row.amount else row.name
    agents = "" if not row.has_seat else "all" if len(row.hosts) == 3 else ", ".join(sorted(row.hosts))
    return f"| `{name}` | {row.what} | {row.shows} | {agents} | {', '.join(row.units)} |"


def test_the_page_has_every_kind_and_no_other():
    page = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
    table = page.partition("## Kinds of faults")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    assert lines == [row_of_the_page(row) for row in FAULTS.values()]
