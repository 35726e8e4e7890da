"""Small tasks, agents and schedulers for tests of the kernel, and how a match is played with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import trio

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.events import ReplyDropped, SeatDisqualified, TurnPlayed
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult, Outcome, StepResult
from flagfall.timing import TimeControl, VirtualClock

NIL = -1


class CountTask:
    """Shows the number of the step; pays what was answered, if that was a number. Actions are 0 to 99."""

    id = "count"
    players: Sequence[str] = ("player_0",)
    continuous = False
    nil_action: Any = NIL
    abort_action: Any = None

    def __init__(self, steps: int = 3, *, continuous: bool = False, fails_in: str = "") -> None:
        self.steps = steps
        self.continuous = continuous
        self.taken: list[Any] = []
        self.fails_in = fails_in
        self.closed = 0

    def _maybe_fail(self, where: str) -> None:
        if where == self.fails_in:
            raise ValueError(f"the task failed in {where}")

    def is_legal(self, action: Any) -> bool:
        self._maybe_fail("is_legal")
        return bool(0 <= action < 100)

    def reset(self, _seed: int) -> Any:
        self._maybe_fail("reset")
        self.taken = []
        return 0

    def step(self, action: Any) -> StepResult:
        self._maybe_fail("step")
        self.taken.append(action)
        return StepResult(len(self.taken), action, terminated=len(self.taken) >= self.steps)

    def result(self) -> bool | None:
        self._maybe_fail("result")
        return True

    def metrics(self) -> Mapping[str, Any]:
        self._maybe_fail("metrics")
        return {}

    def close(self) -> None:
        self.closed += 1
        self._maybe_fail("close")


class TogetherTask(CountTask):
    """Several players act at once; each is paid its own action."""

    id = "together"

    def __init__(
        self, players: int = 2, steps: int = 3, *, continuous: bool = False, last_words: Any = "shown"
    ) -> None:
        super().__init__(steps, continuous=continuous)
        self.players = tuple(f"player_{i}" for i in range(players))
        self.last_words = last_words

    def reset(self, seed: int) -> Any:
        return dict.fromkeys(self.players, super().reset(seed))

    def step(self, action: Any) -> StepResult:
        self.taken.append(action)
        done = len(self.taken) >= self.steps
        shown = dict.fromkeys(self.players, len(self.taken))
        return StepResult(
            shown if not done or self.last_words == "shown" else None, dict(action), terminated=done
        )


class InTurnTask(TogetherTask):
    """Players act one after another; `order` says who."""

    id = "in turn"

    def __init__(self, order: Sequence[int], players: int = 2) -> None:
        super().__init__(players, len(order))
        self.order = order

    def reset(self, seed: int) -> Any:
        super().reset(seed)
        return self._shown()

    def step(self, action: Any) -> StepResult:
        self.taken.append(action)
        return StepResult(self._shown(), dict(action), terminated=len(self.taken) >= len(self.order))

    def _shown(self) -> Any:
        turn = len(self.taken)
        return {self.players[self.order[min(turn, len(self.order) - 1)]]: turn}


class ActorTask(CountTask):
    """Runs in an actor of its own."""

    id = "runs"

    def __init__(self, body: Callable[[Any], Any], players: int = 1, *, continuous: bool = False) -> None:
        super().__init__(continuous=continuous)
        self.players = tuple(f"player_{i}" for i in range(players))
        self._body = body

    async def run(self, referee: Any) -> None:
        await self._body(referee)


class ListScheduler:
    """Gives these tasks, one after another; `fails_in` names a method that raises."""

    def __init__(self, tasks: Iterable[Any], fails_in: str = "", *, asynchronous: bool = False) -> None:
        self.tasks = list(tasks)
        self._left: Iterator[Any] = iter(self.tasks)
        self.fails_in = fails_in
        self.outcomes: list[Outcome] = []
        self.closed = 0
        self._asynchronous = asynchronous

    def _maybe_fail(self, where: str) -> None:
        if where == self.fails_in:
            raise ValueError(f"the scheduler failed in {where}")

    def set_seed(self, _seed: int) -> None:
        self._maybe_fail("set_seed")

    def next_task(self) -> Any:
        self._maybe_fail("next_task")
        task = next(self._left, None)
        return self._after_a_while(task) if self._asynchronous else task

    async def _after_a_while(self, task: Any) -> Any:
        await trio.sleep(1)
        return task

    def report(self, outcome: Outcome) -> None:
        self._maybe_fail("report")
        self.outcomes.append(outcome)

    def close(self) -> None:
        self.closed += 1
        for task in self.tasks:
            task.close()
        self._maybe_fail("close")


class Sleeper:
    """Sleeps so many seconds before each answer; the last one counts for all further turns."""

    def __init__(self, *seconds: float, say: Any = 7) -> None:
        self.seconds = list(seconds)
        self.say = say
        self.lates: list[Any] = []
        self.seen: list[Any] = []

    async def act(self, observation: Any, timer: Any) -> Any:
        self.lates.append(timer.late)
        self.seen.append(observation)
        await trio.sleep(self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0])
        return self.say


def hosts_of(agents: Iterable[Any]) -> list[AgentHost]:
    """A host in the loop for each agent that is not a host already."""
    return [a if hasattr(a, "kind") else LoopHost(a, f"agent {i}") for i, a in enumerate(agents)]


class Played:
    """A match that was played: its result (or error) and its events."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.result: MatchResult | None = None
        self.error: BaseException | None = None

    @property
    def turns(self) -> list[TurnPlayed]:
        return [e for e in self.events if isinstance(e, TurnPlayed)]

    @property
    def dropped(self) -> list[ReplyDropped]:
        return [e for e in self.events if isinstance(e, ReplyDropped)]

    @property
    def disqualified(self) -> list[SeatDisqualified]:
        return [e for e in self.events if isinstance(e, SeatDisqualified)]

    @property
    def reason(self) -> str:
        assert self.result is not None
        return self.result.reason

    def verdicts(self, seat: int = 0) -> list[str]:
        return [t.verdict for t in self.turns if t.seat == seat]

    def actions(self, seat: int = 0) -> list[Any]:
        return [t.action for t in self.turns if t.seat == seat]

    def stats(self, seat: int = 0) -> Any:
        assert self.result is not None
        return self.result.seats[seat].stats


def play(tasks: Any, *agents: Any, **options: Any) -> Played:
    """Play a match on the virtual clock."""
    return trio.run(partial(play_here, tasks, *agents, **options), clock=VirtualClock())


async def play_here(
    tasks: Any,
    *agents: Any,
    control: str = "act=40ms/1s start=1s",
    into: Played | None = None,
    **options: Any,
) -> Played:
    """Play a match in the running loop; errors of the match are raised, `into` has its events then."""
    played = Played() if into is None else into
    scheduler = tasks if hasattr(tasks, "next_task") else ListScheduler(_listed(tasks))
    sinks = [played.events.append, *options.pop("sinks", ())]
    played.result = await play_match(
        scheduler,
        hosts_of(agents),
        control=TimeControl.parse(control),
        sinks=sinks,
        **options,
    )
    return played


def _listed(tasks: Any) -> list[Any]:
    return list(tasks) if isinstance(tasks, list | tuple) else [tasks]


@contextmanager
def shuffled_tasks(seed: int) -> Iterator[None]:
    """Let trio run its tasks in an order that depends on this seed alone (a private switch of trio)."""
    from trio._core import _run  # noqa: PLC0415 - private: no other place knows it

    before = _run._ALLOW_DETERMINISTIC_SCHEDULING
    state = _run._r.getstate()
    _run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]
    _run._r.seed(seed)
    try:
        yield
    finally:
        _run._ALLOW_DETERMINISTIC_SCHEDULING = before  # type: ignore[misc]
        _run._r.setstate(state)
