"""Time controls: the frozen `TimeControl`, its text form, and presets by name."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias, get_args

import attrs

from flagfall.errors import UsageError, error_at, suggest
from flagfall.timing.durations import MINUTE, MS, NEVER_NS, S, format_duration, parse_duration
from flagfall.timing.elapsed_timer import NANODOLLARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


Phase: TypeAlias = Literal["start", "init", "act", "result"]
"""Phase of a match in which an agent is asked.

- `start`: load and get ready; the observation is what the agent may know before it plays (`Briefing` fields).
- `init`: a task begins; the observation is its first.
- `act`: choose an action.
- `result`: a task is over; the observation is its last one, the reward its last reward.
"""

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
"""All phases."""


Fields: TypeAlias = dict[str, Any]
"""Values for some fields of a `TimeControl`, by name."""

UNTIMED: Final = "untimed"
"""The text form of a time control without limits."""

MAX_TEXT_CHARS: Final = 1_000
"""Longer texts are refused unread; every field written out with 19 digits takes about 300."""

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"clock": ("wall", "cpu"), "late": ("nil", "out")}
)
_MOST_SPENT: Final = 10**15
"""The largest budget: of tokens, and in billionths of a US dollar a million."""

_BUDGET: Final = "budget"
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(k|M|G)?(tokens|USD)", re.ASCII)
PREFIXES: Final[Mapping[str, int]] = MappingProxyType({"G": 10**9, "M": 10**6, "k": 10**3, "": 1})
"""Prefixes of counts, the largest first."""

# What may follow a value in one word, after which sign: act=40ms/1s, bank=60s+0.6s, total=10m+1s.
_COMPANIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"act": ("/", "act_hard"), "bank": ("+", "increment"), "total": ("+", "grace")}
)
# Fields that a preset loses where another one is replaced: limits that belonged to the old value.
_DEPENDENTS: Final[Mapping[str, str]] = MappingProxyType({"act": "act_abort"})
# Fields that need another one.
_NEEDS: Final[Mapping[str, str]] = MappingProxyType({"increment": "bank", "grace": "total"})


class _FieldError(UsageError):
    """An invalid value, or one that contradicts the field `other`; `parse` adds the place in the text."""

    def __init__(self, field: str, message: str, other: str = "") -> None:
        super().__init__(f"time control: {message}")
        self.field = field
        self.other = other
        self.message = message


def _check_duration(_control: TimeControl, attribute: attrs.Attribute[int | None], value: object) -> None:
    name = attribute.name
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        kind = type(value).__name__
        raise _FieldError(
            name, f"{name} is {value!r}, a {kind}: write whole nanoseconds, or None for no limit"
        )
    if value < 0:
        raise _FieldError(name, f"{name} is negative ({value} ns): write 0 or more, or None for no limit")
    if value >= NEVER_NS:
        raise _FieldError(name, f"{name} is longer than any match ({value} ns): write None for no limit")


def _check_choice(_control: TimeControl, attribute: attrs.Attribute[str], value: object) -> None:
    name = attribute.name
    if value not in _CHOICES[name]:
        raise _FieldError(name, f"{name} is {value!r}: write {' or '.join(_CHOICES[name])}")


def _check_amount(_control: TimeControl, attribute: attrs.Attribute[int | None], value: object) -> None:
    if value is not None and (type(value) is not int or not 0 < value <= _MOST_SPENT):
        name, most = attribute.name, f"{_MOST_SPENT:,}"
        raise _FieldError(name, f"{name} is {value!r}: write a whole number from 1 to {most}, or None")


_PER_TURN: Final = "per_turn"
"""Key in the metadata of fields whose duration applies to single turns."""


def _duration(*, per_turn: bool = False) -> Any:
    return attrs.field(default=None, validator=_check_duration, metadata={_PER_TURN: per_turn})


@attrs.frozen(kw_only=True)
class TimeControl:
    """Time limits of a seat, and the consequences of exceeding them.

    Durations are whole nanoseconds; `None` is no limit. A turn that takes exactly its limit is late.

    The text form is a list of words, separated by spaces or commas, in any order, each field once:

    | word | sets |
    |---|---|
    | `act=40ms/1s` | `act`, `act_hard`; without the `/` part there is no `act_hard` |
    | `bank=60s+0.6s` | `bank`, `increment`; without the `+` part there is no `increment` |
    | `total=10m+1s` | `total`, `grace`; without the `+` part there is no `grace` |
    | `start=1s`, `act_hard=1s`, ... | this field; for every field that is a duration |
    | `act=none`, ... | no limit, where a preset has one |
    | `budget=200ktokens/2USD` | `budget_tokens`, `budget_cost`, or one of the two |
    | `clock=cpu`, `late=out` | these fields |
    | `60s+0.6s` | a bare duration with a `+`: `bank` and `increment` |
    | `40ms`, `40ms/1s` | any other bare duration: `act` and `act_hard` |
    | `blitz` | as the first word: a name out of `PRESETS`; what follows replaces parts of it |

    The text of a control without limits is `untimed`; an empty text means the same. A preset stands for its
    text, so the default of `late` is derived again where the fields that it depends on are replaced.

    Attributes:
        start: limit for the start of the agent. Exceeding `start`, `init` or `result` disqualifies.
        init: limit for `init`, at the start of a task.
        act: soft limit of a turn; `late` defines the consequence.
        act_hard: hard limit: an agent that is busy with one turn for that long is disqualified. Not below
            `act`.
        act_abort: a turn that takes this long aborts the episode, and the agent plays on; where the task has
            no `abort_action`, the agent is disqualified instead. Up to this limit the task waits for the
            answer, and one later than `act` counts as NIL. Between `act` and `act_hard`; not used at
            real-time pace.
        result: limit for `result`, at the end of a task.
        bank: thinking time for the whole match, on which turns draw beyond `act`. Without `act`, all time of
            a turn is drawn from it, as on a chess clock.
        increment: time added to the bank after each turn. Needs `bank`.
        total: time for the whole match, over all phases.
        grace: time beyond `total` before the seat is disqualified. Needs `total`.
        budget_tokens: tokens of prompts and answers for the whole match, as the agent reports them. Once they
            are spent, every further turn is late at once.
        budget_cost: the same for what they cost, in billionths of a US dollar.
        clock: the time that counts: that of the `wall` clock, or the agent's `cpu` time.
        late: the consequence of a late turn: the NIL action is played (`nil`), or the seat is disqualified
            (`out`). By default `nil`, and `out` for a chess clock (`bank` without `act`).

    Raises:
        UsageError: an invalid value, or values that contradict each other.
    """

    start: int | None = _duration()
    init: int | None = _duration()
    act: int | None = _duration(per_turn=True)
    act_hard: int | None = _duration(per_turn=True)
    act_abort: int | None = _duration(per_turn=True)
    result: int | None = _duration()
    bank: int | None = _duration()
    increment: int | None = _duration(per_turn=True)
    total: int | None = _duration()
    grace: int | None = _duration()
    budget_tokens: int | None = attrs.field(default=None, validator=_check_amount)
    budget_cost: int | None = attrs.field(default=None, validator=_check_amount)
    clock: Literal["wall", "cpu"] = attrs.field(default="wall", validator=_check_choice)
    late: Literal["nil", "out"] = attrs.field(validator=_check_choice)

    @late.default
    def _late_default(self) -> Literal["nil", "out"]:
        return "out" if self.act is None and self.bank is not None else "nil"

    def __attrs_post_init__(self) -> None:
        if self.act is not None and self.act_hard is not None and self.act_hard < self.act:
            hard, soft = format_duration(self.act_hard), format_duration(self.act)
            raise _FieldError("act_hard", f"act_hard ({hard}) is below act ({soft}): it cannot come first")
        if self.act_abort is not None:
            self._check_abort(self.act_abort)
        for name, needed in _NEEDS.items():
            if getattr(self, name) is not None and getattr(self, needed) is None:
                raise _FieldError(name, f"{name} without {needed}: add {needed}=..., or leave {name} out")

    def _check_abort(self, abort_ns: int) -> None:
        abort = format_duration(abort_ns)
        if self.act is not None and abort_ns < self.act:
            soft = format_duration(self.act)
            raise _FieldError("act_abort", f"act_abort ({abort}) is below act ({soft})", "act")
        if self.act_hard is not None and abort_ns > self.act_hard:
            hard = format_duration(self.act_hard)
            message = f"act_abort ({abort}) is above act_hard ({hard}): it never comes"
            raise _FieldError("act_abort", message, "act_hard")

    def turn_durations(self) -> dict[str, int]:
        """Return the durations that apply to single turns, in nanoseconds by field, without unset ones."""
        names = [field.name for field in attrs.fields(TimeControl) if field.metadata.get(_PER_TURN)]
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def __str__(self) -> str:
        return _text_of(self)

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Parse the text form; `TimeControl.parse(str(control)) == control`.

        Raises:
            UsageError: an invalid text; the message has the column (from 1), the word, and the fix.
        """
        if len(text) > MAX_TEXT_CHARS:
            raise UsageError(f"time control: {len(text)} characters are too many (at most {MAX_TEXT_CHARS})")
        return _Parser(text).read()


_MAX_CACHED_TEXTS: Final = 64
"""Time controls whose text is kept: a program plays its matches under a few."""


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _text_of(control: TimeControl) -> str:
    """Return the text form; kept, since every match asks for it and the shortest form takes 50 us."""
    words = [*_duration_words(control), *_budget_words(control)]
    if control.clock != "wall":
        words.append(f"clock={control.clock}")
    if control.late != control._late_default():  # noqa: SLF001 - the default is the class's own business
        words.append(f"late={control.late}")
    return " ".join(words) or UNTIMED


_DURATIONS: Final = tuple(
    field.name for field in attrs.fields(TimeControl) if field.validator is _check_duration
)
_KEYS: Final = (*_DURATIONS, _BUDGET, *_CHOICES)


def count_text(count: int) -> str:
    """Return a count above 0 as a short text, such as `200k`."""
    prefix, size = next(row for row in PREFIXES.items() if count % row[1] == 0)
    return f"{count // size}{prefix}"


def _budget_words(control: TimeControl) -> Iterator[str]:
    """Yield the word of the budget, if there is one."""
    amounts = []
    if control.budget_tokens is not None:
        amounts.append(f"{count_text(control.budget_tokens)}tokens")
    if control.budget_cost is not None:
        amounts.append(f"{(Decimal(control.budget_cost) / NANODOLLARS).normalize():f}USD")
    if amounts:
        yield f"{_BUDGET}={'/'.join(amounts)}"


def _duration_words(control: TimeControl) -> Iterator[str]:
    """Yield the words of all durations that are set, each with its companion."""
    values = {name: value for name in _DURATIONS if (value := getattr(control, name)) is not None}
    for name in _DURATIONS:
        if name not in values:
            continue
        word = f"{name}={format_duration(values[name])}"
        sign, companion = _COMPANIONS.get(name, ("", ""))
        if companion in values:
            word += sign + format_duration(values.pop(companion))
        yield word


def _set_fields(control: TimeControl) -> Fields:
    """Return the fields that the text of a control sets, without a `late` that is the default."""
    fields = attrs.asdict(control)
    if control.late == control._late_default():  # noqa: SLF001 - the default is the class's own business
        del fields["late"]
    return fields


class _Parser:
    """Parser of one text: collects the fields, with the column of each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._base: Fields = {}
        self._fields: Fields = {}
        self._columns: dict[str, int] = {}

    def read(self) -> TimeControl:
        for match in re.finditer(r"[^\s,]+", self._text):
            self._take(match.group(), match.start() + 1)
        try:
            return TimeControl(**(self._base | self._fields))
        except _FieldError as fault:
            # A preset is valid, and loses its companions to the words: so a word set one of the two fields.
            field = fault.field if fault.field in self._columns else fault.other
            self._refuse(self._columns[field], fault.message)

    def _take(self, word: str, column: int) -> None:
        key, equals, value = word.partition("=")
        if equals:
            self._take_key(key, value, column)
        elif word in PRESETS:
            self._take_preset(word, column)
        elif word[0].isdecimal():
            self._take_value("bank" if "+" in word else "act", word, column)
        else:
            self._refuse(column, f"unknown word {word!r}{suggest(word, [*PRESETS, *_KEYS])}")

    def _take_preset(self, name: str, column: int) -> None:
        if self._base or self._fields:
            self._refuse(
                column, f"{name!r} comes too late: write the preset first, then what replaces parts of it"
            )
        self._base = _set_fields(PRESETS[name])

    def _take_key(self, key: str, value: str, column: int) -> None:
        start = column + len(key) + 1
        if key in _CHOICES:
            if value not in _CHOICES[key]:
                self._refuse(start, f"{key} cannot be {value!r}{suggest(value, _CHOICES[key])}")
            self._set(key, value, column)
        elif key in _DURATIONS:
            self._take_value(key, value, start)
        elif key == _BUDGET:
            self._take_budget(value, start)
        else:
            self._refuse(column, f"unknown key {key!r}{suggest(key, _KEYS)}")

    def _take_value(self, key: str, value: str, column: int) -> None:
        """Take `40ms`, `40ms/1s` or `60s+0.6s`; a companion without a value is not kept from the preset."""
        sign, companion = _COMPANIONS.get(key, ("", ""))
        first, joined, second = value.partition(sign) if sign else (value, "", "")
        self._set(key, self._duration(first, column), column)
        if joined:
            start = column + len(first) + 1
            self._set(companion, self._duration(second, start), start)
        elif companion:
            self._base.pop(companion, None)
        self._base.pop(_DEPENDENTS.get(key, ""), None)

    def _take_budget(self, value: str, column: int) -> None:
        """Take `200ktokens`, `2USD` or both; none of them is kept from the preset."""
        for text in value.split("/"):
            found = _AMOUNT.fullmatch(text)
            if found is None:
                self._refuse(
                    column, f"{text!r:.40} is not a budget: write 200ktokens, 2USD or 200ktokens/2USD"
                )
            scale = NANODOLLARS if found[3] == "USD" else 1
            amount = Decimal(found[1]) * PREFIXES[found[2] or ""] * scale
            if amount != int(amount) or not 0 < amount <= _MOST_SPENT:
                self._refuse(
                    column,
                    f"{text} is no budget: at most 1000000Gtokens, or 1000000USD with 9 decimals",
                )
            self._set("budget_cost" if found[3] == "USD" else "budget_tokens", int(amount), column)
            column += len(text) + 1

    def _duration(self, text: str, column: int) -> int | None:
        if text == "none":
            return None
        try:
            return parse_duration(text)
        except UsageError as fault:
            self._refuse(column, str(fault))

    def _set(self, field: str, value: object, column: int) -> None:
        if field in self._fields:
            self._refuse(column, f"{field} is set a second time (first at column {self._columns[field]})")
        self._fields[field] = value
        self._columns[field] = column

    def _refuse(self, column: int, message: str) -> NoReturn:
        raise error_at("time control", self._text, column, message) from None


PRESETS: Final[Mapping[str, TimeControl]] = MappingProxyType(
    {
        UNTIMED: TimeControl(),
        # The limits that the GVGAI learning track documents.
        "gvgai-document": TimeControl(
            start=1 * S,
            init=1 * S,
            act=40 * MS,
            act_hard=1 * S,
            result=1 * S,
            total=10 * MINUTE,
            grace=1 * S,
        ),
        # What its published program does: five minutes, and a tick over 50 ms aborts the level. That program
        # waits for ever for a client; it has a count of 60,000 for this, which it never advances.
        "gvgai-2017": TimeControl(
            start=1 * S,
            init=1 * S,
            act=40 * MS,
            act_abort=50 * MS,
            act_hard=1 * MINUTE,
            result=1 * S,
            total=5 * MINUTE,
        ),
        "blitz": TimeControl(bank=3 * MINUTE, increment=2 * S),
        "rapid": TimeControl(bank=10 * MINUTE, increment=5 * S),
        # Simple delay: of each turn, the first two seconds are not drawn from the bank.
        "delay": TimeControl(act=2 * S, bank=3 * MINUTE, late="out"),
    }
)
"""The time controls that have a name."""
