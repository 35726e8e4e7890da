"""Rates that turn an agent's work into think time: instructions of a virtual machine, tokens of a model.

A time by a rate depends on the work alone: no load of the machine, of the network or of a server is in it.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import attrs

from flagfall.timing.control import PREFIXES, count_text
from flagfall.timing.distributions import KEY, Parser, number_text
from flagfall.timing.durations import S, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,30})?(?:e-?[0-9]{1,2})?)([kMG]?)")

_FUEL_RATES: Final = (1e3, 1e12)
_TOKEN_RATES: Final = (1e-3, 1e6)


@attrs.frozen
class Fuel:
    """A rate of fuel, of which WebAssembly uses about one unit an instruction.

    Attributes:
        per_second: units of fuel.
    """

    measures: ClassVar[str] = "fuel"
    whose: ClassVar[str] = "the instructions of agents in WebAssembly (host wasm)"

    per_second: int

    def __str__(self) -> str:
        return f"fuel({count_text(self.per_second)}/s)"

    def slowed(self, factor: float) -> Fuel:
        """Return the rate of a machine that is slower by a factor."""
        return Fuel(max(1, round(self.per_second / factor)))

    def time_ns(self, units: int) -> int:
        """Return the think time of a number of units in nanoseconds, rounded up."""
        return -(-units * S // self.per_second)

    def units_in(self, time_ns: int) -> int:
        """Return the least number of units whose think time is at least this."""
        return -(-time_ns * self.per_second // S)


@attrs.frozen
class Tokens:
    """Rates of a language model.

    Attributes:
        per_second: tokens of the answer.
        prompt: tokens of the prompt a second; `None` if they take no time.
        first_ns: time of each request until its first token, in nanoseconds.
    """

    measures: ClassVar[str] = "tokens"
    whose: ClassVar[str] = (
        'the tokens of llm, and of agents with measures = "tokens", in the event loop (host task)'
    )

    per_second: float
    prompt: float | None = None
    first_ns: int = 0

    def __str__(self) -> str:
        words = [f"{number_text(self.per_second)}/s"]
        if self.prompt is not None:
            words.append(f"prompt={number_text(self.prompt)}/s")
        if self.first_ns:
            words.append(f"first={format_duration(self.first_ns)}")
        return f"tokens({', '.join(words)})"

    def slowed(self, factor: float) -> Tokens:
        """Return the rates of a machine that is slower by a factor."""
        prompt = None if self.prompt is None else self.prompt / factor
        return Tokens(self.per_second / factor, prompt, round(self.first_ns * factor))

    def time_ns(self, prompt: int, answer: int, requests: int = 1) -> int:
        """Return the think time of one or more requests in nanoseconds.

        Args:
            prompt: tokens of all prompts.
            answer: tokens of all answers.
            requests: number of requests.
        """
        seconds = answer / self.per_second + (0.0 if self.prompt is None else prompt / self.prompt)
        return requests * self.first_ns + round(seconds * S)


Rate: TypeAlias = Fuel | Tokens


def parse_rate(parser: Parser) -> Rate | None:
    """Read a rate, if one stands at the parser's place; raises `UsageError` for an invalid one."""
    word = parser.match(_NAME)
    if word is None:
        return None
    read, usage = _RATES[word[1]]
    parser.expect("(", usage)
    rate = read(parser, usage)
    parser.expect(")", usage)
    return rate


def _read_fuel(parser: Parser, usage: str) -> Fuel:
    return Fuel(round(_read_count(parser, "a rate of fuel", _FUEL_RATES, usage)))


def _read_tokens(parser: Parser, usage: str) -> Tokens:
    answer = _read_count(parser, "a rate of tokens", _TOKEN_RATES, usage)
    options: dict[str, Any] = {}
    while parser.comes(","):
        began = parser.skip()
        key = parser.match(KEY)
        name = "" if key is None else key[1]
        if name not in {"prompt", "first"} or name in options:
            parser.refuse(began, "expected prompt=2000/s or first=300ms, each once")
        options[name] = (
            parser.duration() if name == "first" else _read_count(parser, "prompt", _TOKEN_RATES, usage)
        )
    return Tokens(answer, options.get("prompt"), options.get("first", 0))


def _read_count(parser: Parser, what: str, bounds: tuple[float, float], usage: str) -> float:
    began = parser.skip()
    found = parser.match(_COUNT)
    value = 0.0 if found is None else float(found[1]) * PREFIXES[found[2]]
    least, most = bounds
    if not least <= value <= most:
        parser.refuse(began, f"{what} is from {least:g}/s to {count_text(int(most))}/s: {usage}")
    parser.expect("/s", usage)
    return value


_RATES: Final[Mapping[str, tuple[Callable[[Parser, str], Rate], str]]] = MappingProxyType(
    {
        "fuel": (_read_fuel, "fuel(1G/s)"),
        "tokens": (
            _read_tokens,
            "tokens(30/s, prompt=2000/s, first=300ms), where both options may be left out",
        ),
    }
)
"""What reads each rate, and its form."""

_NAME = re.compile(rf"({'|'.join(_RATES)})\b")
