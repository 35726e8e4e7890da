"""The actions of a task as a page offers them: buttons with names and keys, or text that is typed. Pure.

The page gets plain values:

    {"kind": "buttons", "groups": [{"name": "Move", "buttons": [
        {"action": 1, "name": "left", "keys": ["ArrowLeft", "a"], "place": "left"}, ...]}], "idle": 0}
    {"kind": "bytes"}        text is typed, a byte a step
    {"kind": "json"}         an action is typed as JSON
"""

from __future__ import annotations

__all__ = ["controls_of"]

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from flagfall.agents.human.keys import GAME_KEYS
from flagfall.agents.human.langroom import ROOM_KEYS
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS
from flagfall.kernel.roles import TaskRole
from flagfall.kernel.spaces import spaces_of
from flagfall.tasks.langroom.task import LangRoom
from flagfall.tasks.vgdl.task import VgdlTask

MAX_BUTTONS: Final = 256
"""Most buttons of a page; tasks with more actions are played by typing them."""

MAX_NAME_CHARS: Final = 60

BYTES: Final = 256
BITS: Final = 2

_PLACES: Final = ("left", "right", "up", "down")
_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {"left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown"}
)
"""Names of keys at a terminal, and the same keys in a browser (`KeyboardEvent.key`)."""

_ENVIRONMENTS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "CartPole": ("left", "right"),
        "MountainCar": ("left", "no push", "right"),
        "Acrobot": ("left", "no torque", "right"),
        "FrozenLake": ("left", "down", "right", "up"),
        "CliffWalking": ("up", "right", "down", "left"),
        "Taxi": ("down", "up", "right", "left", "pick up", "drop off"),
        "Blackjack": ("stick", "hit"),
        "LunarLander": ("no engine", "left", "up", "right"),
    }
)
"""Names of the actions of Gymnasium's own environments, from their documentation; they do not tell them."""

_RESTS: Final = ("noop", "no push", "no torque", "no engine")
"""Names of actions that do nothing."""

_KEYS_OF_NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **{word: (key,) for word, key in _KEYS.items()},
        "south": ("ArrowDown",),
        "north": ("ArrowUp",),
        "east": ("ArrowRight",),
        "west": ("ArrowLeft",),
        **dict.fromkeys(_RESTS, (".",)),
        "fire": (" ",),
        "hit": (" ",),
        "stick": ("s",),
        "pick up": ("p",),
        "drop off": ("d",),
    }
)
"""Keys for actions with these names."""

_LAST_DIGIT: Final = 9


def controls_of(task: TaskRole, seat: int) -> dict[str, Any]:
    """Return the controls for one seat of a task.

    Args:
        task: the task.
        seat: index of the seat.
    """
    inner = getattr(task, "task", task)  # of a wrapper
    if isinstance(inner, VgdlTask):
        return _game(inner.class_action_names())
    if isinstance(inner, LangRoom):
        return _room(inner.rules.vocab_size)
    space = spaces_of(task, seat).action
    if space.get("type") != "discrete":
        return {"kind": "json"}
    count, start = int(space["n"]), int(space["start"])
    if getattr(task, "continuous", False) and start == 0 and count in {BYTES, BITS}:
        return {"kind": "bytes"} if count == BYTES else _bits()
    if count > MAX_BUTTONS:
        return {"kind": "json"}
    return _numbered(_names(task, count, start), start, task.nil_action)


def _button(action: Any, name: str, keys: Sequence[str], place: str = "") -> dict[str, Any]:
    return {"action": action, "name": name[:MAX_NAME_CHARS], "keys": list(keys), "place": place}


def _buttons(groups: Mapping[str, Sequence[dict[str, Any]]], idle: Any = None) -> dict[str, Any]:
    shown = [{"name": name, "buttons": list(buttons)} for name, buttons in groups.items()]
    return {"kind": "buttons", "groups": shown, "idle": idle}


def _game(names: Sequence[str]) -> dict[str, Any]:
    """Return the controls of a VGDL game, whose actions are the same in every game."""
    keys: dict[int, list[str]] = {}
    for key, action in GAME_KEYS.items():
        keys.setdefault(action, []).append(_KEYS.get(key, key))
    words = [name.removeprefix("ACTION_").lower() for name in names]
    buttons = [
        _button(action, "wait" if word == "nil" else word, keys.get(action, ()), _place(word))
        for action, word in enumerate(words)
    ]
    return _buttons({"Move": buttons}, idle=words.index("nil"))


def _place(word: str) -> str:
    return word if word in _PLACES else {"use": "middle"}.get(word, "")


_MOVES: Final = ("wait", "down", "up", "right", "left")


def _room(words: int) -> dict[str, Any]:
    """Return the controls of LangRoom: a step either walks or speaks a word."""
    keys: dict[tuple[int, int], list[str]] = {}
    for key, action in ROOM_KEYS.items():
        keys.setdefault((action["move"], action["talk"]), []).append(_KEYS.get(key, key))
    moves = [
        _button({"move": move, "talk": 0}, name, keys.get((move, 0), ()), _place(name) or "middle")
        for move, name in enumerate(_MOVES)
    ]
    known = min(words, len(LANGROOM_WORDS))
    says = [
        _button({"move": 0, "talk": word}, LANGROOM_WORDS[word], keys.get((0, word), ()))
        for word in range(1, known)
    ]
    return _buttons({"Walk": moves, "Say": says}, idle={"move": 0, "talk": 0})


def _bits() -> dict[str, Any]:
    buttons = [_button(bit, str(bit), (str(bit),)) for bit in range(BITS)]
    return _buttons({"Answer": buttons})


def _names(task: Any, count: int, start: int) -> Sequence[str]:
    """Return names of numbered actions as far as the task has them."""
    environment = getattr(getattr(task, "env", None), "unwrapped", None)
    named = getattr(task, "class_action_names", None) or getattr(environment, "get_action_meanings", None)
    names: Sequence[str] = ()
    if named is not None:
        names = [str(name).lower() for name in named()]
    elif environment is not None:
        spec = getattr(environment, "spec", None)
        family = getattr(spec, "name", None) or ""
        names = next((of for name, of in _ENVIRONMENTS.items() if family.startswith(name)), ())
    return names if len(names) == count else [str(start + number) for number in range(count)]


def _numbered(names: Sequence[str], start: int, nil: Any) -> dict[str, Any]:
    """Return the controls of actions by number; the keys of those without a name are their digits."""
    taken: set[str] = set()
    buttons = []
    for number, name in enumerate(names, start):
        keys = [key for key in _KEYS_OF_NAMES.get(name, ()) if key not in taken]
        if name == str(number) and 0 <= number <= _LAST_DIGIT:
            keys = [name]
        taken.update(keys)
        buttons.append(_button(number, name, keys, _place(name)))
    rests = type(nil) is int and 0 <= nil - start < len(names) and names[nil - start] in _RESTS
    return _buttons({"Action": buttons}, idle=nil if rests else None)
