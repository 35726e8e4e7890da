"""Random samples of spaces that are described in plain values, see `flagfall.kernel.spaces`."""

from __future__ import annotations

__all__ = ["sample"]

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from random import Random
from typing import Any, Final

_LONGEST_SEQUENCE: Final = 3


def sample(described: Mapping[str, Any], random: Random) -> Any:
    """Draw a random value of a space, in the form that JSON has: lists for arrays and tuples, plain numbers.

    Numbers with both bounds are uniform, others are normal or exponential.

    Args:
        described: the space; one that is described only by a text cannot be sampled.
        random: the source of randomness.

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
