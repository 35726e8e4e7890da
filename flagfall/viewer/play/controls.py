"""A task as a page offers it: its goal, its board, and its actions as buttons or text that is typed. Pure.

The page gets plain values, the controls among them:

    {"kind": "buttons", "groups": [{"name": "Move", "buttons": [
        {"action": 1, "name": "left", "keys": ["ArrowLeft", "a"], "place": "left"}, ...]}], "idle": 0}
    {"kind": "bytes"}        text is typed, a byte a step
    {"kind": "json"}         an action is typed as JSON
"""

from __future__ import annotations

import io
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final

import attrs
import numpy as np

from flagfall.agents.human.keys import GAME_KEYS, ROOM_KEYS
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom
from flagfall.errors import UsageError
from flagfall.events import Event, SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS
from flagfall.kernel.outcomes import SeatStats
from flagfall.kernel.roles import Area, TaskRole
from flagfall.kernel.spaces import player_names, spaces_of
from flagfall.recording.journal.format import writable
from flagfall.tasks.langroom.task import LangRoom
from flagfall.tasks.task import ENVIRONMENT_MODES
from flagfall.tasks.vgdl.task import VgdlTask
from flagfall.texts import one_line

MAX_BUTTONS: Final = 256
"""Most buttons of a page; tasks with more actions are played by typing them."""

MAX_NAME_CHARS: Final = 60

BYTES: Final = 256
BITS: Final = 2

_PLACES: Final = ("left", "right", "up", "down")
_KEYS: Final = {"left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown"}
"""Names of keys at a terminal, and the same keys in a browser (`KeyboardEvent.key`)."""

_RESTS: Final = ("noop", "no push", "no torque", "no engine")
"""Names of actions that do nothing."""

_KEYS_OF_NAMES: Final = {
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
"""Keys for actions with these names."""

_DIGITS: Final = tuple("0123456789")

MAX_BOARD_ACTIONS: Final = 10_000
"""Most actions that are clicked; chess has 4,672."""

MAX_BOARD_AREAS: Final = 1_000
"""Most areas that are clicked; a board of 19 x 19 points has 361."""


def facts_of_task(task: TaskRole, seat: int) -> dict[str, Any]:
    """Return what a page shows of a task at one of its seats, before any turn.

    Raises:
        UsageError: the task cannot be described; the message has the reason.
    """
    with _describing(task):
        return {
            "goal": writable(task.instructions[:MAX_INSTRUCTIONS_CHARS]),
            "players": [writable(name[:MAX_NAME_CHARS]) for name in player_names(task)],
            "controls": controls_of(task, seat),
            "board": _board(task.layout_of_actions(task.players[seat])),
        }


@contextmanager
def _describing(task: TaskRole) -> Iterator[None]:
    """Name the task whose code fails within the context."""
    try:
        yield
    except Exception as error:
        raise UsageError(f"task {task.id} cannot be described: {one_line(repr(error))}") from error


def _board(layout: Mapping[int, Sequence[Area]]) -> dict[str, Any] | None:
    """Return a layout with each area once: `{"areas": [...], "actions": [[action, [number of an area]]]}`."""
    areas: dict[Area, int] = {}
    actions = [
        [int(action), [areas.setdefault(area, len(areas)) for area in path]]
        for action, path in layout.items()
    ]
    is_shown = 0 < len(actions) <= MAX_BOARD_ACTIONS and len(areas) <= MAX_BOARD_AREAS
    return {"areas": list(areas), "actions": actions} if is_shown else None


def moves_of(task: TaskRole, moves: Mapping[int, Any]) -> list[dict[str, Any]]:
    """Return moves by seat as they are shown on a board, which has no secrets; none of other tasks.

    Raises:
        UsageError: as for `facts_of_task`.
    """
    found = []
    with _describing(task):
        for seat, action in moves.items():
            player = task.players[seat]
            layout = task.layout_of_actions(player)
            if layout and isinstance(action, int | np.integer):
                name = writable(task.describe_action(action, player)[:MAX_NAME_CHARS])
                found.append({"seat": seat, "name": name, "areas": list(layout.get(int(action), ()))})
    return found


def choices_of(task: TaskRole, seat: int, mask: Sequence[int]) -> list[dict[str, Any]]:
    """Return buttons for the first `MAX_BUTTONS` actions that a mask allows.

    Raises:
        UsageError: as for `facts_of_task`.
    """
    player = task.players[seat]
    allowed = islice((action for action, is_allowed in enumerate(mask) if is_allowed), MAX_BUTTONS)
    with _describing(task):
        return [_button(action, task.describe_action(action, player), ()) for action in allowed]


def controls_of(task: TaskRole, seat: int) -> dict[str, Any]:
    """Return the controls for one seat of a task."""
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
        bits = [_button(bit, str(bit), (str(bit),)) for bit in range(BITS)]
        return {"kind": "bytes"} if count == BYTES else _buttons({"Answer": bits})
    if count > MAX_BUTTONS:  # with a mask each turn has buttons for its own actions
        has_mask = "action_mask" in spaces_of(task, seat).observation.get("spaces", {})
        return _buttons({"Action": []}) if has_mask else {"kind": "json"}
    player = task.players[seat]
    names = [task.describe_action(start + number, player).lower() for number in range(count)]
    return _numbered(names, start, task.nil_action)


def _button(action: Any, name: str, keys: Sequence[str], place: str = "") -> dict[str, Any]:
    return {"action": action, "name": writable(name[:MAX_NAME_CHARS]), "keys": list(keys), "place": place}


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
    says = [
        _button({"move": 0, "talk": word}, LANGROOM_WORDS[word], keys.get((0, word), ()))
        for word in range(1, min(words, len(LANGROOM_WORDS)))
    ]
    return _buttons({"Walk": moves, "Say": says}, idle={"move": 0, "talk": 0})


def _numbered(names: Sequence[str], start: int, nil: Any) -> dict[str, Any]:
    """Return the controls of actions by number; a digit that only one name ends with is its key."""
    taken: set[str] = set()
    buttons = []
    ends = Counter(name.rpartition(" ")[2] for name in names)
    for number, name in enumerate(names, start):
        keys = [key for key in _KEYS_OF_NAMES.get(name, ()) if key not in taken]
        end = name.rpartition(" ")[2]
        if end in _DIGITS and ends[end] == 1:
            keys = [end]
        taken.update(keys)
        buttons.append(_button(number, name, keys, _place(name)))
    rests = type(nil) is int and 0 <= nil - start < len(names) and names[nil - start] in _RESTS
    return _buttons({"Action": buttons}, idle=nil if rests else None)


TAPE_STEPS: Final = 2_000
"""Steps of a dialogue that are kept for a page that is opened again: more than it shows at once."""

KEPT_TASKS: Final = 20
"""Results of tasks that are shown, from the end."""

KEPT_REWARDS: Final = 12
"""Rewards other than 0 that are shown, from the end."""

MAX_SCORE_CHARS: Final = 400
"""Longest name or detail that is sent to the page."""


class Score:
    """Counts what happens at one seat; `on_out` is called with the reason when it is disqualified.

    `moves` has the newest action of each other seat since the last turn of this one.
    """

    def __init__(self, seat: int, names: Sequence[str]) -> None:
        self.on_out: Callable[[str], None] = lambda _reason: None
        self._seat = seat
        self._names = list(names)
        self._reward = 0.0
        self._rewards: deque[float] = deque(maxlen=KEPT_REWARDS)
        self._last_verdict = ""
        self._paid: int | None = None
        self._task: dict[str, Any] | None = None
        self._tasks: deque[dict[str, Any]] = deque(maxlen=KEPT_TASKS)
        self._solved = self._ended = 0
        self._out: dict[int, str] = {}
        self.moves: dict[int, Any] = {}
        self._tape: deque[list[Any]] = deque(maxlen=TAPE_STEPS)
        self._steps = 0

    def __call__(self, event: Event) -> None:
        """Take an event of the match."""
        match event:
            case TurnPlayed() if event.seat == self._seat:
                self._turn(event)
            case TurnPlayed():
                self.moves[event.seat] = event.action
            case TaskStarted():
                self.moves.clear()
                self._task = {"task": event.task[:MAX_SCORE_CHARS], "index": event.index}
            case TaskEnded():
                self._end_task(event)
            case SeatDisqualified():
                self._out[event.seat] = event.reason
                if event.seat == self._seat:
                    self.on_out(event.reason)

    def _turn(self, event: TurnPlayed) -> None:
        self._last_verdict = event.verdict
        self.moves.clear()
        exchange = _exchange(event.observation, event.action)
        if exchange is not None:
            reward = event.reward if isinstance(event.reward, int | float) else 0
            late = event.verdict not in {"on time", "illegal"}
            self._tape.append([*exchange, reward, int(late)])
            self._steps += 1

    def pay(self, number: int, reward: Any) -> None:
        """Count a reward that has arrived, and keep it if it is not 0; those by name are not shown.

        Args:
            number: the number of the envelope that it came with; one that is sent again pays once.
        """
        if number != self._paid and isinstance(reward, int | float) and reward:
            self._reward += reward
            self._rewards.append(float(reward))
        self._paid = number

    def _end_task(self, event: TaskEnded) -> None:
        if event.ended != "cut":
            self._ended += 1
            self._solved += event.result is True
        row = {"result": event.result, "reward": event.reward, "steps": event.steps, "ended": event.ended}
        self._tasks.append({"task": event.task[:MAX_SCORE_CHARS], "index": event.index, **row})
        self._task = None

    def as_data(self, stats: SeatStats) -> dict[str, Any]:
        """Return the score as plain values."""
        return {
            **{name: getattr(stats, name) for name in ("turns", "late", "illegal", "dropped")},
            "reward": self._reward,
            "rewards": list(self._rewards),
            "verdict": self._last_verdict,
            "task": self._task,
            "tasks": list(self._tasks),
            "ended": self._ended,
            "solved": self._solved,
            "out": [
                {
                    "seat": seat,
                    "agent": self._names[seat][:MAX_SCORE_CHARS],
                    "reason": reason[:MAX_SCORE_CHARS],
                }
                for seat, reason in sorted(self._out.items())
                if 0 <= seat < len(self._names)
            ],
        }

    def tape_since(self, step: int) -> tuple[int, list[list[Any]]]:
        """Return the number of steps of a dialogue so far, and those since a number of them that are kept.

        A step is what was heard and spoken, the reward, and 1 if it was late.
        """
        new = min(self._steps - step, len(self._tape))
        return self._steps, list(self._tape)[len(self._tape) - new :] if new > 0 else []


def _exchange(observation: Any, action: Any) -> tuple[int | str, int | str] | None:
    """Return what was heard and spoken in a step of a byte or bit task, or of LangRoom; else `None`."""
    if type(observation) is int and type(action) is int:
        return observation, action
    if is_langroom(observation) and isinstance(action, Mapping):
        return room_word(observation["text"]), room_word(action.get("talk"))
    return None


def room_word(number: Any) -> str:
    """Return a word of LangRoom, an empty text for silence; words without a meaning as their numbers."""
    known = isinstance(number, int) and 0 <= number < len(LANGROOM_WORDS)
    return LANGROOM_WORDS[number] if known else f"<{number}>"


MAX_PICTURE_PIXELS: Final = 4_000_000
"""Larger pictures are shown with fewer pixels: no screen shows more, and each is encoded and sent."""

MAX_TEXT_CHARS: Final = 8_000
"""Longest text that is sent; VGDL's largest text views have about 2,000 characters."""

_DIMENSIONS: Final = 3
_COLOURS: Final = (3, 4)


@attrs.frozen
class Shown:
    """The contents of a turn for the eyes of a person.

    Attributes:
        picture: uint8 [height, width, 3 or 4], or `None`.
        heard: the byte or bit of a task of bytes or bits, the word of a room; `None` for others.
        mask: for each action, from 0 on, a whole number that is 0 if it is not allowed; `None` for all.
    """

    picture: Any = None
    text: str = ""
    heard: int | str | None = None
    mask: list[int] | None = None


def shown_of(task: Any, observation: Any, seat: int = 0) -> Shown:
    """Return what to show of an observation of a seat, given the task in its state, if it is known.

    A picture or a text that is the observation is shown, as an agent sees it; else the task draws itself.
    """
    if type(observation) is int:
        return Shown(heard=observation)
    if is_langroom(observation):
        return Shown(_picture(observation["image"]), heard=room_word(observation["text"]))
    mask = _mask(task, observation, seat)
    seen = _picture(observation.get("image") if isinstance(observation, Mapping) else observation)
    if seen is None and not isinstance(observation, str):
        seen = _rendered(task)
    if isinstance(seen, str):
        return Shown(text=writable(seen[:MAX_TEXT_CHARS]), mask=mask)
    return Shown(text=_text(task, observation, seat), mask=mask) if seen is None else Shown(seen, mask=mask)


def _mask(task: Any, observation: Any, seat: int) -> list[int] | None:
    mask = observation.get("action_mask") if isinstance(observation, Mapping) else None
    if getattr(mask, "ndim", 0) != 1:
        return None
    find = getattr(task, "action_space_of", None)  # a task may not be known
    start = 0 if find is None else int(getattr(find(task.players[seat]), "start", 0))
    return ([0] * start + [int(bool(one)) for one in np.asarray(mask)])[max(0, -start) :]


def _picture(value: Any) -> Any:
    """Return an array if it is a picture."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    is_picture = getattr(value, "dtype", None) == np.uint8 and len(shape) == _DIMENSIONS
    return value if is_picture and shape[2] in _COLOURS and 0 not in shape else None


def _rendered(task: Any) -> Any:
    """Return the picture or the text that a task renders of itself; `None` if it has neither."""
    for mode in ENVIRONMENT_MODES:
        with suppress(Exception):  # a task without a picture is played from its values
            rendered = task.render(mode)
            return rendered if isinstance(rendered, str) else _picture(rendered)
    return None


def _text(task: Any, observation: Any, seat: int) -> str:
    """Return an observation as text of bounded length, as its task describes it."""
    if isinstance(observation, str):
        return observation[:MAX_TEXT_CHARS]
    if observation is None:
        return ""
    with suppress(Exception):  # a task that cannot describe it is played from its values
        return writable(task.describe_observation(observation, task.players[seat])[:MAX_TEXT_CHARS])
    return repr(observation)[:MAX_TEXT_CHARS]


def encode_png(picture: Any) -> bytes:
    """Return a picture, uint8 [height, width, 3 or 4], as PNG."""
    from PIL import Image  # noqa: PLC0415 - takes 0.1 s, and only pictures need it

    height, width = picture.shape[:2]
    step = 1
    while (height // step) * (width // step) > MAX_PICTURE_PIXELS:
        step += 1
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture[::step, ::step])).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
