"""Capacity of a machine: how many matches of a plan it carries at once, from what a probe has measured.

`flagfall.tournament.run.probe` plays the matches, `flagfall.tournament.run.turn_delays` defines the delay of
a turn. A machine carries a number of matches if in 99 of 100 turns the delay is within the bound. That is
measured several times, at several numbers of matches: the medians give the capacity, between two numbers that
were measured by interpolation, and what differs between the measurements is its uncertainty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any, Final, TypeAlias

import attrs

from flagfall.agents.process.limits import format_size
from flagfall.errors import UsageError
from flagfall.texts import counted
from flagfall.timing.durations import MS, format_duration, parse_duration
from flagfall.tournament.model import PlannedTask, TournamentPlan

WINDOWS: Final = 9
"""Most measurements into which the turns with one number of matches are divided."""

WINDOW_TURNS: Final = 100
"""Least turns of a measurement, of which one in a hundred may exceed the bound."""

VISITS: Final = 3
"""Visits after which a number of matches is not measured again."""

DEFAULT_SHARE: Final = "10%"
"""The bound, as a share of the smallest limit of a turn in the plan."""

DEFAULT_BOUND_NS: Final = 10 * MS
"""The bound where the plan limits no single turn."""

_SHARE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%")
_ALL: Final = 100
_MIB: Final = 1024**2


def smallest_limit(plan: TournamentPlan) -> int | None:
    """Return the smallest limit of a turn in a plan, in nanoseconds; `None` if no turn is limited.

    At real-time pace the time between two ticks is one.
    """
    limits = [
        limit for task in plan.tasks for limit in (task.tick_ns, *task.control.turn_durations().values())
    ]
    return min(filter(None, limits), default=None)


def parse_bound(text: str | None, plan: TournamentPlan) -> int:
    """Return the longest delay in nanoseconds that is allowed in 99 of 100 turns.

    Args:
        text: a duration, or a percentage of the smallest limit of a turn; `None` for `DEFAULT_SHARE`, or for
            `DEFAULT_BOUND_NS` where no turn is limited.

    Raises:
        UsageError: it is neither, or nothing, or a share where no turn is limited.
    """
    smallest = smallest_limit(plan)
    if text is None:
        if smallest is None:
            return DEFAULT_BOUND_NS
        text = DEFAULT_SHARE
    share = _SHARE.fullmatch(text.strip())
    if share is None:
        try:
            bound_ns = parse_duration(text)
        except UsageError as error:
            raise UsageError(f"bound: {error}; or a share of the smallest limit, such as 5%") from None
    elif smallest is None:
        raise UsageError(f"bound {text}: no turn of the plan is limited: write a duration, such as 10ms")
    elif float(share[1]) > _ALL:
        raise UsageError(f"bound {text}: write at most 100%")
    else:
        bound_ns = int(smallest * float(share[1]) / _ALL)
    if bound_ns == 0:
        raise UsageError(f"bound {text}: write a time above 0")
    return bound_ns


@attrs.frozen
class Window:
    """A measurement: delays of the turns that ended in a short time.

    Attributes:
        turns: their number.
        p50_ns: the median of their delays.
        p99_ns: the delay that 99 of 100 turns do not exceed; of fewer than 100 the longest one.
    """

    turns: int
    p50_ns: int
    p99_ns: int

    @classmethod
    def of(cls, delays_ns: Iterable[int]) -> Window:
        """Return the measurement of some turns, at least one."""
        ordered = sorted(delays_ns)
        ranks = (ceil(len(ordered) * share) - 1 for share in (0.5, 0.99))
        return cls(len(ordered), *(ordered[rank] for rank in ranks))


@attrs.frozen
class Level:
    """What was measured with a number of matches at once.

    Attributes:
        jobs: their number.
        delays_ns: the delay of each turn, in the order of their ends.
        busy: the share of the machine's processors that were in use, 0 to 1, on the last visit.
        visits: how often it was measured.
    """

    jobs: int
    delays_ns: tuple[int, ...]
    busy: float = 0.0
    visits: int = 1

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The measurements, each of as many successive turns; none if no turn ended."""
        turns = len(self.delays_ns)
        parts = max(1, min(WINDOWS, turns // WINDOW_TURNS))
        edges = [turns * part // parts for part in range(parts + 1)]
        return tuple(Window.of(self.delays_ns[first:last]) for first, last in pairwise(edges) if last)

    @property
    def p50_ns(self) -> int:
        """The median delay, as the median of the measurements."""
        return int(median(window.p50_ns for window in self.windows))

    @property
    def p99_ns(self) -> int:
        """The 99th percentile of the delays, as the median of the measurements."""
        return int(median(window.p99_ns for window in self.windows))

    def with_visit(self, delays_ns: Sequence[int], busy: float) -> Level:
        """Return this level with the delays of another visit."""
        return attrs.evolve(self, delays_ns=(*self.delays_ns, *delays_ns), busy=busy, visits=self.visits + 1)


Levels: TypeAlias = Mapping[int, Level]
"""By the number of matches at once."""


def next_jobs(levels: Levels, bound_ns: int, most: int) -> int | None:
    """Return the number of matches at once that a probe measures next; `None` if enough is known.

    It doubles until the bound is exceeded, then halves the interval between two numbers, then measures those
    two again, or the largest one where the machine carries that: what differs between visits is noise.

    Args:
        most: more are not tried.
    """
    good, bad = _between(levels, bound_ns)
    tried = max(levels, default=0)
    if bad is None and tried < most:
        return min(most, 2 * tried or 1)
    if bad is not None and bad - good > 1:
        return (good + bad) // 2
    edges = [jobs for jobs in ((tried,) if bad is None else (good, bad)) if 0 < jobs <= most]
    again = min(edges, key=lambda jobs: levels[jobs].visits, default=0)
    return again if again and levels[again].visits < VISITS else None


def _between(levels: Levels, bound_ns: int) -> tuple[int, int | None]:
    """Return the largest number that was measured below the first one that is too many, and that one."""
    measured = sorted(jobs for jobs in levels if levels[jobs].windows)
    bad = next((jobs for jobs in measured if levels[jobs].p99_ns > bound_ns), None)
    return max((jobs for jobs in measured if bad is None or jobs < bad), default=0), bad


@attrs.frozen
class Resource:
    """Something besides processors that matches use up.

    Attributes:
        name: `memory` in bytes, or `processes`, which include threads.
        of_match: what a match takes.
        free: what the machine has for all of them.
    """

    name: str
    of_match: int
    free: int

    @property
    def most(self) -> int:
        """The number of matches for which it suffices."""
        return self.free // max(1, self.of_match)

    def __str__(self) -> str:
        taken, free = (self._text(amount) for amount in (self.of_match, self.free))
        return (
            f"{self.name}: {taken} a match, {free} free, enough for {counted(self.most, 'match', 'matches')}"
        )

    def _text(self, amount: int) -> str:
        return format_size(max(1, round(amount / _MIB)) * _MIB) if self.name == "memory" else f"{amount:,}"


@attrs.frozen
class Capacity:
    """How many matches of a plan a machine carries at once.

    Attributes:
        jobs: the number; 0 if even one match exceeds the bound, or is too large.
        low: the least number that the measurements allow.
        high: the largest number that they allow; `None` if that is not known.
        exact: false: no limit was found, and more may be carried.
        bound_ns: the longest delay that is allowed in 99 of 100 turns.
        limited_by: `delays`, `processors` (on the virtual clock), the name of a resource, or nothing.
        levels: what was measured, by the number of matches.
        remarks: what a reader of the number has to know.
    """

    jobs: int
    low: int
    high: int | None
    exact: bool
    bound_ns: int
    limited_by: str
    levels: tuple[Level, ...] = ()
    resources: tuple[Resource, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{counted(self.jobs, 'match', 'matches')} at once"
        if not self.exact and self.low == self.jobs:
            return f"at least {text}"
        if self.low == self.high:
            return text
        return f"{text} ({self.low} {'or more' if self.high is None else f'to {self.high}'})"

    def as_data(self) -> dict[str, Any]:
        """Return the capacity as plain data, for JSON; times in nanoseconds, memory in bytes."""
        fields = attrs.asdict(self, filter=lambda field, _: field.name not in {"levels", "resources"})
        levels = [
            {
                "jobs": level.jobs,
                "turns": len(level.delays_ns),
                "busy": round(level.busy, 3),
                "windows": list(map(attrs.asdict, level.windows)),
            }
            for level in self.levels
        ]
        resources = [attrs.asdict(resource) | {"most": resource.most} for resource in self.resources]
        return fields | {"levels": levels, "resources": resources}


def capacity_of(
    levels: Levels, bound_ns: int, resources: Sequence[Resource] = (), remarks: Iterable[str] = ()
) -> Capacity:
    """Return the capacity that measurements show.

    Args:
        levels: what was measured; at least one level has a measurement.
        remarks: see `Capacity`; those that follow from the levels are added.
    """
    good, bad = _between(levels, bound_ns)
    measured = sorted(jobs for jobs in levels if levels[jobs].windows)
    delays = {jobs: [window.p99_ns for window in levels[jobs].windows] for jobs in measured}
    few = {jobs for jobs in measured if len(levels[jobs].delays_ns) < WINDOW_TURNS}  # these show little
    sometimes = next((jobs for jobs in measured if jobs in few or max(delays[jobs]) > bound_ns), None)
    always = next((jobs for jobs in measured if jobs not in few and min(delays[jobs]) > bound_ns), None)
    jobs, exact, limited_by = good, bad is not None, ""
    if bad is not None:
        limited_by = "delays"
        before_ns = levels[good].p99_ns if good else 0
        share = (bound_ns - before_ns) / (levels[bad].p99_ns - before_ns)
        jobs = min(bad - 1, good + int((bad - good) * share))
    low = jobs if sometimes is None else max((n for n in measured if n < sometimes), default=0)
    low, high = min(low, jobs), None if always is None else max(jobs, always - 1)
    least = min(resources, key=lambda resource: resource.most, default=None)
    if least is not None and least.most <= jobs:
        jobs, exact, limited_by = least.most, True, least.name
        low = min(low, jobs)
        high = jobs
    elif least is not None and high is not None:
        high = min(high, least.most)
    return Capacity(
        jobs=jobs,
        low=low,
        high=high,
        exact=exact,
        bound_ns=bound_ns,
        limited_by=limited_by,
        levels=tuple(levels[jobs] for jobs in sorted(levels)),
        resources=tuple(resources),
        remarks=(*remarks, *_remarks(sorted(few), bound_ns, bad)),
    )


def _remarks(few: Sequence[int], bound_ns: int, bad: int | None) -> Iterator[str]:
    """Yield what makes the capacity uncertain."""
    if bad == 1:
        bound = format_duration(bound_ns)
        yield f"even one match has delays above {bound}: it needs longer limits, or a faster or idler machine"
    if few:
        where = ", ".join(map(str, few))
        yield f"fewer than {WINDOW_TURNS} turns were measured with {where} at once: a longer time tells more"


def memory_allowed(plan: TournamentPlan) -> int:
    """Return the bytes that the agents of a match may use by their limits; those without a limit count 0."""
    return max(_allowed(plan, task) for task in plan.tasks)


def _allowed(plan: TournamentPlan, task: PlannedTask) -> int:
    limits = sorted((plan.agent(name).isolation.limits.memory or 0 for name in task.agents), reverse=True)
    return sum(limits[: task.seats])
