"""Schema of a plan file, and the strict cattrs converter for it."""

from __future__ import annotations

__all__ = ["AgentTable", "PlanTable", "SprtTable", "StopTable", "TaskTable", "structure"]

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NewType, TypeVar, cast, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError

from flagfall.agents.process.isolation import IsolationKind
from flagfall.configfile.problems import Mistakes
from flagfall.configfile.problems import Path as Place
from flagfall.errors import UsageError, suggest
from flagfall.kernel.seeding import MAX_SEED
from flagfall.playing import HostKind
from flagfall.timing import TimeControl
from flagfall.timing.durations import parse_duration
from flagfall.tournament.model import Scoring

_T = TypeVar("_T")

Count = NewType("Count", int)
Seed = NewType("Seed", int)
Span = NewType("Span", int)
Repeats = NewType("Repeats", int)
Texts = NewType("Texts", tuple[str, ...])
"""A list of texts, or a single text."""

MAX_REPEATS: Final = 100_000
"""Repeats, rounds and replays: standings walk through them all, which takes some seconds for this many."""


@attrs.frozen(kw_only=True)
class AgentTable:
    """A table of `agents`; what is not said is as the plan says it for all."""

    spec: str
    name: str | None = None
    host: HostKind | None = None
    isolation: IsolationKind | None = None
    limits: str | None = None
    pass_env: Texts | None = None
    show: Texts | None = None


@attrs.frozen(kw_only=True)
class TaskTable:
    """A table of `tasks`. One of `task`, `each`, `config`, `track` says what is played."""

    name: str | None = None
    task: Texts | None = None
    each: Texts | None = None
    config: str | None = None
    track: Texts | None = None
    agents: Texts | None = None
    scheduler: str | None = None
    steps: Count | None = None
    episodes: Count | None = None
    time_control: TimeControl | None = None
    tick: Span | None = None
    score: Literal["result", "reward"] = "result"
    words: str | None = None
    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: float | None = None
    fixes: bool = False
    rules: str = "gvgai-document"
    training: Span | None = None
    games: Count | None = None
    rounds: Count | None = None


@attrs.frozen(kw_only=True)
class SprtTable:
    """The table `stop.sprt`."""

    agents: Texts | None = None
    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05


@attrs.frozen(kw_only=True)
class StopTable:
    """The table `stop`, without the tables in it."""

    matches: Count | None = None
    falls: Count | None = None


@attrs.frozen(kw_only=True)
class PlanTable:
    """The top of a plan, without the tables in it."""

    name: str | None = None
    seed: Seed = Seed(0)
    repeats: Repeats | None = None
    seeds: tuple[Seed, ...] | None = None
    clock: Literal["wall", "virtual"] = "wall"
    time_control: TimeControl | None = None
    host: HostKind | None = None
    isolation: IsolationKind | None = None
    limits: str | None = None
    pass_env: Texts | None = None
    show: Texts | None = None
    anchor: str | None = None
    scoring: Scoring = "ratings"
    jobs: Count | None = None


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{value!r} is no text: write it in quotes")
    return value


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t for t in texts):
        raise UsageError(f"{value!r} is neither a text nor a list of texts")
    return tuple(texts)


def _whole(least: int, most: int | None = None) -> Callable[[Any, Any], int]:
    limits = f"at least {least}" if most is None else f"from {least} to {most}"

    def read(value: Any, _: Any) -> int:
        if type(value) is not int or value < least or (most is not None and value > most):
            raise UsageError(f"{value!r} is no whole number, {limits}")
        return value

    return read


def _number(value: Any, _: Any) -> float:
    if type(value) not in {int, float} or not math.isfinite(value):
        raise UsageError(f"{value!r} is no number")
    return float(value)


def _flag(value: Any, _: Any) -> bool:
    if type(value) is not bool:
        raise UsageError(f"{value!r} is neither true nor false")
    return value


def _span(value: Any, _: Any) -> int:
    span = parse_duration(_text(value, _))
    if not span:
        raise UsageError(f"{value!r}: it takes some time; leave it out for none")
    return span


def _choice(value: Any, kind: Any) -> Any:
    known = get_args(kind)
    if value not in known:
        raise UsageError(f"{value!r} is unknown{suggest(str(value), known)}")
    return value


_HOOKS: Final[Mapping[Any, Callable[[Any, Any], Any]]] = {
    str: _text,
    int: _whole(0, MAX_REPEATS),
    float: _number,
    bool: _flag,
    Path: lambda value, kind: Path(_text(value, kind)),
    TimeControl: lambda value, kind: TimeControl.parse(_text(value, kind)),
    Count: _whole(1),
    Repeats: _whole(1, MAX_REPEATS),
    Seed: _whole(0, MAX_SEED),
    Span: _span,
    Texts: _texts,
}
"""How what stands in the file becomes a value, by the type of the field."""


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    for kind, hook in _HOOKS.items():
        if isinstance(kind, type):
            converter.register_structure_hook(kind, hook)
        else:
            converter.register_structure_hook_func(partial(operator.is_, kind), hook)
    converter.register_structure_hook_func(partial(_is_of, Literal), _choice)
    converter.register_structure_hook_func(
        partial(_is_of, tuple), lambda value, kind: _list(value, kind, converter)
    )
    return converter


def _is_of(origin: Any, kind: Any) -> bool:
    return get_origin(kind) is origin


def _list(value: Any, kind: Any, converter: Converter) -> tuple[Any, ...]:
    """A tuple of any length, with all that is wrong in it."""
    if not isinstance(value, list):
        raise UsageError(f"{value!r} should be a list")
    made, wrong = [], []
    for part in value:
        try:
            made.append(converter.structure(part, get_args(kind)[0]))
        except UsageError as error:
            wrong.append(error)
    if wrong:
        raise ExceptionGroup("in a list", wrong)
    return tuple(made)


_CONVERTER: Final = _converter()


def structure(
    table: Any, kind: type[_T], place: Place, mistakes: Mistakes, also: Iterable[str] = ()
) -> _T | None:
    """A table as a value of a class; `None` where it has mistakes, which are noted.

    Args:
        table: what stands in the file.
        kind: the class.
        place: where the table stands.
        mistakes: those of the plan.
        also: names that mean something there, and that somebody else reads; for hints.
    """
    if not isinstance(table, dict):
        mistakes.add(place, f"{table!r} should be a table of names and values")
        return None
    try:
        return _CONVERTER.structure(table, kind)
    except ClassValidationError as group:
        _note(
            group,
            [*(field.name for field in attrs.fields(cast("type[attrs.AttrsInstance]", kind))), *also],
            place,
            mistakes,
        )
        return None


def _note(group: ClassValidationError, known: list[str], place: Place, mistakes: Mistakes) -> None:
    named, others = group.group_exceptions()
    for error, note in named:
        _note_field(error, (*place, note.name), mistakes)
    for error in others:
        if isinstance(error, ForbiddenExtraKeysError):
            for name in sorted(error.extra_fields):
                mistakes.unknown((*place, name), "name", name, known)
        else:
            mistakes.add(place, str(error))


def _note_field(error: Exception, place: Place, mistakes: Mistakes) -> None:
    if isinstance(error, KeyError):
        mistakes.add(place, "is missing")
    else:
        for part in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            mistakes.add(place, str(part))
