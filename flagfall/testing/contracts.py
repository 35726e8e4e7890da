"""`check_agent` and `check_task`: contracts as assertions for tests.

`check_agent` asserts the grades of `flagfall.testing.agent_report`, which `flagfall check-agent` prints. The
rules of tasks are functions; a violation is an `AssertionError` with the name of the rule.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import msgspec
import numpy as np

from flagfall.agents.hosts.registry import host_agent
from flagfall.kernel.channels.arrays import msgpack_encoder
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS, MAX_TEXT_CHARS
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.roles import TaskRole, complete_task, is_task
from flagfall.tasks.task import Task
from flagfall.testing.agent_report import AgentUnderTest, report_agent
from flagfall.timing import TimeControl

PATIENCE_SECONDS: Final = 60.0
"""Maximum duration of one match, before the agent counts as hanging."""


def check_agent(
    agent: Any,
    *,
    host: LocalHostKind = "task",
    tasks: Sequence[str | Callable[[], Task]] = ("micro1", "micro4"),
    time_control: str = "start=10s init=5s act=1s/5s result=5s",
    steps: int = 200,
) -> None:
    """Check that an agent starts, answers in time and legally, repeats a match, and ends when cancelled.

    Args:
        agent: an agent of any kind (`flagfall.agents.agent`): best a class, as each match then has its own;
            or a text such as `bot.py:Bot`.
        host: where it runs. In the event loop (`task`) it is played on the virtual clock.
        tasks: ids of tasks, or functions that make one; all seats of a task get the agent.
        steps: number of turns of each match.

    Raises:
        AssertionError: a check failed; the message has its name and finding.
        UsageError: the agent cannot be played as requested.
    """
    tested = AgentUnderTest(
        lambda name: host_agent(agent, host, name),
        tasks,
        TimeControl.parse(time_control),
        turns=steps,
        is_virtual=host == "task",
        patience_seconds=PATIENCE_SECONDS,
    )
    for grade in report_agent(tested):
        assert grade.passed is not False, f"{grade.check}: {grade.found}"


def violation_of(rule: Callable[..., None], *arguments: Any) -> AssertionError | None:
    """Return the violation of a rule; any other error is one, too."""
    try:
        rule(*arguments)
    except AssertionError as error:
        return error
    except Exception as error:  # noqa: BLE001 - what is checked may raise anything
        violation = AssertionError(f"{rule.__name__}: raised {type(error).__name__}: {error}")
        violation.__cause__ = error
        return violation
    return None


MakeTask: TypeAlias = Callable[[], Any]
Trace: TypeAlias = list[bytes]

STEPS: Final = 200
"""Steps of each episode: enough for questions and answers of a byte task."""

DEFAULT_SEEDS: Final = (0, 1, 2**63 - 1)
"""Seeds of the episodes: the smallest ones and the largest."""

MAX_NAME_CHARS: Final = 60
"""Longest text of a player: it stands beside the names of agents."""

ODD_ACTIONS: Final[tuple[Any, ...]] = (
    *(None, -1, 10**30, 1.5, float("nan"), "", "é", b"\xff"),
    *((), [], {}, {"a": 1}, object(), int),
)
"""Actions that no task expects, and that agents may send."""


def check_task(
    make_task: MakeTask,
    *,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    steps: int = STEPS,
    remembers: bool = False,
) -> None:
    """Check that a task keeps its contract (`flagfall.kernel.roles.TaskRole`).

    Args:
        make_task: returns a new task from each call.
        steps: maximum number of steps of each episode.
        remembers: episodes depend on earlier ones on purpose: leave out the rule against it.

    Raises:
        AssertionError: a rule is violated; the message has its name and the reason.
    """
    for grade in report_task(make_task, seeds=seeds, steps=steps, remembers=remembers):
        if grade.error is not None:
            raise grade.error


@attrs.frozen
class TaskGrade:
    """Result of one rule.

    Attributes:
        meaning: the promise that it checks, as text.
        error: the violation; `None` if the task keeps the rule.
    """

    check: str
    meaning: str
    error: AssertionError | None = None

    @property
    def passed(self) -> bool:
        """True if the task keeps the rule."""
        return self.error is None

    @property
    def found(self) -> str:
        """The violation as text; empty if there is none."""
        return "" if self.error is None else str(self.error)


def report_task(
    make_task: MakeTask,
    *,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    steps: int = STEPS,
    remembers: bool = False,
) -> Iterator[TaskGrade]:
    """Check one rule after another, and yield the result of each.

    Args:
        make_task: see `check_task`, as for the other arguments.
    """
    for rule in TASK_RULES:
        if remembers and rule is forgets_what_was_before:
            continue
        meaning = inspect.getdoc(rule) or rule.__name__
        meaning = meaning.partition("\n")[0].removeprefix("Check that ").rstrip(".")
        yield TaskGrade(rule.__name__, meaning, violation_of(rule, make_task, seeds, steps))


def says_what_it_is(make_task: MakeTask, _seeds: Sequence[int], _steps: int) -> None:
    """Check that a task has an id, players with distinct names, and the methods of its role."""
    task = make_task()
    assert is_task(task), f"says_what_it_is: {type(task).__name__} lacks methods of TaskRole"
    assert isinstance(task.id, str), f"says_what_it_is: id is {task.id!r}, not a text"
    assert task.id, "says_what_it_is: the id is empty"
    players = list(task.players)
    assert players, "says_what_it_is: there are no players"
    assert len(set(players)) == len(players), f"says_what_it_is: players have the same name: {players}"
    assert make_task() is not task, "says_what_it_is: make_task must return a new task from each call"
    task.close()


def judges_any_action(make_task: MakeTask, seeds: Sequence[int], _steps: int) -> None:
    """Check that `is_legal` takes any object and returns a bool."""
    task = make_task()
    task.reset(seeds[0])
    for action in (*ODD_ACTIONS, task.nil_action):
        try:
            verdict = task.is_legal(action)
        except Exception as error:
            raise AssertionError(f"judges_any_action: is_legal({action!r}) raised {error!r}") from error
        assert isinstance(verdict, bool), f"judges_any_action: is_legal({action!r}) returned {verdict!r}"
    task.close()


def takes_its_nil_action(make_task: MakeTask, seeds: Sequence[int], steps: int) -> None:
    """Check that an episode can be played with the NIL action alone: all agents may be disqualified."""
    for seed in seeds:
        _episode(make_task(), seed, steps, random.Random(0), nil_only=True)


def repeats_an_episode(make_task: MakeTask, seeds: Sequence[int], steps: int) -> None:
    """Check that seed and actions alone decide on an episode: neither the object nor a global generator."""
    traces = []
    for noise in (1, 2):
        random.seed(noise)
        task = make_task()
        traces.append([_episode(task, seed, steps, random.Random(seed), close=False) for seed in seeds])
        task.close()
    for seed, first, other in zip(seeds, *traces, strict=True):
        _same(first, other, f"repeats_an_episode: seed {seed}, another object")


def forgets_what_was_before(make_task: MakeTask, seeds: Sequence[int], steps: int) -> None:
    """Check that an episode does not depend on earlier ones."""
    again = make_task()
    for seed in seeds:
        first = _episode(make_task(), seed, steps, random.Random(seed))
        other = _episode(again, seed, steps, random.Random(seed), close=False)
        _same(first, other, f"forgets_what_was_before: seed {seed}")
    again.close()


def ends_in_order(make_task: MakeTask, seeds: Sequence[int], steps: int) -> None:
    """Check that a task has a result and metrics and can be closed after an episode, complete or not."""
    for played in (0, 1, steps):
        task = make_task()
        _episode(task, seeds[0], played, random.Random(0), close=False)
        result = task.result()
        assert result in (True, False, None), f"ends_in_order: result() returned {result!r}"
        metrics = task.metrics()
        assert isinstance(metrics, Mapping), f"ends_in_order: metrics() returned {metrics!r}"
        _bytes_of(dict(metrics), "ends_in_order: metrics")
        task.close()


def describes_itself(make_task: MakeTask, seeds: Sequence[int], steps: int) -> None:
    """Check that its texts are texts of bounded length that change nothing, and that its areas are areas."""
    task = complete_task(make_task())
    _check_text(task.instructions, "instructions", MAX_INSTRUCTIONS_CHARS)
    for player in task.players:
        _check_text(task.describe_player(player), f"describe_player({player!r})", MAX_NAME_CHARS)
        _check_layout(task, player)
    task.close()
    seed = seeds[0]
    plain = _episode(make_task(), seed, steps, random.Random(seed))
    described = _episode(make_task(), seed, steps, random.Random(seed), look=_describe)
    _same(plain, described, f"describes_itself: seed {seed}, with texts and without")


def _describe(task: TaskRole, shown: Any, actions: Any) -> None:
    for player, seen in _by_player(task, shown):
        _check_text(task.describe_observation(seen, player), f"describe_observation of {player}")
    for player, action in [*_by_player(task, actions), (task.players[0], task.nil_action)]:
        _check_text(task.describe_action(action, player), f"describe_action({action!r}, {player!r})")


def _check_text(text: Any, what: str, most: int = MAX_TEXT_CHARS) -> None:
    assert isinstance(text, str), f"describes_itself: {what} is {text!r}, not a text"
    assert len(text) <= most, f"describes_itself: {what} has {len(text)} characters, at most {most} are shown"


def _check_layout(task: TaskRole, player: str) -> None:
    space = task.action_space_of(player)
    for action, areas in task.layout_of_actions(player).items():
        what = f"describes_itself: layout_of_actions({player!r})"
        assert space is not None, f"{what}: the task describes no actions"
        assert action in space, f"{what} has {action!r}, which is not of the action space"
        assert areas, f"{what}: {action!r} has no area"
        for left, top, right, bottom in areas:
            inside = 0 <= left < right <= 1 and 0 <= top < bottom <= 1
            assert inside, f"{what}: {action!r} has the area {(left, top, right, bottom)}, not within 0 to 1"


TASK_RULES: Final = (
    says_what_it_is,
    judges_any_action,
    takes_its_nil_action,
    repeats_an_episode,
    forgets_what_was_before,
    ends_in_order,
    describes_itself,
)
"""Rules, in order."""

_encoder = msgpack_encoder()


def _episode(
    task: TaskRole,
    seed: int,
    steps: int,
    dice: random.Random,
    *,
    nil_only: bool = False,
    close: bool = True,
    look: Callable[[TaskRole, Any, Any], None] | None = None,
) -> Trace:
    """Play an episode, and return the encoded observations, rewards and flags.

    Args:
        look: called with the task, each observation, and the actions that answer it; `None` for none.
    """
    task = complete_task(task)
    shown = task.reset(seed)
    trace = [_bytes_of(_checked(task, shown), "the first observation")]
    if task.run is None:
        for step in range(steps):
            actions = _actions(task, shown, dice, nil_only=nil_only)
            if look is not None:
                look(task, shown, actions)
            result = task.step(actions)
            shown, reward, terminated, truncated, _info = _checked_step(task, result, step)
            trace.append(_bytes_of((shown, reward, terminated, truncated), f"step {step}"))
            if terminated or truncated:
                break
        if look is not None:
            look(task, shown, None)
    if close:
        task.close()
    return trace


def _actions(task: TaskRole, shown: Any, dice: random.Random, *, nil_only: bool) -> Any:
    asked = _by_player(task, shown)
    actions = {player: _action(task, player, seen, dice, nil_only=nil_only) for player, seen in asked}
    return actions if len(task.players) > 1 else actions[task.players[0]]


def _action(task: TaskRole, player: str, seen: Any, dice: random.Random, *, nil_only: bool) -> Any:
    space = task.action_space_of(player)
    if nil_only or space is None:
        return task.nil_action
    space.seed(dice.randrange(2**31))
    masked = isinstance(seen, Mapping) and "action_mask" in seen
    action = space.sample(np.asarray(seen["action_mask"], np.int8)) if masked else space.sample()
    action = action.item() if isinstance(action, np.generic) else action  # as a plain agent would send it
    legal = task.is_legal(action) if task.is_legal_for is None else task.is_legal_for(player, action)
    assert legal, f"{task.id}: {action!r} is of the action space, but not legal"
    return action


def _checked_step(task: TaskRole, result: Any, step: int) -> StepResult:
    assert isinstance(result, tuple), f"{task.id}: step {step} returned {result!r}, not a StepResult"
    assert len(result) == len(StepResult._fields), f"{task.id}: step {step} returned {len(result)} values"
    shown, reward, terminated, truncated, info = result
    over = terminated or truncated
    assert type(terminated) is bool, f"{task.id}: step {step}: terminated is {terminated!r}, not a bool"
    assert type(truncated) is bool, f"{task.id}: step {step}: truncated is {truncated!r}, not a bool"
    assert isinstance(info, Mapping), f"{task.id}: step {step}: info is {info!r}, not a mapping"
    assert over or shown is not None, f"{task.id}: step {step} has no observation, and is not the last one"
    several = isinstance(reward, Mapping)
    for paid in reward.values() if several else [reward]:
        assert math.isfinite(paid), f"{task.id}: step {step}: the reward is {paid!r}"
    assert several or len(task.players) == 1 or not reward, (
        f"{task.id}: step {step}: the reward {reward!r} names no player"
    )
    assert not several or set(reward) <= set(task.players), (
        f"{task.id}: step {step}: rewards for unknown players {set(reward)}"
    )
    if shown is not None:
        _checked(task, shown)
    return StepResult(*result)


def _checked(task: TaskRole, shown: Any) -> Any:
    """Return the observation, after a check of its players and spaces."""
    if len(task.players) > 1:
        assert isinstance(shown, Mapping), (
            f"{task.id}: there are several players, and the observation is {shown!r}"
        )
        assert set(shown) <= set(task.players), f"{task.id}: observations for unknown players {set(shown)}"
    for player, seen in _by_player(task, shown):
        space = task.observation_space_of(player)
        assert space is None or seen in space, f"{task.id}: {seen!r} is not in the observation space {space}"
    return shown


def _by_player(task: TaskRole, values: Any) -> list[tuple[str, Any]]:
    """Return observations or actions with their players; none for `None`."""
    if values is None:
        return []
    return [*values.items()] if len(task.players) > 1 else [(task.players[0], values)]


def _bytes_of(value: Any, what: str) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise AssertionError(f"{what}: {value!r} cannot be encoded for the agent: {error}") from error


def _same(first: Trace, other: Trace, what: str) -> None:
    for step, (one, two) in enumerate(zip(first, other, strict=False)):
        assert one == two, f"{what}: it differs at step {step}"
    assert len(first) == len(other), f"{what}: {len(first)} steps, then {len(other)}"
