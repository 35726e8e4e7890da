"""Cases of a search: what is simulated once, what may be varied of it, and which case comes next.

Cases that led to new behaviour are mutated first, as a fuzzer does with inputs that reach new code.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, pairwise, takewhile
from typing import Any, Final, TypeAlias

import attrs
from numpy.random import Generator, default_rng

from flagfall.errors import UsageError
from flagfall.events import Event, TaskEnded, TurnPlayed
from flagfall.kernel.outcomes import MAX_SEED
from flagfall.playing import MatchRequest
from flagfall.testing.faults import (
    FAULTS,
    Fault,
    FaultKind,
    FaultSchedule,
    Host,
    Moment,
    kinds_for,
    random_schedule,
)
from flagfall.testing.invariants import INVARIANTS, INVARIANTS_OF_SEVERAL, TOURNAMENT_INVARIANTS
from flagfall.testing.simulation.match import SimulatedRun, hosts_of, simulate
from flagfall.testing.simulation.tournament import SimulatedTournament, simulate_tournament
from flagfall.timing import MS, TimeControl
from flagfall.timing.control import UNTIMED
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.run.match import request_of

MOST_TURNS: Final = 20
"""Length of matches that have none of their own: room for a fault of each kind and for its effects."""

MOST_FAULTS: Final = 6
"""Most faults of a case; what takes more of them to break is rarer than what takes fewer."""

MOST_MATCHES: Final = 40
"""Most matches of a tournament that is simulated as a whole: some tenths of a second."""

MOST_SEEDS: Final = 1 << 16
"""Seeds are drawn below this, so that they are short in commands."""

FIRST_MUTATIONS: Final = 8
"""Mutations of a case that led to new behaviour, before others are mutated."""

SHARE_OF_NEW: Final = 0.2
"""Share of cases that are drawn anew and not mutated, so that the search does not stay where it began."""

EVEN: Final = 0.5
"""An even chance."""

TIME_CONTROLS: Final = (
    "start=1s init=40ms act=40ms/1s result=40ms",
    "start=1s init=1s act=40ms/80ms result=1s",
    "start=1s init=1s act=10ms/25ms result=1s",
    "start=1s init=1s act=40ms result=1s late=out",
    "start=1s init=1s act=40ms/120ms act_abort=60ms result=1s",
    "start=1s init=1s bank=300ms+20ms result=1s",
    "start=1s init=1s act=20ms bank=200ms result=1s late=out",
    "act=40ms/120ms total=3s+1s",
)
"""Time controls of every rule, with limits that short faults reach."""

NO_FAULTS: Final = FaultSchedule()

Rule: TypeAlias = Callable[[Any], None]
"""An invariant: takes a simulated match or tournament, and raises `AssertionError` where it is broken."""


@attrs.frozen
class Case:
    """What is simulated once: `str(case)` is a text that `parse` reads back as an equal value.

    Attributes:
        ground: the index of the match, or the tournament, among those that are explored.
        time_control: of every seat; empty for that of the match itself.
        steps: the most turns; 0 for the length of the match itself.
    """

    ground: int = 0
    seed: int = 0
    time_control: str = ""
    steps: int = 0
    faults: FaultSchedule = NO_FAULTS

    def __str__(self) -> str:
        words = [f"{name} {getattr(self, name)}" for name in _WORDS if getattr(self, name) or name == "seed"]
        return "; ".join([*words, *map(str, self.faults)])

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read a case such as `seed 7; steps 3; seat 0: crash @turn 2`.

        Raises:
            UsageError: it is not the text of a case.
        """
        values: dict[str, Any] = {}
        faults = []
        for part in text.split(";"):
            name, _, value = part.strip().partition(" ")
            if name not in _WORDS:
                faults.append(part)
            elif name == "time_control":
                values[name] = str(TimeControl.parse(value))
            elif value.strip().isdecimal() and len(value) < _MOST_DIGITS:
                values[name] = int(value)
            else:
                raise UsageError(f"{part.strip()!r:.60}: write a whole number behind {name}")
        return cls(**values, faults=FaultSchedule.parse("; ".join(faults)))


_WORDS: Final = ("ground", "seed", "time_control", "steps")
_MOST_DIGITS: Final = 19


@attrs.frozen
class Ground:
    """A match or a tournament that is explored, and what may be varied of it.

    Attributes:
        play: simulates a case of it.
        rules: its invariants, checked in this order.
        rare_rules: those that take further simulations: checked for some that led to new behaviour.
        behaviour: what a simulation did, as a set.
        hosts: where the agent of each seat is simulated to run.
        kinds: the faults that may strike it.
        time_controls: the texts to choose from; none for a tournament, whose matches have their own, and
            their own lengths.
        turns: the most turns of a match, or the matches of a tournament.
    """

    play: Callable[[Case], Any]
    rules: Sequence[Rule]
    rare_rules: Sequence[Rule]
    behaviour: Callable[[Any], AbstractSet[Any]]
    hosts: tuple[Host, ...]
    kinds: Sequence[FaultKind]
    time_controls: Sequence[str]
    turns: int

    @classmethod
    def of_match(
        cls,
        request: MatchRequest,
        time_controls: Sequence[str] = (),
        rules: Sequence[Rule] = INVARIANTS,
        rare_rules: Sequence[Rule] = INVARIANTS_OF_SEVERAL,
    ) -> Ground:
        """Return the ground of a match.

        Raises:
            UsageError: the match cannot be simulated.
        """
        turns = MOST_TURNS if request.steps is None else request.steps
        hosts = tuple(hosts_of(request.agents))

        def play(case: Case) -> SimulatedRun:
            control, steps = case.time_control or request.time_control, case.steps or turns
            asked = attrs.evolve(request, seed=case.seed, time_control=control, steps=steps)
            return simulate(asked, case.faults)

        controls = [str(TimeControl.parse(text)) for text in time_controls or (str(request.time_control),)]
        return cls(play, rules, rare_rules, _behaviour_of_match, hosts, kinds_for(hosts), controls, turns)

    @classmethod
    def of_tournament(cls, plan: TournamentPlan) -> Ground:
        """Return the ground of a tournament, whose clock is virtual."""

        def play(case: Case) -> SimulatedTournament:
            return simulate_tournament(attrs.evolve(plan, seed=case.seed), case.faults)

        kinds = [*kinds_for((), tournament=True), FAULTS["slow"], FAULTS["stall host"]]
        matches = sum(1 for _ in schedule(plan).walk({}))
        return cls(play, TOURNAMENT_INVARIANTS, (), _behaviour_of_tournament, ("task",), kinds, (), matches)

    def draw_schedule(self, generator: Generator, most: int, kind: str | None = None) -> FaultSchedule:
        """Draw a schedule of 1 to `most` faults, of all kinds or of one."""
        kinds = [row for row in self.kinds if kind in {None, row.name}]
        kinds += 2 * [row for row in kinds if row.has_seat]  # most of the others end the match
        return random_schedule(generator, self.hosts, turns=self.turns, kinds=kinds, most=most)


class Cases:
    """The cases of a search: drawn anew, or made of those that led to new behaviour.

    Args:
        grounds: the matches.
        seed: of all draws.

    Raises:
        UsageError: the seed is out of range.
    """

    def __init__(self, grounds: Sequence[Ground], seed: int) -> None:
        if not 0 <= seed <= MAX_SEED:
            raise UsageError(f"seed {seed}: a seed is a whole number from 0 to {MAX_SEED}")
        self.behaviours: set[Any] = set()
        self._grounds = grounds
        self._generator = default_rng(seed)
        self._kept: list[Case] = []
        self._first: deque[Case] = deque(self._one_of_each_kind())

    @property
    def kept(self) -> int:
        """The number of cases that led to new behaviour."""
        return len(self._kept)

    def next(self) -> Case:
        """Return the case to play next."""
        if self._first:
            return self._first.popleft()
        if not self._kept or self._generator.random() < SHARE_OF_NEW:
            return self._draw(self._choose(range(len(self._grounds))))
        return self._mutated(self._choose(self._kept))

    def learn(self, case: Case, behaviour: AbstractSet[Any]) -> bool:
        """Keep a case that led to new behaviour, and return whether it did."""
        if behaviour <= self.behaviours:
            return False
        self.behaviours |= behaviour
        self._kept.append(case)
        self._first.extend(self._mutated(case) for _ in range(FIRST_MUTATIONS))
        return True

    def _one_of_each_kind(self) -> Iterator[Case]:
        """Yield cases without faults, and then with one fault of each kind."""
        for number, ground in enumerate(self._grounds):
            for time_control in ground.time_controls or ("",):
                yield attrs.evolve(self._draw(number), time_control=time_control, faults=NO_FAULTS)
            for row in ground.kinds:
                faults = ground.draw_schedule(self._generator, 1, row.name)
                yield attrs.evolve(self._draw(number), steps=0, faults=faults)

    def _choose(self, values: Sequence[Any]) -> Any:
        return values[int(self._generator.integers(len(values)))]

    def _draw(self, number: int) -> Case:
        ground = self._grounds[number]
        steps = [0, 0, int(self._generator.integers(1, ground.turns + 1))] if ground.time_controls else [0]
        case = Case(
            number,
            int(self._generator.integers(MOST_SEEDS)),
            self._choose(ground.time_controls or ("",)),
            self._choose(steps),
            ground.draw_schedule(self._generator, 3),
        )
        return self._last_as_limits(case) if self._generator.random() < EVEN else case

    def _mutated(self, case: Case) -> Case:
        """Return a case that differs from another in one or a few places."""
        while True:
            case = self._choose(self._mutations)(self, case)
            if self._generator.random() < EVEN:
                return case

    def _add(self, case: Case) -> Case:
        more = self._grounds[case.ground].draw_schedule(self._generator, 2)
        return _with(case, (*case.faults, *more)[-MOST_FAULTS:])

    def _remove(self, case: Case) -> Case:
        left = list(case.faults)
        if left:
            left.pop(int(self._generator.integers(len(left))))
        return _with(case, left)

    def _change(self, case: Case, change: Callable[[Fault], Fault]) -> Case:
        faults = list(case.faults)
        if faults:
            place = int(self._generator.integers(len(faults)))
            faults[place] = change(faults[place])
        return _with(case, faults)

    def _move(self, case: Case) -> Case:
        """Move a fault to the moment of another, or a little."""

        def moved(fault: Fault) -> Fault:
            moment = self._choose([one.moment for one in case.faults])
            if moment == fault.moment:
                by = MS if moment.unit == "time" else 1
                moment = Moment(moment.unit, max(0, moment.at + self._choose([-by, by])) if moment.at else 0)
            return attrs.evolve(fault, moment=moment) if moment.unit in fault.row.units else fault

        return self._change(case, moved)

    def _last_as_limits(self, case: Case) -> Case:
        """Let each fault last for one of the limits, or twice that: a tie is where bugs are."""
        limits = sorted(TimeControl.parse(case.time_control or UNTIMED).turn_durations().values())
        if not limits:
            return case
        return _with(
            case,
            [
                attrs.evolve(fault, amount=self._choose(limits) * self._choose([1, 1, 1, 2]))
                if fault.row.amount == "duration"
                else fault
                for fault in case.faults
            ],
        )

    def _strike_another(self, case: Case) -> Case:
        hosts = self._grounds[case.ground].hosts

        def other(fault: Fault) -> Fault:
            seats = [seat for seat, host in enumerate(hosts) if host in fault.row.hosts]
            return attrs.evolve(fault, seat=self._choose(seats)) if fault.row.has_seat else fault

        return self._change(case, other)

    def _cross(self, case: Case) -> Case:
        """Add the faults of another case of the same match."""
        others = [kept for kept in self._kept if kept.ground == case.ground]
        more = self._choose(others).faults if others else ()
        return _with(case, (*case.faults, *more)[-MOST_FAULTS:])

    def _change_match(self, case: Case) -> Case:
        drawn = self._draw(case.ground)
        field = self._choose(["seed", "time_control", "steps"])
        return attrs.evolve(case, **{field: getattr(drawn, field)})

    _mutations: Final = (
        *(_add, _remove, _move, _move, _last_as_limits, _last_as_limits),
        *(_strike_another, _cross, _change_match, _change_match),
    )


def _with(case: Case, faults: Sequence[Fault]) -> Case:
    return attrs.evolve(case, faults=FaultSchedule(tuple(faults)))


def _behaviour_of_match(run: SimulatedRun) -> frozenset[Any]:
    """Return what followed what in a match, for each seat and in all, and how often it came."""
    found: set[Any] = set()
    counts: Counter[Any] = Counter()
    last: dict[Any, Any] = {}
    for event in run.events:
        seat = getattr(event, "seat", None)
        what = _kind_of(event)
        for lane in {None, seat}:
            found.add((last.get(lane), what, lane is None))
            last[lane] = what
        counts[what] += 1
    found.update((what, count.bit_length()) for what, count in counts.items())
    happened = sorted(run.happened)
    found.update(combinations(happened, 2))
    found.update((kind, what) for kind in happened for what in counts)
    return frozenset(found)


def grounds_of_plan(
    plan: TournamentPlan, time_controls: Sequence[str] = (), rules: Sequence[Rule] = INVARIANTS
) -> list[Ground]:
    """Return the grounds of a plan: its different matches, and the tournament as a whole.

    Matches are cut to `MOST_TURNS`, begin without openings, and a tournament of more than `MOST_MATCHES` is
    left out.

    Raises:
        UsageError: a match cannot be simulated.
    """
    tasks = [attrs.evolve(task, steps=min(task.steps or MOST_TURNS, MOST_TURNS)) for task in plan.tasks]
    plan = attrs.evolve(plan, tasks=tuple(tasks), clock="virtual").without_openings()
    specs = list(schedule(plan).walk({}))
    different = {(spec.task, spec.entrants): spec for spec in specs}.values()
    grounds = [
        Ground.of_match(request_of(plan, spec, plan.folder), time_controls, rules) for spec in different
    ]
    return [*grounds, *([Ground.of_tournament(plan)] if len(specs) <= MOST_MATCHES else [])]


def _behaviour_of_tournament(run: SimulatedTournament) -> frozenset[Any]:
    """Return how runs ended and attempts followed each other in a tournament, and with which faults."""
    attempts = [(attempt.status, attempt.why[:5], attempt.reason) for attempt in run.attempts]
    return frozenset(
        [*pairwise(["", *run.ended]), *pairwise(attempts), *combinations(sorted(run.happened), 2)]
    )


def _kind_of(event: Event) -> Any:
    if isinstance(event, TurnPlayed):
        return "turn", event.verdict, event.credit_ns > 0, event.answers is not None
    if isinstance(event, TaskEnded):
        return "end", event.ended, event.result
    return type(event).__name__, getattr(event, "reason", None) or getattr(event, "why", None)


def smaller(case: Case, grounds: Sequence[Ground]) -> Iterator[Case]:
    """Yield cases that are smaller than one, in the order in which they are to be tried."""
    faults = tuple(case.faults)
    half = len(faults) // 2
    if half > 1:
        yield _with(case, faults[:half])
        yield _with(case, faults[half:])
    for place in range(len(faults)):
        yield _with(case, faults[:place] + faults[place + 1 :])
    ground = grounds[case.ground]
    for steps in _less(case.steps or ground.turns, 1) if ground.time_controls else ():
        if steps:
            yield attrs.evolve(case, steps=steps)
    for seed in _less(case.seed, 1):
        yield attrs.evolve(case, seed=seed)
    for time_control in takewhile(lambda text: text != case.time_control, ground.time_controls):
        yield attrs.evolve(case, time_control=time_control)
    for place, fault in enumerate(faults):
        for simpler in _simpler(fault):
            yield _with(case, (*faults[:place], simpler, *faults[place + 1 :]))


def _simpler(fault: Fault) -> Iterator[Fault]:
    """Yield faults that come earlier, or are shorter, at rounder figures."""
    unit, at = fault.moment.unit, fault.moment.at
    if unit == "time" and "turn" in fault.row.units:
        yield attrs.evolve(fault, moment=Moment("turn", 0))
    for earlier in _less(at, MS if unit == "time" else 1):
        yield attrs.evolve(fault, moment=Moment(unit, earlier))
    for shorter in _less(fault.amount, MS if fault.row.amount == "duration" else 1):
        yield attrs.evolve(fault, amount=shorter)


def _less(value: int, unit: int) -> Iterator[int]:
    """Yield whole multiples of a unit that are less than a value, the smallest first."""
    if value:
        yield from sorted({0, value // 2 // unit * unit, max(0, value - 1) // unit * unit})
