"""Durations: whole nanoseconds, and texts such as `40ms` or `0.6s`; conversions are exact, without floats."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagfall.errors import UsageError, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

US: Final = 1_000
MS: Final = 1_000 * US
S: Final = 1_000 * MS
MINUTE: Final = 60 * S
HOUR: Final = 60 * MINUTE

NEVER_NS: Final = 2**62
"""A time that never comes (146 years), for comparisons where there is no limit; fits 64 bits, doubled too."""

UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {"ns": 1, "us": US, "ms": MS, "s": S, "m": MINUTE, "h": HOUR}
)
"""The units of a written duration, in nanoseconds."""

# An hour is 2**13 * 3**2 * 5**11 ns: no whole number of ns needs more places than this in any unit.
_PLACES: Final = 13
# NEVER_NS has 19 digits; the bound also keeps int() away from texts a megabyte long.
_NUMBER = re.compile(rf"([0-9]{{1,19}})(?:\.([0-9]{{1,{_PLACES}}}))?([^0-9.\s]*)")


def parse_duration(text: str) -> int:
    """Read a duration such as `40ms`, `0.6s`, `10m` or `5ns`.

    Args:
        text: a decimal number and a unit out of `UNITS`; no sign.

    Returns:
        The duration in nanoseconds, less than `NEVER_NS`.

    Raises:
        UsageError: an invalid text, a fraction of a nanosecond, or a duration of `NEVER_NS` or more.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{_shown(text)} is not a duration: write a number and a unit, such as 40ms or 0.6s")
    whole, places, unit = match.groups(default="")
    if unit not in UNITS:
        raise UsageError(_unit_fault(text, unit))
    scale: int = 10 ** len(places)
    ns, rest = divmod(int(whole + places) * UNITS[unit], scale)
    if rest:
        raise UsageError(f"{_shown(text)} is not a whole number of nanoseconds")
    if ns >= NEVER_NS:
        raise UsageError(f"{_shown(text)} is too long: omit a limit that is not needed")
    return ns


def format_duration(ns: int) -> str:
    """Write a duration in the shortest form that `parse_duration` reads back as the same number.

    Args:
        ns: nanoseconds, 0 or more.

    Raises:
        ValueError: the duration is negative.
    """
    if ns < 0:
        raise ValueError(f"a duration is not negative: {ns} ns")
    if ns == 0:
        return "0s"
    forms = [form for unit in UNITS if (form := _in_unit(ns, unit)) is not None]
    return min(forms, key=lambda form: (len(form), "." in form))


def _in_unit(ns: int, unit: str) -> str | None:
    """Return a duration as a decimal number of one unit; `None` where it has no end (1s in hours)."""
    size = UNITS[unit]
    for places in range(_PLACES + 1):
        scaled, rest = divmod(ns * 10**places, size)
        if not rest:
            digits = str(scaled).zfill(places + 1)
            point = len(digits) - places
            return f"{digits[:point]}.{digits[point:]}{unit}" if places else f"{digits}{unit}"
    return None


def _unit_fault(text: str, unit: str) -> str:
    if not unit:
        return f"{_shown(text)} has no unit: write {text.strip()}ms or {text.strip()}s"
    return f"{_shown(text)} has an unknown unit {_shown(unit)}{suggest(unit, UNITS)}"


def _shown(text: str) -> str:
    """Return a text as an error shows it: quoted, and cut if it is long."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")  # noqa: PLR2004 - a line of an error
