from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.timing.budget import Budget, Limits, Reading, is_late, verdict_of
from flagfall.timing.control import PRESETS, Phase, TimeControl
from flagfall.timing.durations import MINUTE, MS, NEVER_NS, S

Booked: TypeAlias = list[tuple[Phase, int]]
PHASES: tuple[Phase, ...] = ("start", "init", "act", "result")


def test_a_tie_is_late() -> None:
    assert is_late(40, 40)
    assert is_late(41, 40)
    assert not is_late(39, 40)
    assert is_late(0, 0)


@pytest.mark.parametrize(
    ("reading", "limits", "verdict"),
    [
        (Reading(39), Limits(40, abort_ns=50), "on time"),
        (Reading(40), Limits(40, abort_ns=50), "late"),
        (Reading(50), Limits(40, abort_ns=50), "overrun"),
        (Reading(44, grace_ns=5), Limits(40), "on time"),
        (Reading(40), Limits(40, hard_ns=40), "disqualified"),  # to be late is to be disqualified
        (Reading(0, busy_ns=90), Limits(40, busy_ns=90), "disqualified"),
        (Reading(0, busy_ns=94, grace_ns=5), Limits(40, busy_ns=90), "on time"),
    ],
)
def test_exactly_a_limit_is_over_it(reading: Reading, limits: Limits, verdict: str) -> None:
    assert verdict_of(reading, limits, abortable=True) == verdict
    without = "disqualified" if verdict == "overrun" else verdict
    assert verdict_of(reading, limits, abortable=False) == without


def test_without_limits_nothing_is_ever_late() -> None:
    budget = Budget(TimeControl())
    assert budget.flat
    for phase in PHASES:
        assert budget.limit(phase) == budget.hard_limit(phase) == NEVER_NS
        budget.charge(phase, 10**18)
    assert budget.bank_ns is None
    assert budget.total_ns is None


@pytest.mark.parametrize("control", PRESETS.values(), ids=PRESETS)
def test_limits_of_a_phase_are_the_three_limits(control: TimeControl) -> None:
    budget, other = Budget(control), Budget(control)
    for phase in (*PHASES, *PHASES):
        assert budget.limits(phase) == (
            budget.limit(phase),
            budget.hard_limit(phase),
            budget.abort_limit(phase),
        )
        budget.charge(phase, 7 * S)
    if control.bank is None and control.total is None:
        assert budget.limits("act") is other.limits("act"), "computed once for all seats and matches"


def test_a_late_turn_is_nil_and_a_stuck_one_is_out() -> None:
    budget = Budget(PRESETS["gvgai-document"])
    assert budget.limit("act") == 40 * MS
    assert budget.hard_limit("act") == 1 * S
    for phase in ("start", "init", "result"):
        assert budget.limit(phase) == budget.hard_limit(phase) == 1 * S


def test_a_chess_clock_draws_every_nanosecond_and_gets_its_increment() -> None:
    budget = Budget(PRESETS["blitz"])
    assert budget.limit("act") == budget.hard_limit("act") == 3 * MINUTE
    budget.charge("act", 10 * S)
    assert budget.bank_ns == 3 * MINUTE - 10 * S + 2 * S
    budget.charge("init", 10 * S)
    assert budget.bank_ns == 3 * MINUTE - 8 * S


def test_a_bank_is_drawn_on_beyond_act_only() -> None:
    budget = Budget(TimeControl(act=2 * S, bank=60 * S, late="out"))
    assert budget.limit("act") == 62 * S
    budget.charge("act", 2 * S)
    assert budget.bank_ns == 60 * S
    budget.charge("act", 5 * S)
    assert budget.limit("act") == 2 * S + 57 * S


def test_a_delay_is_free_in_each_turn_and_an_empty_bank_ends_the_match() -> None:
    budget = Budget(PRESETS["delay"])
    budget.charge("act", 2 * S)
    assert budget.bank_ns == 3 * MINUTE
    budget.charge("act", 2 * S + 179 * S)
    assert budget.limit("act") == budget.hard_limit("act") == 3 * S
    budget.charge("act", 3 * S)
    assert budget.limit("act") == budget.hard_limit("act") == 2 * S


def test_a_spent_budget_leaves_no_time_for_a_turn_and_all_for_other_phases() -> None:
    for used in ((100, 0), (0, 2 * 10**9), (60, 3 * 10**9)):
        budget = Budget(TimeControl.parse("act=1s/5s init=2s budget=100tokens/2USD"))
        budget.use(99, 2 * 10**9 - 1)
        assert (budget.left, budget.limits("act")) == ((1, 1), (S, 5 * S, NEVER_NS))
        budget.use(*used)
        assert 0 in budget.left
        assert budget.limits("act") == (0, 5 * S, NEVER_NS)
        assert budget.limit("init") == 2 * S
    strict = Budget(TimeControl.parse("act=1s late=out budget=1tokens"))
    strict.use(1, 0)
    assert strict.limits("act")[:2] == (0, 0)
    assert Budget(TimeControl.parse("act=1s")).left == (None, None)


def test_an_empty_bank_is_no_debt() -> None:
    budget = Budget(TimeControl(act=1 * S, bank=2 * S, increment=1 * S, late="nil"))
    budget.charge("act", 60 * S)
    assert budget.bank_ns == 1 * S


def test_the_hard_limit_holds_a_full_bank_too() -> None:
    budget = Budget(TimeControl(act=1 * S, act_hard=3 * S, bank=10 * S))
    assert budget.limit("act") == budget.hard_limit("act") == 3 * S


def test_total_and_grace_cap_every_phase_and_end_with_out() -> None:
    budget = Budget(PRESETS["gvgai-document"])
    budget.charge("act", 10 * MINUTE - 1)
    assert budget.total_ns == 1
    assert budget.limit("init") == 1 * S
    budget.charge("init", 1)
    assert budget.total_ns == 0
    budget.charge("result", 1 * S - 10 * MS)
    assert budget.limit("act") == budget.hard_limit("act") == 10 * MS
    budget.charge("act", 5 * S)
    assert [budget.limit(phase) for phase in PHASES] == [0, 0, 0, 0]


def test_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 ns"):
        Budget(TimeControl()).charge("act", -1)


small = st.integers(0, 50)
limits = st.none() | small


@st.composite
def controls(draw: st.DrawFn) -> TimeControl:
    act, act_hard, bank, total = (draw(limits) for _ in range(4))
    if act is not None and act_hard is not None:
        act, act_hard = sorted((act, act_hard))
    return TimeControl(
        start=draw(limits),
        init=draw(limits),
        act=act,
        act_hard=act_hard,
        result=draw(limits),
        bank=bank,
        increment=None if bank is None else draw(limits),
        total=total,
        grace=None if total is None else draw(limits),
        late=draw(st.sampled_from(["nil", "out"])),
    )


charges = st.lists(st.tuples(st.sampled_from(PHASES), small), max_size=20)


def spend(budget: Budget, booked: Booked) -> Budget:
    for phase, spent in booked:
        budget.charge(phase, spent)
    return budget


@given(controls(), charges)
def test_nothing_is_negative_and_out_never_comes_before_late(control: TimeControl, booked: Booked) -> None:
    budget = spend(Budget(control), booked)
    for phase in PHASES:
        assert 0 <= budget.limit(phase) <= budget.hard_limit(phase) <= NEVER_NS
    assert (budget.bank_ns is None) == (control.bank is None)
    assert (budget.total_ns is None) == (control.total is None)
    assert (budget.bank_ns or 0) >= 0
    assert (budget.total_ns or 0) >= 0


@given(controls(), st.lists(small, max_size=20))
def test_a_bank_is_conserved_while_no_turn_is_late(control: TimeControl, spent: list[int]) -> None:
    budget = Budget(control)
    expected = control.bank
    for ns in spent:
        if is_late(ns, budget.limit("act")):
            break
        budget.charge("act", ns)
        if expected is not None:
            expected += (control.increment or 0) - max(0, ns - (control.act or 0))
    assert budget.bank_ns == expected


@given(controls(), charges)
def test_a_total_is_conserved_over_all_phases(control: TimeControl, booked: Booked) -> None:
    budget = spend(Budget(control), booked)
    used = sum(spent for _, spent in booked)
    if control.total is not None:
        assert budget.total_ns == max(0, control.total - used)
        assert (budget.total_ns == 0) == (used >= control.total)
        assert budget.hard_limit("act") <= max(0, control.total + (control.grace or 0) - used)


@given(controls(), charges, small, small)
def test_the_thrifty_have_no_less_left(control: TimeControl, booked: Booked, spent: int, more: int) -> None:
    thrifty, lavish = (spend(Budget(control), booked) for _ in range(2))
    thrifty.charge("act", spent)
    lavish.charge("act", spent + more)
    for phase in PHASES:
        assert thrifty.limit(phase) >= lavish.limit(phase)
        assert thrifty.hard_limit(phase) >= lavish.hard_limit(phase)


@given(controls(), charges)
def test_a_flat_budget_never_changes(control: TimeControl, booked: Booked) -> None:
    budget = Budget(control)
    before = [(budget.limit(phase), budget.hard_limit(phase)) for phase in PHASES]
    spend(budget, booked)
    after = [(budget.limit(phase), budget.hard_limit(phase)) for phase in PHASES]
    assert before == after or not budget.flat
