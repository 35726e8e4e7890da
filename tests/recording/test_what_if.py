"""Recorded matches under other time controls: exact verdicts, predictions that hold, think times."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
from msgspec.structs import replace

import flagfall
from flagfall.errors import UsageError
from flagfall.events import Event, ReplyDropped
from flagfall.recording.journal.reader import JournalError
from flagfall.recording.seat_times import VERDICTS, MatchTimes, read_times
from flagfall.recording.think_times import (
    ThinkTimes,
    _Counts,
    bank_needed_ns,
    lost_turns,
    think_times,
)
from flagfall.recording.what_if import judge_match
from flagfall.timing import MS, TimeControl, VirtualClock
from tests.fakes import CountTask, InTurnTask, ListScheduler, Played, Sleeper, TogetherTask, play, play_here
from tests.kernel.test_determinism import Whimsical

FIXTURES = Path(__file__).parent.parent / "fixtures"

CONTROLS = (
    *("act=40ms/1s", "act=40ms late=out", "act=40ms/80ms", "act=10ms", "act=10ms/100ms", "act=39ms/40ms"),
    *("act=20ms act_hard=35ms", "act_hard=50ms", "act=100ms/300ms", "act=80ms/200ms", "bank=1s"),
    *("bank=100ms+10ms", "act=20ms bank=200ms+5ms late=nil", "total=600ms+50ms act=40ms"),
    "act=30ms act_abort=60ms act_hard=100ms",
)
SLEEPS = (0, 0.005, 0.01, 0.02, 0.035, 0.04, 0.07, 0.15, 0.3)


def times_of(events: list[Event]) -> MatchTimes:
    times = MatchTimes.begin(events[0])
    for event in events[1:]:
        times.take(event)
    return times


def played(seed: int, control: str, kind: str) -> MatchTimes:
    """A match of random seats, tasks and agents, which the seed decides, whatever the time control."""
    whim = random.Random(seed)
    tasks, seats, steps = whim.randrange(4), whim.randrange(2, 4), whim.randrange(3, 25)
    options: dict[str, Any] = {"control": control}
    if whim.random() < 0.2:
        options["tick_ns"] = 20 * MS
    if tasks == 0:
        seats, queue = 1, [CountTask(steps), CountTask(steps)]
    elif tasks == 3:
        queue = [InTurnTask(whim.choices(range(seats), k=steps), seats)]
    else:
        queue = [TogetherTask(seats, steps, continuous=tasks == 1)]
    agents: list[Any] = [
        Whimsical(whim.randrange(10**9), may_break=whim.random() < 0.3)
        if kind == "whimsical"
        else Sleeper(*(whim.choice(SLEEPS) for _ in range(60)))
        for _ in range(seats)
    ]

    async def match() -> Played:
        return await play_here(ListScheduler(queue), *agents, **options)

    return times_of(trio.run(match, clock=VirtualClock()).events)


def verdicts(times: MatchTimes, seat: int, before: int | None = None) -> dict[int, str]:
    """The verdicts of a seat by turn, up to a turn."""
    rows = times.seats[seat]
    named = zip(rows.turn, (VERDICTS[code] for code in rows.verdict), strict=True)
    return {turn: verdict for turn, verdict in named if before is None or turn < before}


def assert_as_recorded(times: MatchTimes) -> None:
    found = judge_match(times, times.control)
    assert found.changed is None, (times.control, found)
    for seat, row in zip(times.seats, found.seats, strict=True):
        assert row.late == row.recorded_late, row
        if row.unexplained:  # the grace period of a host that stalled
            assert times.header.clock == "wall"
            assert any(seat.credit_ns)


def check_against_played(seed: int, kind: str) -> Counter[str]:
    """Judge a match under another control, and play it under that: what is known must come true."""
    choice = random.Random(-seed - 1)
    control, other = choice.choice(CONTROLS), choice.choice(CONTROLS)
    times = played(seed, control, kind)
    assert_as_recorded(times)
    found, truth = judge_match(times, TimeControl.parse(other)), played(seed, other, kind)
    counts: Counter[str] = Counter()
    for place, seat in enumerate(found.seats):
        where = (seed, control, other, seat)
        assert verdicts(times, place, found.changed) == verdicts(truth, place, found.changed), where
        counts["changed" if found.changed is not None else "same"] += 1
        if seat.changed is None or seat.changed != found.changed or seat.row is None:
            continue
        counts[str(seat.after)] += 1
        came = verdicts(truth, place).get(seat.changed)
        if seat.after == "on time":
            assert came in {"on time", "illegal"}, where
        elif seat.after == "disqualified" and came is None:
            assert truth.seats[place].is_out_by_clock, where
        elif seat.after != "unknown":
            assert came == seat.after, where
    return counts


@pytest.mark.parametrize("kind", ["sleeping", "whimsical"])
def test_what_is_known_comes_true_when_it_is_played(kind: str):
    counts = sum((check_against_played(seed, kind) for seed in range(60)), Counter())
    assert min(counts[name] for name in ("changed", "same", "late", "on time", "disqualified")) > 0
    assert counts["unknown"] < counts["changed"]


@pytest.mark.release
@pytest.mark.parametrize("kind", ["sleeping", "whimsical"])
@pytest.mark.parametrize("part", range(4))
def test_what_is_known_comes_true_in_many_matches(kind: str, part: int):
    for seed in range(1000 + 250 * part, 1250 + 250 * part):
        check_against_played(seed, kind)


def journals() -> list[Path]:
    return sorted(path for path in FIXTURES.rglob("*.jsonl*") if path.suffix in {".jsonl", ".zst"})


def test_recorded_journals_of_all_schemas_are_judged_as_they_were():
    assert len(journals()) > 120
    for path in journals():
        assert_as_recorded(read_times(path))


class Drowsy:
    """Thinks for a random time; for the virtual clock."""

    def start(self, briefing: Any) -> None:
        self.random = random.Random(briefing.seed)

    async def act(self, _observation: Any) -> int:
        await trio.sleep(self.random.choice(SLEEPS))
        return self.random.choice((0, 1, 32))


FAMILIES = (
    *("micro4", "micro9.2", "mini1", "commai.sample.turn_left", "commai.objects.name_object"),
    *("duel:heaps", "duel:lamps", "langroom", "vgdl:glacier#0", "gym:CartPole-v1"),
)


@pytest.mark.release
@pytest.mark.parametrize("task", FAMILIES)
def test_matches_of_every_family_are_judged_as_they_were(task: str, tmp_path: Path):
    """With the fixtures, which have agents in processes and connected ones, these are more than 300."""
    seats = 2 if task.startswith("duel") else 1
    for number, control in enumerate(CONTROLS):
        path = tmp_path / f"{number}.jsonl"
        agents = [Drowsy() for _ in range(seats)]
        flagfall.run(
            [task], agents, clock="virtual", steps=60, seed=number, time_control=control, journal=path
        )
        assert_as_recorded(read_times(path))


def test_an_answer_that_is_read_after_both_limits_is_judged_as_it_was():
    """The loop was held up, so no deadline came before the answer."""

    async def act(observation: Any) -> int:
        if observation == 2:
            clock: Any = trio.lowlevel.current_clock()
            clock.stall(78 * MS)
        return 7

    times = times_of(play(CountTask(10), act, control="act=4ms/40ms").events)
    assert [VERDICTS[code] for code in times.seats[0].verdict] == ["on time", "on time", "disqualified"]
    assert_as_recorded(times)
    (shorter,) = judge_match(times, TimeControl.parse("act=2ms/20ms")).seats
    assert (shorter.changed, shorter.out) == (None, "turn 2")
    (longer,) = judge_match(times, TimeControl.parse("act=4ms/1s")).seats
    assert (longer.changed, longer.after) == (2, "unknown")


@pytest.mark.release
@pytest.mark.parametrize("host", ["thread", "process"])
@pytest.mark.parametrize("control", ["act=20ms/1s", "act=4ms/40ms", "bank=200ms+1ms", "act=20ms late=out"])
def test_matches_on_the_wall_clock_are_judged_as_they_were(host: Any, control: str, tmp_path: Path):
    bot = tmp_path / "bot.py"
    bot.write_text(
        "import random, time\nclass Bot:\n    def act(self, observation):\n"
        "        time.sleep(random.choice((0, 0, 0.005, 0.03)))\n        return 32\n"
    )
    for number in range(3):
        path = tmp_path / f"{number}.jsonl"
        flagfall.run(
            ["micro4"], f"{bot}:Bot", host=host, steps=40, time_control=f"start=30s {control}", journal=path
        )
        assert_as_recorded(read_times(path))


def test_the_first_change_is_named():
    async def match() -> Played:
        return await play_here(CountTask(6), Sleeper(0.01, 0.01, 0.03, 0.06, 0.01), control="act=50ms/1s")

    times = times_of(trio.run(match, clock=VirtualClock()).events)
    (seat,) = judge_match(times, TimeControl.parse("act=20ms/1s")).seats
    assert (seat.changed, seat.before, seat.after, seat.late) == (2, "on time", "late", 1)
    (seat,) = judge_match(times, TimeControl.parse("act=70ms/1s")).seats
    assert (seat.changed, seat.before, seat.after) == (3, "late", "on time")  # its late answer shows that
    (seat,) = judge_match(times, TimeControl.parse("act=50ms/55ms")).seats
    assert (seat.changed, seat.after, seat.out) == (4, "disqualified", "turn 4")
    (seat,) = judge_match(times, TimeControl.parse("act=10ms bank=25ms late=nil")).seats
    assert (seat.changed, seat.after, seat.bank_out) == (4, "late", 3)


def test_an_answer_that_was_read_after_the_hard_limit_had_arrived_before():
    """So it is on a loaded machine: the agent stays in, and its reply is recorded when it was read."""

    async def match() -> Played:
        return await play_here(CountTask(20), Sleeper(0.0399, 0.01, 0), control="act=4ms/40ms")

    events = [
        replace(event, at_ns=event.at_ns + MS) if isinstance(event, ReplyDropped) else event
        for event in trio.run(match, clock=VirtualClock()).events
    ]
    assert any(isinstance(event, ReplyDropped) for event in events)
    assert_as_recorded(times_of(events))


def test_nothing_is_known_of_others_after_a_change():
    async def match() -> Played:
        return await play_here(TogetherTask(2, 6), Sleeper(0.01, 0.03, 0.01), Sleeper(0.01, 0.01, 0.01, 0.03))

    times = times_of(trio.run(match, clock=VirtualClock()).events)
    found = judge_match(times, TimeControl.parse("act=20ms/1s"))
    one, other = found.seats
    assert (found.changed, one.changed, one.late) == (1, 1, 1)
    assert (other.changed, other.late, other.first_late) == (None, 0, None)


def test_an_edited_verdict_does_not_follow_from_its_time():
    times = played(2, "act=40ms/1s", "sleeping")
    assert not any(seat.unexplained for seat in judge_match(times, times.control).seats)
    times.seats[0].spent_ns[-1] = 400 * MS
    times.seats[0].verdict[-1] = 0
    assert judge_match(times, times.control).seats[0].unexplained == 1


def test_cpu_time_says_nothing_about_the_wall_clock():
    times = played(0, "act=40ms/1s", "sleeping")
    with pytest.raises(UsageError, match="write clock=wall"):
        judge_match(times, TimeControl.parse("act=40ms clock=cpu"))


# Think times.


def solo(control: str, sleeps: list[float], steps: int) -> MatchTimes:
    async def match() -> Played:
        return await play_here(CountTask(steps), Sleeper(*sleeps), control=control)

    return times_of(trio.run(match, clock=VirtualClock()).events)


@pytest.mark.parametrize("control", ["untimed", "act=1s/10s", "act=40ms/10s", "act=15ms/10s"])
def test_think_times_are_found_again(control: str):
    """Also those of late turns, and of the turns that were posted meanwhile."""
    whim = random.Random(control)
    sleeps = [whim.randrange(1, 100_000) / 1e6 + 1e-7 for _ in range(300)]
    found = think_times(solo(control, sleeps, 100), 0)
    assert found.exact[:-2].all()
    expected = [round(1e9 * one) for one in sleeps[: len(found) - 2]]
    assert found.think_ns[:-2].tolist() == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("control", [c for c in CONTROLS if "abort" not in c])
def test_lost_turns_are_those_of_a_match(control: str):
    """From the think times alone, for any time control: banks and totals, too."""
    for seed in range(8):
        whim = random.Random(seed)
        # No ties: a sleep ends some nanoseconds before or after the moment that it is asked for.
        sleeps = [whim.choice(SLEEPS) + whim.randrange(1, 999) / 1e6 for _ in range(200)]
        thinking = think_times(solo("untimed", sleeps, 60), 0)
        truth = solo(control, sleeps, 60)
        found = lost_turns(thinking, TimeControl.parse(control))
        rows = list(verdicts(truth, 0).values())
        lost = sum(verdict in {"late", "overrun", "disqualified"} for verdict in rows)
        out = truth.seats[0].is_out_by_clock
        assert bool(found.out[0]) == out
        assert (found.lost[0], found.turns[0]) == (lost, len(rows)), (seed, sleeps)


def random_thinking(seed: int) -> ThinkTimes:
    whim = np.random.default_rng(seed)
    size = int(whim.integers(2, 60))
    return ThinkTimes(
        whim.integers(0, 60, size),
        whim.integers(0, 10, size) * int(whim.integers(0, 2)),
        np.ones(size, bool),
        np.array([0, size // 2, size]),
        np.array([size // 2, size - size // 2]),
        np.array([0, 1]),
    )


@pytest.mark.parametrize("late", ["nil", "out"])
def test_lost_turns_by_arithmetic_are_those_by_the_budget(late: Any):
    for seed in range(200):
        thinking, whim = random_thinking(seed), random.Random(seed)
        soft = whim.randrange(1, 50)
        control = TimeControl(act=soft, act_hard=soft + whim.randrange(60) if seed % 2 else None, late=late)
        quick, slow = lost_turns(thinking, control), _Counts(thinking)
        for part in range(2):
            slow.play(part, control)
        exact = slow.found(0)
        for name in ("lost", "turns", "out"):
            assert (getattr(quick, name) == getattr(exact, name)).all(), (seed, control)


def test_the_smallest_bank_is_exact():
    for seed in range(100):
        thinking = random_thinking(seed)
        control = TimeControl(act=seed % 30, bank=0, increment=seed % 5, late="nil")
        for part, bank in enumerate(bank_needed_ns(thinking, control).tolist()):
            for given, is_enough in ((bank, True), (bank - 1, False)):
                counts = _Counts(thinking)
                if given >= 0:
                    counts.play(part, TimeControl(act=seed % 30, bank=given, increment=seed % 5, late="nil"))
                    assert (counts.found(0).lost[part] == 0) == is_enough


# Files that somebody sent.


def journal(name: str) -> bytes:
    return (FIXTURES / "schema2" / name).read_bytes()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "ends without its last seal"),
        (b"\0" * 1000, "ends in the middle of a line|not a journal"),
        (b'{"event":"match"}\n', "not a journal"),
        (journal("late-virtual.jsonl").replace(b'"schema":2', b'"schema":99', 1), "does not match"),
        (journal("late-virtual.jsonl").replace(b'"event":"match"', b'"event":"ready"', 1), "does not match"),
    ],
)
def test_what_is_no_journal_is_refused_in_one_line(tmp_path: Path, content: bytes, why: str):
    path = tmp_path / "sent.jsonl"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=f"^{path}: line 1: .*({why})"):
        read_times(path)


def test_what_comes_before_the_damage_is_judged(tmp_path: Path):
    path = tmp_path / "cut.jsonl"
    path.write_bytes((FIXTURES / "schema2" / "late-virtual.jsonl").read_bytes()[:-300])
    times = read_times(path)
    assert times.problem
    assert len(times.seats[0])
    assert judge_match(times, times.control).changed is None


def test_no_more_is_read_than_asked(tmp_path: Path):
    path = tmp_path / "long.jsonl"
    flagfall.run(["micro1"], Drowsy(), clock="virtual", steps=2000, journal=path)
    times = read_times(path, max_bytes=20_000)
    assert "more than 20,000 bytes" in times.problem
    assert 0 < len(times.seats[0]) < 2000
