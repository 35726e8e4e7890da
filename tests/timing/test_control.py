from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.timing.control import MAX_TEXT_CHARS, PRESETS, TimeControl
from flagfall.timing.durations import MINUTE, MS, NEVER_NS, S

if TYPE_CHECKING:
    from random import Random

DOCUMENT = PRESETS["gvgai-document"]
PROGRAM = PRESETS["gvgai-2017"]

READ = {
    "": TimeControl(),
    "untimed": TimeControl(),
    "act=40ms/1s start=1s init=1s total=10m+1s": TimeControl(
        act=40 * MS, act_hard=S, start=S, init=S, total=10 * MINUTE, grace=S
    ),
    "60s+0.6s": TimeControl(bank=MINUTE, increment=600 * MS),
    "bank=60s+0.6s": TimeControl(bank=MINUTE, increment=600 * MS),
    "bank=60s increment=0.6s": TimeControl(bank=MINUTE, increment=600 * MS),
    "bank=60s": TimeControl(bank=MINUTE),
    "40ms": TimeControl(act=40 * MS),
    "40ms/1s,result=2s": TimeControl(act=40 * MS, act_hard=S, result=2 * S),
    "act=none/1s": TimeControl(act_hard=S),
    "5s 60s+1s clock=cpu late=out": TimeControl(act=5 * S, bank=MINUTE, increment=S, clock="cpu", late="out"),
    "gvgai-2017 act=80ms/1s": attrs.evolve(PROGRAM, act=80 * MS, act_hard=S, act_abort=None),
    "gvgai-2017 act_abort=60ms": attrs.evolve(PROGRAM, act_abort=60 * MS),
    "gvgai-document act=80ms/1s": attrs.evolve(DOCUMENT, act=80 * MS),
    "gvgai-document act=80ms": attrs.evolve(DOCUMENT, act=80 * MS, act_hard=None),
    "gvgai-document act_hard=2s": attrs.evolve(DOCUMENT, act_hard=2 * S),
    "gvgai-document total=none": attrs.evolve(DOCUMENT, total=None, grace=None),
    "gvgai-document, grace=2s": attrs.evolve(DOCUMENT, grace=2 * S),
    "untimed 60s+0s": TimeControl(bank=MINUTE, increment=0, late="out"),
    "act=1s budget=200ktokens": TimeControl(act=S, budget_tokens=200_000),
    "budget=0.25USD": TimeControl(budget_cost=250_000_000),
    "budget=1.5Mtokens/2USD": TimeControl(budget_tokens=1_500_000, budget_cost=2_000_000_000),
    "budget=2USD/7tokens": TimeControl(budget_tokens=7, budget_cost=2_000_000_000),
    "blitz act=5s": TimeControl(act=5 * S, bank=3 * MINUTE, increment=2 * S, late="nil"),
}


@pytest.mark.parametrize(("text", "control"), READ.items())
def test_the_text_form_is_read(text: str, control: TimeControl) -> None:
    assert TimeControl.parse(text) == control


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (TimeControl(), "untimed"),
        (TimeControl(clock="cpu"), "clock=cpu"),
        (TimeControl(late="out"), "late=out"),
        (TimeControl(bank=MINUTE, increment=600 * MS), "bank=1m+0.6s"),
        (TimeControl(bank=MINUTE, late="nil"), "bank=1m late=nil"),
        (TimeControl(act_hard=S), "act_hard=1s"),
        (TimeControl(budget_tokens=1_500_000), "budget=1500ktokens"),
        (TimeControl(budget_tokens=10**15, budget_cost=1), "budget=1000000Gtokens/0.000000001USD"),
        (TimeControl(act=S, budget_cost=20 * 10**9), "act=1s budget=20USD"),
        (DOCUMENT, "start=1s init=1s act=40ms/1s result=1s total=10m+1s"),
        (PROGRAM, "start=1s init=1s act=40ms/1m act_abort=50ms result=1s total=5m"),
    ],
)
def test_the_text_form_is_written(control: TimeControl, text: str) -> None:
    assert str(control) == text


def test_durations_of_turns_are_listed_by_the_fields_that_have_them() -> None:
    control = TimeControl.parse("start=1s act=40ms/1s bank=60s+0.6s total=10m+1s")
    assert control.turn_durations() == {"act": 40 * MS, "act_hard": S, "increment": 600 * MS}
    assert TimeControl().turn_durations() == {}
    assert PROGRAM.turn_durations().keys() == {"act", "act_abort", "act_hard"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stands_for_its_text(name: str) -> None:
    assert TimeControl.parse(name) == PRESETS[name] == TimeControl.parse(str(PRESETS[name]))


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("gvgai-2017 actt=5ms", 12, "unknown key 'actt'; nearest: act"),
        ("gvgai-2016", 1, "unknown word 'gvgai-2016'; nearest: gvgai-2017"),
        ("act=40ms, act=50ms", 15, "act is set a second time (first at column 5)"),
        ("40ms/1s act_hard=2s", 18, "act_hard is set a second time (first at column 6)"),
        ("start=1s act=40", 14, "has no unit: write 40ms or 40s"),
        ("act=1s/40ms", 8, "act_hard (40ms) is below act (1s)"),
        ("40ms act_abort=30ms", 16, "act_abort (30ms) is below act (40ms)"),
        ("40ms/1s act_abort=2s", 19, "act_abort (2s) is above act_hard (1s): it never comes"),
        ("gvgai-2017 act_hard=45ms", 21, "act_abort (50ms) is above act_hard (45ms): it never comes"),
        ("gvgai-2017 act_hard=1ms", 21, "act_hard (1ms) is below act (40ms)"),
        ("start=1s increment=1s", 20, "increment without bank: add bank=..."),
        ("grace=1s", 7, "grace without total"),
        ("60s+", 5, "'' is not a duration"),
        ("act=1s budget=5s", 15, "'5s' is not a budget: write 200ktokens, 2USD or 200ktokens/2USD"),
        (
            "budget=1.5tokens",
            8,
            "1.5tokens is no budget: at most 1000000Gtokens, or 1000000USD with 9 decimals",
        ),
        ("budget=0tokens", 8, "0tokens is no budget"),
        ("budget=1tokens/2tokens", 16, "budget_tokens is set a second time"),
        ("late=lost", 6, "late cannot be 'lost'; nearest: out"),
        ("act=5s blitz", 8, "'blitz' comes too late"),
        ("untimed blitz", 9, "'blitz' comes too late"),
        ("act\t=5s", 1, "unknown word 'act'"),
    ],
)
def test_an_error_names_the_place_the_word_and_the_mend(text: str, column: int, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        TimeControl.parse(text)
    message, line, caret = str(caught.value).split("\n")
    assert message.startswith(f"time control, column {column}: ")
    assert says in message
    assert line == "  " + text.replace("\t", " ")
    assert caret.index("^") == column + 1


def test_a_megabyte_is_not_read() -> None:
    with pytest.raises(UsageError, match="too many"):
        TimeControl.parse("x" * (MAX_TEXT_CHARS + 1))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"act": -1}, r"act is negative \(-1 ns\)"),
        ({"act": True}, "a bool: write whole nanoseconds"),
        ({"total": 1.5}, "a float: write whole nanoseconds"),
        ({"total": "5m"}, "a str: write whole nanoseconds"),
        ({"bank": NEVER_NS}, "write None for no limit"),
        ({"act": 2, "act_hard": 1}, "below act"),
        ({"increment": 1}, "increment without bank"),
        ({"grace": 1}, "grace without total"),
        ({"clock": "sun"}, "clock is 'sun': write wall or cpu"),
        ({"late": None}, "late is None: write nil or out"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        TimeControl(**fields)


def test_late_is_out_for_a_chess_clock_only() -> None:
    assert TimeControl(bank=S).late == "out"
    assert TimeControl(act=S, bank=S).late == "nil"
    assert TimeControl(act=S).late == "nil"


limits = st.none() | st.integers(0, 20).map(lambda n: n * MS) | st.integers(0, NEVER_NS - 1)


@st.composite
def controls(draw: st.DrawFn) -> TimeControl:
    act, act_hard, act_abort, bank, total = (draw(limits) for _ in range(5))
    turn = {
        name: ns for name, ns in (("act", act), ("abort", act_abort), ("hard", act_hard)) if ns is not None
    }
    turn = dict(zip(turn, sorted(turn.values()), strict=True))
    more: dict[str, Any] = draw(st.fixed_dictionaries({}, optional={"late": st.sampled_from(["nil", "out"])}))
    return TimeControl(
        start=draw(limits),
        init=draw(limits),
        act=turn.get("act"),
        act_hard=turn.get("hard"),
        act_abort=turn.get("abort"),
        result=draw(limits),
        bank=bank,
        increment=None if bank is None else draw(limits),
        total=total,
        grace=None if total is None else draw(limits),
        budget_tokens=draw(st.none() | st.integers(1, 10**15)),
        budget_cost=draw(st.none() | st.integers(1, 10**15)),
        clock=draw(st.sampled_from(["wall", "cpu"])),
        **more,
    )


@given(controls())
def test_every_control_reads_back_from_its_text(control: TimeControl) -> None:
    text = str(control)
    assert TimeControl.parse(text) == control
    assert str(TimeControl.parse(text)) == text
    assert len(text) <= MAX_TEXT_CHARS


@given(controls(), st.randoms())
def test_order_and_separators_do_not_matter(control: TimeControl, random: Random) -> None:
    words = str(control).split()
    random.shuffle(words)
    assert TimeControl.parse(random.choice([" ", ",", " , ", "\n"]).join(words)) == control


words = st.sampled_from(
    [
        *PRESETS,
        *(f.name for f in attrs.fields(TimeControl)),
        *"=/+,. ",
        "5s",
        "40ms",
        "none",
        "cpu",
        "out",
        "-1",
    ]
)


@given(st.one_of(st.text(), st.lists(words, max_size=12).map("".join)))
@example("act=" + "9" * 900 + "s")
@example("=")
@example("/+")
@example("\x00=\ud800")
def test_any_text_is_a_control_or_a_usage_error_at_a_place(text: str) -> None:
    try:
        control = TimeControl.parse(text)
    except UsageError:
        with pytest.raises(UsageError, match=r"^time control, column \d+: "):
            TimeControl.parse(text)
    else:
        assert TimeControl.parse(str(control)) == control
