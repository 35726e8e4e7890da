"""The script of a match: the order of its tasks and turns as a plain generator, without a clock.

The script makes requests, and is sent the answers. A pair (observation, reward) is a turn: it is sent the
actions. Everything else is a request object. The kernel drives the script with agents and deadlines,
`flagfall.recording.verify` with recorded actions, `run_plain` with function calls, so all three play
the same match by construction. This file knows neither clock nor event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from itertools import count
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from flagfall.errors import FlagfallError, HostFault
from flagfall.kernel.outcomes import Outcome, derive_seed
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task
from flagfall.timing.control import Phase

Actions: TypeAlias = Any
"""One action, or a mapping from player to action where a task has several players."""

Request: TypeAlias = Any
"""A request of a script: a pair (observation, reward) is a turn; anything else goes to the environment."""


@attrs.frozen
class NextTask:
    """Request for the next task; is sent it, or `None` when the match is over.

    Attributes:
        outcome: the outcome of the last task; `None` before the first.
        index: zero-based index of the next task.
        owed: a reward that was earned and comes with the next observation.
    """

    outcome: Outcome | None
    index: int
    seed: int
    owed: Any


@attrs.frozen
class RunTask:
    """Request to run a task that is an actor; is sent an `ActorResult`.

    Attributes:
        owed: a reward that was earned before, to be paid with its first turn.
    """

    task: TaskRole
    owed: Any


class ActorResult(NamedTuple):
    """Result of a task that ran as an actor.

    Attributes:
        steps: the number of turns whose actions it got.
        earned: the sum of the rewards it paid, over all players.
        ended: `finished`, or `cut` if the match ended first.
        owed: a reward from before that it never paid, since it asked for no turn.
        paid: what it paid to each player that it paid something, by name; empty for one player.
    """

    steps: int
    earned: float
    ended: Literal["finished", "cut"]
    owed: Any
    paid: Mapping[str, Any]


class MatchCut(Exception):
    """Thrown into the script when the match ends in the middle of a task."""


class TaskTimeout(Exception):
    """Thrown into the script when the time of a task is over, and the match continues."""


@attrs.frozen
class TaskExpired:
    """Result of turns: the time of the task is over, and its next turn was not opened."""


@attrs.frozen
class PhaseRequest:
    """Request to ask every seat outside the turns; each answers or runs out of time.

    Attributes:
        phase: `start`, `init` or `result`.
        observation: the observation of the seats; for several players a mapping from player.
        reward: the reward that comes with it; for several players a mapping from player.
    """

    phase: Phase
    observation: Any = None
    reward: Any = 0


@attrs.frozen
class Pause:
    """Result of turns: the environment has something to do before the next one."""

    request: Request


@attrs.frozen
class Stop:
    """Result of any request: the match is over before its scheduler is done.

    Attributes:
        reason: see `flagfall.events.MatchEnded`.
    """

    reason: Literal["steps", "seats", "stopped"]


class EndOfMatch(FlagfallError):
    """The match ended while a task that is an actor waited for its agents; a task must not catch it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


@attrs.frozen
class PendingAction:
    """At real-time pace, the newest action of a seat, which the next tick plays.

    Attributes:
        number: the number of the turn that it answers.
        spent_ns: time that the seat used of that turn.
        credit_ns: time that the host lost meanwhile.
    """

    action: Any
    number: int
    at_ns: int
    spent_ns: int
    credit_ns: int


def add_rewards(paid: Any, owed: Any) -> Any:
    """Return the sum of two rewards, or of two mappings of rewards by player."""
    if not isinstance(owed, Mapping):
        return paid + owed
    paid = paid if isinstance(paid, Mapping) else {}
    return {player: paid.get(player, 0) + owed.get(player, 0) for player in {**owed, **paid}}


def _are_finite(paid: Mapping[str, Any]) -> bool:
    """Return whether the sums of all players are: those of two may be infinite though they cancel out."""
    return all(map(isfinite, paid.values()))


def match_script(seed: int | Callable[[], int]) -> Generator[Any, Any, None]:
    """Play tasks until there are no more.

    Args:
        seed: the root seed of the match, or a function that returns it before each task; task number i is
            reset with `derive_seed(seed, "task", i)`.
    """
    outcome: Outcome | None = None
    owed: Any = 0
    for index in count():
        task_seed = derive_seed(seed() if callable(seed) else seed, "task", index)
        task: TaskRole | None = yield NextTask(outcome, index, task_seed, owed)
        if task is None:
            return
        outcome, owed = yield from _episode(task, index, task_seed, owed)


def _episode(task: TaskRole, index: int, seed: int, owed: Any) -> Generator[Any, Any, tuple[Outcome, Any]]:
    """Play one episode; return its outcome, and a reward that is owed with the next observation."""
    observation = task.reset(seed)
    reward, steps, earned, ended = owed, 0, 0.0, "finished"
    paid: Any = {}
    try:
        if not task.continuous:
            yield PhaseRequest("init", observation)
        if task.run is not None:
            steps, earned, ended, reward, paid = yield RunTask(task, owed)
            observation = None
            if not isfinite(earned) or not _are_finite(paid):
                raise HostFault(f"task {task.id}: its rewards add up to {earned!r}; they must be finite")
        else:
            step, done = task.step, False
            while not done:
                action = yield observation, reward
                observation, reward, terminated, truncated, _info = step(action)
                steps += 1
                earned += reward if type(reward) is not dict else sum(reward.values())
                paid = paid if type(reward) is not dict else add_rewards(paid, reward)
                # The difference is not a number for an infinite sum, too; cheaper than `isfinite`.
                if earned - earned or (paid and not _are_finite(paid)):
                    raise HostFault(f"task {task.id}: its reward was {reward!r}; rewards must be finite")
                done = terminated or truncated
            ended = "finished" if terminated else "truncated"
    except TaskTimeout:
        ended = "time"
    except MatchCut:
        ended = "cut"
    is_cut = ended == "cut"
    result = None if is_cut else task.result()
    by_seat = tuple(float(paid.get(player, 0)) for player in task.players) if len(task.players) > 1 else ()
    metrics = task.metrics()
    outcome = Outcome(task.id, index, result, earned, steps, ended, metrics, rewards=by_seat)  # type: ignore[arg-type]
    if is_cut:
        return outcome, 0
    if task.continuous:
        return outcome, reward
    with suppress(MatchCut):
        answers = yield PhaseRequest("result", observation, reward)
        outcome = attrs.evolve(outcome, answers=answers or {})
    return outcome, 0


def run_plain(
    scheduler: SchedulerRole,
    act: Callable[[Any, Any], Any],
    *,
    seed: int = 0,
    steps: int | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> int:
    """Play a match as a plain loop: no clock, no actors, no record. For training and for baselines.

    Args:
        scheduler: gives the tasks; none of them an actor.
        act: called with (observation, reward), gives the action (mappings for several players).
        seed: the root seed; the same seed gives the same tasks as in the kernel.
        steps: number of turns after which to stop; `None` to play to the end.
        report: called with every outcome.

    Returns:
        The number of turns that were played.
    """
    scheduler.set_seed(derive_seed(seed, "scheduler"))
    script = match_script(seed)
    send = script.send
    request = next(script)
    left = -1 if steps is None else steps
    turns = 0
    while True:
        while type(request) is tuple:
            if turns == left:
                script.close()
                return turns
            action = act(*request)
            turns += 1
            request = send(action)
        if isinstance(request, NextTask):
            if request.outcome is not None:
                scheduler.report(request.outcome)
                if report is not None:
                    report(request.outcome)
            task = scheduler.next_task()
            if task is None:
                script.close()
                return turns
            request = send(complete_task(task))
        else:
            request = send(None)
