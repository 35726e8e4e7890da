"""Descriptions of tasks, observations and actions in plain values, which any language can read. Pure.

| `type` | further fields | a value |
|---|---|---|
| `discrete` | `n`, `start` | a whole number from `start` to `start + n - 1` |
| `box` | `shape`, `dtype`, `low`, `high`: one bound for all, a flat list, or `null` | an array |
| `multi_binary` | `shape` | an array of 0 and 1 |
| `multi_discrete` | `shape`, `nvec` (flat) | an array; each element below its `nvec` |
| `text` | `min_length`, `max_length`, `characters` | a text of these characters |
| `tuple` | `spaces`: a list | a list with a value for each |
| `one_of` | `spaces`: a list | a pair: the number of one of them, and its value |
| `dict` | `spaces`: by key | an object with a value for each key |
| `sequence` | `space` | a list of values |
| `other` | `text` | as the text describes |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.kernel.descriptions import (
    MAX_INSTRUCTIONS_CHARS,
    MAX_NAMED_ACTIONS,
    MAX_TEXT_CHARS,
    describe_value,
)

if TYPE_CHECKING:
    from flagfall.kernel.roles import TaskRole

MAX_LISTED_BOUNDS: Final = 64
"""Boxes with more elements than this report a single bound; pictures have thousands of equal ones."""

MAX_LINE_CHARS: Final = 200
"""Longest name of an action or a player, and longest text in place of a space."""


@attrs.frozen
class Spaces:
    """Observation space, action space and NIL action of a player.

    Attributes:
        observation: the description of its observations; `{}` where the task does not say.
        action: the description of its actions; `{}` where the task does not say.
        nil: the action that is played for an agent that gives no legal action in time.
    """

    observation: dict[str, Any]
    action: dict[str, Any]
    nil: Any = None


@attrs.frozen
class TaskDescription:
    """What an agent is told of its task, in words.

    Attributes:
        name: the task's id.
        instructions: the goal and the rules; empty if the task does not say.
        player: the agent's player, such as `white`; empty in a task for one.
        actions: the names of numbered actions, from the first one on; empty for actions without numbers or
            names, and for more than `MAX_NAMED_ACTIONS`.
    """

    name: str
    instructions: str = ""
    player: str = ""
    actions: tuple[str, ...] = ()


def describe_task(task: TaskRole, seat: int, action: Mapping[str, Any]) -> TaskDescription | None:
    """Return what the agent of a seat is told of its task.

    A text that the task fails to make is replaced: no match ends for it.

    Args:
        action: the action space, as this module describes it.

    Returns:
        `None` for a continuous task: its agents are kept unaware of which task it is.
    """
    if task.continuous:
        return None
    player = task.players[seat] if seat < len(task.players) else None
    first, count = action.get("start", 0), action.get("n", 0)
    numbers = range(first, first + count) if count <= MAX_NAMED_ACTIONS else ()
    names = tuple(_made(partial(task.describe_action, number, player)) or str(number) for number in numbers)
    who = ""
    if player is not None and len(task.players) > 1:
        who = _made(partial(task.describe_player, player)) or player
    return TaskDescription(
        task.id,
        _made(lambda: task.instructions, MAX_INSTRUCTIONS_CHARS) or "",
        who,
        () if names == tuple(map(str, numbers)) else names,
    )


def player_names(task: TaskRole) -> list[str]:
    """Return what a task calls its players, in their order.

    Empty where these names say nothing: that of a single player, and such as `player_0` and `player_1`, which
    differ in a number alone.
    """
    names = [str(task.describe_player(player)) for player in task.players]
    kinds = {re.sub(r"\d+", "", name) for name in names}
    return names if len(kinds) > 1 else []


def describe_observation(task: TaskRole, seat: int, observation: Any) -> str:
    """Return an observation of a seat as text of bounded length, also if the task fails to make it.

    Empty for a continuous task, such as a byte task: a byte says all.
    """
    if task.continuous:
        return ""
    player = task.players[seat] if seat < len(task.players) else None
    own = _made(partial(task.describe_observation, observation, player), MAX_TEXT_CHARS)
    return describe_value(observation) if own is None else own


def _made(make: Callable[[], Any], most: int = MAX_LINE_CHARS) -> str | None:
    try:
        return str(make())[:most].encode("utf-8", "replace").decode()  # no message holds lone surrogates
    except (Exception, SystemExit):  # noqa: BLE001 - the task's own code
        return None


def legal_actions(task: TaskRole, seat: int) -> str:
    """Return a short text for people about the actions that a player may play.

    Returns:
        such as `a whole number from 0 to 3`; empty where the task does not say.
    """
    space = spaces_of(task, seat).action
    if space.get("type") == "discrete":
        return f"a whole number from {space['start']} to {space['start'] + space['n'] - 1}"
    text = space.get("text") or ", ".join(f"{key} {value}" for key, value in space.items() if key != "type")
    return " ".join(filter(None, (space.get("type", "").replace("other", ""), text)))[:MAX_LINE_CHARS]


def spaces_of(task: TaskRole, seat: int) -> Spaces:
    """Return the spaces and the NIL action of a player; tasks need not have spaces."""
    if task.plain_spaces is not None:
        return Spaces(*task.plain_spaces, task.nil_action)
    if seat >= len(task.players):
        return Spaces(
            _described(lambda: task.observation_space), _described(lambda: task.action_space), task.nil_action
        )
    player = task.players[seat]
    return Spaces(
        _described(lambda: task.observation_space_of(player)),
        _described(lambda: task.action_space_of(player)),
        task.nil_action,
    )


def _described(find: Callable[[], Any]) -> dict[str, Any]:
    try:
        space = find()
    except NotImplementedError:  # a task that says nothing of what it shows
        return {}
    return {} if space is None else describe_space(space)


def has_arrays(described: Any) -> bool:
    """Return true if values of a described space contain arrays."""
    match described:
        case {"type": "box" | "multi_binary" | "multi_discrete"}:
            return True
        case dict():
            return any(map(has_arrays, described.values()))
        case list():
            return any(map(has_arrays, described))
        case _:
            return False


def describe_space(space: Any) -> dict[str, Any]:
    """Return a Gymnasium space in plain values, as the head of this module lists them."""
    for kind in type(space).__mro__:
        if kind.__name__ in _DESCRIBED:
            return _DESCRIBED[kind.__name__](space)
    return {"type": "other", "text": str(space)[:MAX_LINE_CHARS]}


def whole_numbers(count: int, start: int = 0) -> dict[str, Any]:
    """Return the description of a `Discrete` space.

    Args:
        count: how many whole numbers there are.
        start: the first of them.
    """
    return {"type": "discrete", "n": count, "start": start}


def _discrete(space: Any) -> dict[str, Any]:
    return whole_numbers(int(space.n), int(space.start))


def _box(space: Any) -> dict[str, Any]:
    return {
        "type": "box",
        "shape": list(space.shape),
        "dtype": space.dtype.newbyteorder("<").str,
        "low": _bound(space.low),
        "high": _bound(space.high),
    }


def _bound(values: Any) -> Any:
    flat = values.reshape(-1)
    if not flat.size or (flat == flat[0]).all():
        return _finite(flat[0].item()) if flat.size else None
    return [_finite(value) for value in flat.tolist()] if flat.size <= MAX_LISTED_BOUNDS else None


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _multi_binary(space: Any) -> dict[str, Any]:
    return {"type": "multi_binary", "shape": list(space.shape)}


def _multi_discrete(space: Any) -> dict[str, Any]:
    return {
        "type": "multi_discrete",
        "shape": list(space.shape),
        "nvec": [int(count) for count in space.nvec.reshape(-1)],
    }


def _text(space: Any) -> dict[str, Any]:
    return {
        "type": "text",
        "min_length": int(space.min_length),
        "max_length": int(space.max_length),
        "characters": "".join(sorted(space.character_set)),
    }


def _several(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda space: {"type": name, "spaces": [describe_space(part) for part in space.spaces]}


def _dict(space: Any) -> dict[str, Any]:
    return {"type": "dict", "spaces": {str(key): describe_space(part) for key, part in space.spaces.items()}}


def _sequence(space: Any) -> dict[str, Any]:
    return {"type": "sequence", "space": describe_space(space.feature_space)}


_DESCRIBED: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "Discrete": _discrete,
    "Box": _box,
    "MultiBinary": _multi_binary,
    "MultiDiscrete": _multi_discrete,
    "Text": _text,
    "Tuple": _several("tuple"),
    "OneOf": _several("one_of"),
    "Dict": _dict,
    "Sequence": _sequence,
}
"""By the names of Gymnasium's classes: the kernel does not import it."""
