"""Models of latency: what delays the turns of a seat on the virtual clock, with a text form."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.timing.control import PHASES, Phase
from flagfall.timing.distributions import ABOVE_0, KEY, MAX_LATENCY_NS, Parser, number_text
from flagfall.timing.durations import format_duration
from flagfall.timing.rates import parse_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from flagfall.timing.distributions import AnyDistribution, Reader
    from flagfall.timing.rates import Rate

MAX_TEXT_CHARS: Final = 2_000
"""Longer texts are refused unread."""

MAX_LOSS: Final = 0.9
"""Largest probability that a message is lost; it is sent ten times on average then."""

BLOCK: Final = 256
"""Times that are drawn at once: one by one each would take ten times as long."""

NONE: Final = "none"
"""The text form of a model that delays nothing."""


@attrs.frozen
class Chance:
    """An event with its probability, and the time that it costs in nanoseconds."""

    probability: float
    time_ns: int

    def __str__(self) -> str:
        return f"{number_text(self.probability)}/{format_duration(self.time_ns)}"


@attrs.frozen(kw_only=True)
class SeatLatency:
    """What delays the turns of a seat on the virtual clock.

    The text form is a list of words, separated by spaces or commas, in any order, each once:

    | word | sets |
    |---|---|
    | `act=lognormal(20ms, 0.8)`, `start=...`, `init=...`, `result=...` | the think time of a phase |
    | `network=uniform(1ms, 3ms)` | the one-way delay of a message: of each request, and of its answer |
    | `loss=0.01/200ms` | the probability that a message is lost, and the time until it is sent again |
    | `cpu=1.5` | a factor of all think times |
    | `stall=0.001/500ms` | the probability that the host stalls in a turn, and for how long |
    | `lognormal(20ms, 0.8)`, `20ms` | a bare distribution: `act` |
    | `fuel(1G/s)`, `tokens(30/s)` | the rate of its work, which takes the time of that in every phase |

    The text of a model that delays nothing is `none`.
    """

    act: AnyDistribution | None = None
    start: AnyDistribution | None = None
    init: AnyDistribution | None = None
    result: AnyDistribution | None = None
    network: AnyDistribution | None = None
    loss: Chance | None = None
    cpu: float = 1.0
    stall: Chance | None = None
    rate: Rate | None = None

    def __str__(self) -> str:
        fields = [
            (field.name, getattr(self, field.name), field.default) for field in attrs.fields(SeatLatency)
        ]
        words = [
            f"{name}={number_text(value) if isinstance(value, float) else value}"
            for name, value, default in fields
            if value != default and name != "rate"
        ]
        if self.rate is not None:
            words.append(str(self.rate))
        return " ".join(words) or NONE

    @classmethod
    def parse(cls, text: str) -> SeatLatency:
        """Parse the text form; `SeatLatency.parse(str(model)) == model`.

        Raises:
            UsageError: an invalid text; the message has the column (from 1), the word, and the fix.
        """
        if len(text) > MAX_TEXT_CHARS:
            raise UsageError(f"latency: {len(text)} characters are too many (at most {MAX_TEXT_CHARS})")
        return _Parser(text).read()

    @property
    def delays_turns(self) -> bool:
        """Return whether a turn may take time."""
        return (
            self.rate is not None
            or any(one.takes_time for one in (self.act, self.network) if one is not None)
            or any(chance.time_ns for chance in (self.loss, self.stall) if chance is not None)
        )

    @property
    def only_rate(self) -> Rate | None:
        """Return the rate of a model that sets nothing else; `None` for any other model."""
        return self.rate if self == SeatLatency(rate=self.rate) else None

    @property
    def draws(self) -> bool:
        """Return whether times are drawn, which pass before the agent sees a turn."""
        return any(getattr(self, name) is not None for name in (*_DISTRIBUTIONS, *_CHANCES))

    def loaded(self, read: Reader) -> SeatLatency:
        """Return the model with all recorded times that it names.

        Raises:
            UsageError: a file cannot be used.
        """
        named = {name: one for name in _DISTRIBUTIONS if (one := getattr(self, name)) is not None}
        return attrs.evolve(self, **{name: one.loaded(read) for name, one in named.items()})

    def delays(
        self, phase: Phase, generator: Callable[[str], np.random.Generator]
    ) -> Iterator[tuple[int, int]]:
        """Yield for each request of a phase, without end, its delay and the part of it that the host lost.

        The delay of a request and of its answer is passed in one piece, before the agent sees the request.

        Args:
            generator: returns a generator of its own for each part of the model, by name, so that a part that
                is added leaves the others as they were.
        """
        import numpy as np  # noqa: PLC0415 - takes 0.1 s, and few matches have a model

        think: AnyDistribution | None = getattr(self, phase)
        sources = {part: generator(part) for part in ("think", "network", "loss", "stall")}
        while True:
            delay, stall = np.zeros(BLOCK), np.zeros(BLOCK)
            if think is not None:
                delay += self.cpu * think.draw(sources["think"], BLOCK)
            if self.network is not None:
                delay += self.network.draw(sources["network"], 2 * BLOCK).reshape(2, BLOCK).sum(axis=0)
            if self.loss is not None:
                sent = sources["loss"].geometric(1.0 - self.loss.probability, (2, BLOCK))
                delay += (sent.sum(axis=0) - 2) * self.loss.time_ns
            if self.stall is not None:
                stalls = sources["stall"].random(BLOCK) < self.stall.probability
                stall += stalls * self.stall.time_ns
            whole = (np.minimum(delay, MAX_LATENCY_NS) + stall).round().astype(np.int64)
            yield from zip(whole.tolist(), stall.astype(np.int64).tolist(), strict=True)


_DISTRIBUTIONS: Final = (*PHASES, "network")
_CHANCES: Final = MappingProxyType({"loss": (ABOVE_0, MAX_LOSS), "stall": (ABOVE_0, 1.0)})
_FACTORS: Final = (ABOVE_0, 1_000.0)
_WORDS: Final = (*_DISTRIBUTIONS, *_CHANCES, "cpu")


_BETWEEN: Final = re.compile(r"[\s,]*")


class _Parser(Parser):
    """Parser of the model of a seat."""

    def read(self) -> SeatLatency:
        if self._text.strip() == NONE:
            return SeatLatency()
        fields: dict[str, Any] = {}
        columns: dict[str, int] = {}
        while self.skip(_BETWEEN) < len(self._text):
            began = self.at
            rate = parse_rate(self)
            key = None if rate else self.match(KEY)
            name = "rate" if rate else "act" if key is None else key[1]
            if name not in _WORDS and not rate:
                self.refuse(began, f"unknown key {name!r}{suggest(name, _WORDS)}")
            if name in fields:
                self.refuse(began, f"{name} is set a second time (first at column {columns[name]})")
            columns[name] = began + 1
            fields[name] = rate or self._value(name)
            if (ended := self.at) == self.skip(_BETWEEN) < len(self._text):
                self.refuse(ended, "expected a space and the next word")
        if not fields:
            self.refuse(0, f"nothing is set: write a time such as 20ms, or {NONE}")
        return SeatLatency(**fields)

    def _value(self, name: str) -> AnyDistribution | Chance | float:
        if name == "cpu":
            return self.number("cpu", _FACTORS)
        if name in _DISTRIBUTIONS:
            return self.distribution()
        probability = self.number(f"the probability of {name}", _CHANCES[name])
        self.expect("/", f"{name} is a probability and a time, such as {name}=0.01/200ms")
        return Chance(probability, self.duration())
