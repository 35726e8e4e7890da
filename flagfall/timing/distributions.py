"""Distributions of times, with a text form: `20ms`, `lognormal(20ms, 0.8)`, `recorded(match.jsonl)`.

A distribution is a frozen value that draws nothing by itself: whoever uses it passes a generator of numpy,
which is imported only then.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import attrs

from flagfall.errors import UsageError, error_at, suggest
from flagfall.timing.durations import HOUR, format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

MAX_LATENCY_NS: Final = HOUR
"""Longest time of a distribution: a million turns of it end before the range of times does."""

MAX_DEPTH: Final = 4
"""Deepest nesting of mixtures."""

MAX_SAMPLES: Final = 1_000_000
"""Most recorded times that a distribution draws from; they take 8 MB."""

_WEIGHT_ERROR: Final = 1e-9
"""Weights of a mixture may miss their sum of 1 by this much, as thirds do."""

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Reader: TypeAlias = "Callable[[str, str, str], tuple[str, Sequence[int]]]"
"""Returns the digest of a file, and the times in nanoseconds that it has of an agent (empty: of all) in a
phase."""


@attrs.frozen
class Form:
    """A row of the table of distributions.

    Attributes:
        arguments: the names of its arguments, each with the bounds of a number, or `None` for a time.
        draw: draws a number of times in nanoseconds, as floats of any size.
        check: returns what is wrong with the arguments, or an empty text.
    """

    arguments: Mapping[str, tuple[float, float] | None]
    draw: Callable[..., Array]
    check: Callable[..., str] = lambda *_arguments: ""


def _draw_constant(_generator: np.random.Generator, count: int, time: int) -> Array:
    import numpy as np  # noqa: PLC0415 - takes 0.1 s, and few matches have a model

    return np.full(count, float(time))


def _draw_normal(generator: np.random.Generator, count: int, mean: int, deviation: int) -> Array:
    drawn = generator.normal(mean, deviation, count)
    while (below := drawn < 0).any():  # at most half of them, as the mean is not
        drawn[below] = generator.normal(mean, deviation, int(below.sum()))
    return drawn


def _check_uniform(low: int, high: int) -> str:
    return "" if low <= high else f"low ({format_duration(low)}) is above high ({format_duration(high)})"


ABOVE_0: Final = 5e-324
"""The least number above 0, as a bound."""

_SHAPES: Final = (0.1, 1_000.0)
_SIGMAS: Final = (ABOVE_0, 10.0)

FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "constant": Form({"time": None}, _draw_constant),
        "uniform": Form(
            {"low": None, "high": None},
            lambda generator, count, low, high: generator.uniform(low, high, count),
            _check_uniform,
        ),
        "normal": Form({"mean": None, "deviation": None}, _draw_normal),
        "exponential": Form(
            {"mean": None}, lambda generator, count, mean: generator.exponential(mean, count)
        ),
        "lognormal": Form(
            {"median": None, "sigma": _SIGMAS},
            lambda generator, count, median, sigma: median * generator.lognormal(0.0, sigma, count),
        ),
        "gamma": Form(
            {"mean": None, "shape": _SHAPES},
            lambda generator, count, mean, shape: generator.gamma(shape, mean / shape, count),
        ),
        "pareto": Form(
            {"least": None, "shape": _SHAPES},
            lambda generator, count, least, shape: least * (1.0 + generator.pareto(shape, count)),
        ),
    }
)
"""The distributions that numbers define; a `mixture` is made of others, and `recorded` of a file."""


@attrs.frozen
class Distribution:
    """A distribution of times: a row of `FORMS` with its arguments.

    Attributes:
        form: its name in `FORMS`.
        arguments: times in nanoseconds, and numbers, in their order.
    """

    form: str
    arguments: tuple[int | float, ...]

    def __str__(self) -> str:
        shown = [format_duration(one) if type(one) is int else number_text(one) for one in self.arguments]
        return shown[0] if self.form == "constant" else f"{self.form}({', '.join(shown)})"

    @property
    def takes_time(self) -> bool:
        """Return whether it may draw a time above 0."""
        return any(type(one) is int and one > 0 for one in self.arguments)

    def draw(self, generator: np.random.Generator, count: int) -> Array:
        """Draw times in nanoseconds, as floats."""
        return FORMS[self.form].draw(generator, count, *self.arguments)

    def loaded(self, _read: Reader) -> Distribution:
        """Return the distribution, which needs no file."""
        return self


@attrs.frozen
class Mixture:
    """A distribution that draws each time from one of several, which it chooses by their weights."""

    parts: tuple[tuple[float, AnyDistribution], ...]

    def __str__(self) -> str:
        return f"mixture({', '.join(f'{number_text(weight)} {part}' for weight, part in self.parts)})"

    @property
    def takes_time(self) -> bool:
        """Return whether it may draw a time above 0."""
        return any(part.takes_time for _, part in self.parts)

    def draw(self, generator: np.random.Generator, count: int) -> Array:
        """Draw times in nanoseconds, as floats."""
        import numpy as np  # noqa: PLC0415 - takes 0.1 s, and few matches have a model

        ends = np.cumsum([weight for weight, _ in self.parts])
        chosen = np.searchsorted(ends[:-1], generator.random(count), side="right")
        drawn = np.empty(count)
        for number, (_, part) in enumerate(self.parts):
            places = chosen == number
            drawn[places] = part.draw(generator, int(places.sum()))
        return drawn

    def loaded(self, read: Reader) -> Mixture:
        """Return the mixture with all recorded times that it names."""
        return Mixture(tuple((weight, part.loaded(read)) for weight, part in self.parts))


@attrs.frozen
class Recorded:
    """The times that agents have taken in a recorded match; each draw is one of them.

    Attributes:
        file: the journal, as its user names it.
        agent: take the times of this agent; empty: of all.
        phase: `act` or `start`: of others no time is recorded.
        sha256: the first digits of the file's digest; empty until it is read, if its user does not name it.
        times: these times in nanoseconds; empty until the file is read.
    """

    file: str
    agent: str = ""
    phase: str = "act"
    sha256: str = ""
    times: Sequence[int] = attrs.field(default=(), eq=False, repr=False)

    def __str__(self) -> str:
        words = [_quoted(self.file)]
        if self.agent:
            words.append(f"agent={_quoted(self.agent)}")
        if self.phase != "act":
            words.append(f"phase={self.phase}")
        if self.sha256:
            words.append(f"sha256={self.sha256}")
        return f"recorded({', '.join(words)})"

    @property
    def takes_time(self) -> bool:
        """Return whether it may draw a time above 0."""
        return any(self.times)

    def draw(self, generator: np.random.Generator, count: int) -> Array:
        """Draw times in nanoseconds.

        Raises:
            UsageError: the file was not read.
        """
        import numpy as np  # noqa: PLC0415 - takes 0.1 s, and few matches have a model

        if not len(self.times):
            raise UsageError(f"{self}: its times were not read")
        return np.asarray(self.times)[generator.integers(len(self.times), size=count)].astype(float)

    def loaded(self, read: Reader) -> Recorded:
        """Return the distribution with its times.

        Raises:
            UsageError: the file has none, or is another one than it was.
        """
        if len(self.times):
            return self
        digest, times = read(self.file, self.agent, self.phase)
        digest = digest[:_DIGITS]
        if self.sha256 not in {"", digest}:
            raise UsageError(f"{self}: the file has changed: its sha256 begins with {digest}")
        return attrs.evolve(self, sha256=digest, times=times)


AnyDistribution: TypeAlias = Distribution | Mixture | Recorded

_DIGITS: Final = 16
"""Digits of a digest that a text has: enough to tell files apart."""


# Texts.

KEY = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)=")
_WORD = re.compile(r"[^\s,()/=\"]+")
_FILE = re.compile(r'"[^"\x00-\x1f]*"|[^\s,()"]+')
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,30})?(e-?[0-9]{1,3})?")
_SHA256 = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")


def number_text(value: float) -> str:
    """Return the shortest text of a number that reads back as the same."""
    short = f"{value:g}".replace("e+", "e")
    return short if float(short) == value else repr(value).replace("e+", "e")


def _quoted(text: str) -> str:
    return text if _FILE.fullmatch(text) and "=" not in text else f'"{text}"'


class Parser:
    """Parser of a text with distributions.

    Every method raises `UsageError` with the column for a text that is not as it has to be.

    Attributes:
        at: the place of the next character.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._depth = 0

    def distribution(self) -> AnyDistribution:
        """Read a distribution, or a time, which is constant."""
        self.skip()
        began = self.at
        word = self.match(_WORD)
        if word is None:
            self.refuse(began, "expected a time such as 20ms, or a distribution such as exponential(20ms)")
        name = word[0]
        if name[0].isdecimal():
            self.at = began
            return Distribution("constant", (self.duration(),))
        known = [*FORMS, *_SPECIAL]
        if name not in known:
            self.refuse(began, f"unknown distribution {name!r}{suggest(name, known)}")
        usage = _usage(name)
        self.expect("(", usage)
        read = _SPECIAL.get(name)
        found = self._arguments(name, began) if read is None else read(self)
        self.expect(")", usage)
        return found

    def _arguments(self, name: str, began: int) -> Distribution:
        values: list[int | float] = []
        form = FORMS[name]
        for argument, bounds in form.arguments.items():
            if values:
                self.expect(",", _usage(name))
            values.append(self.duration() if bounds is None else self.number(argument, bounds))
        if fault := form.check(*values):
            self.refuse(began, f"{name}: {fault}")
        return Distribution(name, tuple(values))

    def _mixture(self) -> Mixture:
        self._depth += 1
        began = self.at
        if self._depth > MAX_DEPTH:
            self.refuse(began, f"mixtures are nested at most {MAX_DEPTH} deep")
        parts: list[tuple[float, AnyDistribution]] = []
        while not parts or self.comes(","):
            weight = self.number("a weight", (ABOVE_0, 1.0))
            parts.append((weight, self.distribution()))
        total = sum(weight for weight, _ in parts)
        if abs(total - 1.0) > _WEIGHT_ERROR:
            self.refuse(began, f"the weights add up to {total:g}, not to 1")
        self._depth -= 1
        return Mixture(tuple(parts))

    def _recorded(self) -> Recorded:
        self.skip()
        file = self.match(_FILE)
        if file is None or not file[0].strip('"'):
            self.refuse(self.at, _usage("recorded"))
        options: dict[str, str] = {}
        while self.comes(","):
            self.skip()
            began = self.at
            key = self.match(KEY)
            name = "" if key is None else key[1]
            if name not in {"agent", "phase", "sha256"} or name in options:
                self.refuse(began, "expected agent=NAME, phase=act or phase=start, each once")
            value = self.match(_FILE)
            options[name] = "" if value is None else value[0].strip('"')
            is_known = name != "phase" or options[name] in {"act", "start"}
            is_digest = name != "sha256" or _SHA256.fullmatch(options[name])
            if not (options[name] and is_known and is_digest):
                self.refuse(began, f"{name} cannot be {options[name]!r}")
        name, phase, digest = (options.get(key, "") for key in ("agent", "phase", "sha256"))
        return Recorded(file[0].strip('"'), name, phase or "act", digest)

    def number(self, what: str, bounds: tuple[float, float]) -> float:
        """Read a number between two bounds, both included; `what` names it."""
        self.skip()
        began = self.at
        word = self.match(_WORD)
        text = "" if word is None else word[0]
        value = float(text) if _NUMBER.fullmatch(text) else 0.0
        least, most = bounds
        if not least <= value <= most:
            lower = "above 0" if least == ABOVE_0 else f"from {least:g}"
            self.refuse(began, f"{what} is a number {lower} to {most:g}, got {text[:_SHOWN]!r}")
        return value

    def duration(self) -> int:
        """Read a time of at most `MAX_LATENCY_NS`, in nanoseconds."""
        self.skip()
        began = self.at
        word = self.match(_WORD)
        try:
            value = parse_duration("" if word is None else word[0])
        except UsageError as fault:
            self.refuse(began, str(fault))
        if value > MAX_LATENCY_NS:
            self.refuse(began, f"a time of a model is at most {format_duration(MAX_LATENCY_NS)}")
        return value

    def skip(self, what: re.Pattern[str] = _SPACE) -> int:
        """Pass over spaces, or another pattern; return the place behind them."""
        self.match(what)
        return self.at

    def match(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """Pass over a pattern, if it stands here."""
        found = what.match(self._text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def comes(self, sign: str) -> bool:
        """Pass over a sign, and return whether it stands here."""
        self.skip()
        is_there = self._text.startswith(sign, self.at)
        self.at += len(sign) * is_there
        return is_there

    def expect(self, sign: str, usage: str) -> None:
        """Pass over a sign, or refuse the text with what it should be."""
        if not self.comes(sign):
            self.refuse(self.at, f"expected {sign!r}: {usage}")

    def refuse(self, at: int, message: str) -> NoReturn:
        """Refuse the text for what stands at a place."""
        raise error_at("latency", self._text, at + 1, message) from None


_SHOWN: Final = 40

_SPECIAL: Final[Mapping[str, Callable[[Parser], AnyDistribution]]] = MappingProxyType(
    {"mixture": Parser._mixture, "recorded": Parser._recorded}  # noqa: SLF001 - the table belongs to the class
)


def _usage(name: str) -> str:
    if name == "mixture":
        return "mixture(WEIGHT TIME, WEIGHT TIME, ...), where a time may be a distribution"
    if name == "recorded":
        return "recorded(FILE, agent=NAME, phase=act), where the options may be left out"
    return f"{name}({', '.join(argument.upper() for argument in FORMS[name].arguments)})"
