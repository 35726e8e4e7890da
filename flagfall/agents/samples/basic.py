"""Sample agents short enough to copy from: byte tasks, random actions, tabular Q-learning."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from math import prod
from random import Random
from typing import Any, Final

from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom, langroom_action
from flagfall.kernel.channels.arrays import msgpack_encoder
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing

_LONGEST_SEQUENCE: Final = 3


def sample(described: Mapping[str, Any], random: Random) -> Any:
    """Draw a random value of a space, in the form that JSON has: lists for arrays and tuples, plain numbers.

    Numbers with both bounds are uniform, others are normal or exponential.

    Args:
        described: the space; one that is described only by a text cannot be sampled.

    Returns:
        The value; `None` where the space cannot be sampled.
    """
    draw = _DRAWN.get(described.get("type", ""))
    return None if draw is None else draw(described, random)


def _discrete(described: Mapping[str, Any], random: Random) -> int:
    number: int = described["start"] + random.randrange(described["n"])
    return number


def _box(described: Mapping[str, Any], random: Random) -> Any:
    shape, kind = described["shape"], described["dtype"].lstrip("<>|=")[0]
    low, high = (_bounds(described[name], prod(shape)) for name in ("low", "high"))
    return _shaped((_number(kind, *limits, random) for limits in zip(low, high, strict=True)), shape)


def _bounds(given: Any, count: int) -> Sequence[Any]:
    return given if isinstance(given, list) else [given] * count


def _number(kind: str, low: Any, high: Any, random: Random) -> Any:
    if kind == "b":
        return random.randint(int(low), int(high)) == 1
    if kind != "f":
        return random.randint(low, high)
    if low is not None and high is not None:
        return random.uniform(low, high)
    if low is not None:
        return low + random.expovariate(1)
    return random.gauss(0, 1) if high is None else high - random.expovariate(1)


def _shaped(values: Iterable[Any], shape: Sequence[int]) -> Any:
    """Return values as nested lists of a shape; the value itself for an empty shape."""
    left: Iterator[Any] = iter(values)
    if not shape:
        return next(left)
    return [_shaped(left, shape[1:]) for _ in range(shape[0])]


def _multi_discrete(described: Mapping[str, Any], random: Random) -> Any:
    return _shaped(map(random.randrange, described["nvec"]), described["shape"])


def _multi_binary(described: Mapping[str, Any], random: Random) -> Any:
    shape = described["shape"]
    return _shaped((random.getrandbits(1) for _ in range(prod(shape))), shape)


def _text(described: Mapping[str, Any], random: Random) -> str:
    length = random.randint(described["min_length"], described["max_length"])
    return "".join(random.choices(described["characters"], k=length)) if described["characters"] else ""


def _tuple(described: Mapping[str, Any], random: Random) -> list[Any]:
    return [sample(part, random) for part in described["spaces"]]


def _one_of(described: Mapping[str, Any], random: Random) -> list[Any]:
    chosen = random.randrange(len(described["spaces"]))
    return [chosen, sample(described["spaces"][chosen], random)]


def _dict(described: Mapping[str, Any], random: Random) -> dict[str, Any]:
    return {key: sample(part, random) for key, part in described["spaces"].items()}


def _sequence(described: Mapping[str, Any], random: Random) -> list[Any]:
    return [sample(described["space"], random) for _ in range(random.randint(0, _LONGEST_SEQUENCE))]


_DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any], Random], Any]]] = {
    "discrete": _discrete,
    "box": _box,
    "multi_discrete": _multi_discrete,
    "multi_binary": _multi_binary,
    "text": _text,
    "tuple": _tuple,
    "one_of": _one_of,
    "dict": _dict,
    "sequence": _sequence,
}


GAME_ACTIONS: Final = 6
"""Number of actions of VGDL games: nothing, left, right, up, down, use."""

BYTES: Final = 256
"""Number of actions of a byte task."""

_KEY_BYTES: Final = 16
_SEEN_AT_ONCE: Final = ("observation_grid", "avatar_orientation", "avatar_resources", "avatar_health_points")


def action_count(briefing: Briefing) -> int | None:
    """Return the number of actions, where they are integers from 0 and not bytes; `None` elsewhere."""
    space = briefing.spaces.action if briefing.spaces is not None else {}
    if space.get("type") != "discrete" or space.get("start", 0) != 0 or space["n"] == BYTES:
        return None
    count: int = space["n"]
    return count


class QLearningAgent:
    """Learns the value of each action in each state, by tabular Q-learning (Watkins, 1989).

    It knows only observations and rewards. A state is the observation without clock and score; the table
    keeps every state, so a game with many states takes much memory.

    Args:
        actions: number of actions, where the match does not describe them.
        rate: learning rate, 0 to 1.
        discount: factor for a reward one step later, 0 to 1.
        curiosity: probability of a random action.
    """

    def __init__(
        self,
        actions: int = GAME_ACTIONS,
        *,
        rate: float = 0.5,
        discount: float = 0.95,
        curiosity: float = 0.1,
    ) -> None:
        self._actions = actions
        self._rate = rate
        self._discount = discount
        self._curiosity = curiosity
        self._values: dict[bytes, list[float]] = {}
        self._last: tuple[bytes, int] | None = None
        self._encoder = msgpack_encoder()
        self._random = Random(0)

    def start(self, briefing: Briefing) -> None:
        """Take the seed and the number of actions of the match."""
        self._random = Random(briefing.seed)
        self._actions = action_count(briefing) or self._actions

    def init(self, observation: Any) -> None:  # noqa: ARG002 - the first turn shows it again
        """Begin an episode: the step before does not count for it."""
        self._last = None

    def reply(self, observation: Any, reward: float) -> int:
        """Learn from the last reward, and return an action."""
        here = self._situation(observation)
        values = self._values.setdefault(here, [0.0] * self._actions)
        self._learn(reward, max(values))
        if self._random.random() < self._curiosity:
            action = self._random.randrange(self._actions)
        else:
            best = max(values)
            action = self._random.choice([a for a, value in enumerate(values) if value == best])
        self._last = (here, action)
        return action

    def result(self, observation: Any, reward: float) -> None:  # noqa: ARG002 - nothing comes after it
        """End an episode with its last reward."""
        self._learn(reward, 0.0)
        self._last = None

    def _learn(self, reward: float, to_come: float) -> None:
        if self._last is not None:
            situation, action = self._last
            values = self._values[situation]
            values[action] += self._rate * (reward + self._discount * to_come - values[action])

    def _situation(self, observation: Any) -> bytes:
        """Return a digest of an observation, without clock and score."""
        state = observation
        if isinstance(observation, str):
            state = observation.partition("\n")[2]  # below the line with score and time
        elif isinstance(observation, Mapping):
            state = {key: value for key, value in observation.items() if key in _SEEN_AT_ONCE} or observation
        elif hasattr(observation, _SEEN_AT_ONCE[0]):
            state = {name: getattr(observation, name) for name in _SEEN_AT_ONCE}
        return blake2b(self._encoder.encode(state), digest_size=_KEY_BYTES).digest()


_PRINTABLE: Final = range(0x20, 0x7F)
_PRINTABLE_COUNT: Final = len(_PRINTABLE)


class RandomAgent:
    """Sends printable ASCII characters at random; in other tasks plays random actions.

    With an `action_mask` it plays an action that the mask allows; otherwise it samples the action space of
    the first task. Where the match describes none, it knows the actions of LangRoom and of VGDL games.
    """

    def __init__(self) -> None:
        self._takes: dict[str, Any] = {}

    @cached_property
    def _random(self) -> Random:
        """The generator of an agent that was not started; to make one takes 4 us."""
        return Random(0)

    def start(self, briefing: Briefing) -> None:
        """Take the seed and the action space of the match."""
        self._random = Random(briefing.seed)
        actions = {} if briefing.spaces is None else briefing.spaces.action
        self._takes = {} if actions.get("n") == BYTES else actions

    def reply(self, byte: Any, reward: float) -> Any:  # noqa: ARG002 - it does not listen
        """Return a random printable character, or a random action where the observation is not a byte."""
        if type(byte) is int and not self._takes:
            return _PRINTABLE[int(self._random.random() * _PRINTABLE_COUNT)]
        if type(byte) is dict and "action_mask" in byte:
            mask = byte["action_mask"]
            allowed = [action for action, may in enumerate(mask) if may] or range(len(mask))
            chosen: int = self._random.choice(allowed) + self._takes.get("start", 0)
            return chosen
        if (action := sample(self._takes, self._random)) is not None:
            return action
        if is_langroom(byte):
            return langroom_action(self._random.randrange(5), self._random.choice(LANGROOM_WORDS))
        if not isinstance(byte, int):
            return self._random.randrange(GAME_ACTIONS)
        return _PRINTABLE[int(self._random.random() * _PRINTABLE_COUNT)]


class SilentAgent:
    """Sends only silence."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not listen
        """Return a space."""
        return SILENCE


class RepeatingAgent:
    """Sends back the byte it just heard, like the sample learner of the General AI Challenge."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not care
        """Return the byte heard."""
        return byte


class MemorizingAgent:
    """Listens until the teacher is silent, then sends back what it heard; a reward resets it.

    Args:
        pause: number of spaces in a row that count as the end of the teacher's text.
        limit: maximum number of bytes kept, the newest.
    """

    def __init__(self, pause: int = 2, limit: int = 4096) -> None:
        self._pause = pause
        self._heard: deque[int] = deque(maxlen=limit)
        self._to_say: deque[int] = deque()
        self._spaces = 0

    def reply(self, byte: int, reward: float) -> int:
        """Return the next byte of what it heard before, once the teacher has been silent."""
        if reward:
            self._heard.clear()
            self._to_say.clear()
        self._heard.append(byte)
        self._spaces = self._spaces + 1 if byte == SILENCE else 0
        if not self._to_say and self._spaces >= self._pause:
            self._to_say.extend(self._heard)
            self._heard.clear()
        return self._to_say.popleft() if self._to_say else SILENCE
