"""What the language model of an agent uses for its turns: how it is reported, charged, and turned into time.

An agent reports it by `Briefing.think`, or by the numbers of its notes (`NAMES`). The note on the turn in the
record has it, so results, budgets, and think times under another rate all follow from the same numbers.

Rule 1: an agent is believed. What its server counted can be compared afterwards.
Rule 2: what a turn used is reported before its think time passes, so that a turn which is late has it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.timing.elapsed_timer import NANODOLLARS

if TYPE_CHECKING:
    from flagfall.timing import Budget
    from flagfall.timing.rates import Tokens

_PROMPT: Final = "prompt_tokens"
_ANSWER: Final = "answer_tokens"
_COST: Final = "cost"
_REQUESTS: Final = "requests"
_ANSWERS: Final = ("answers", "invalid_answers")

NAMES: Final = (_PROMPT, _ANSWER, _COST)
"""Names of the numbers of a note that say what was used: tokens, and US dollars."""

MAX_TOKENS: Final = 10**9
"""Larger counts of tokens are not believed."""

MAX_COST: Final = 10**6
"""Larger costs, in US dollars, are not believed."""

_COST_DECIMALS: Final = 9
"""Decimals of a cost in US dollars: a token costs some millionths."""


def _check_count(_usage: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (type(value) is not int or not 0 <= value <= MAX_TOKENS):
        raise ValueError(f"{attribute.name}={value!r}: write a whole number from 0 to {MAX_TOKENS}")


def _check_cost(_usage: Any, _attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and not (type(value) in {int, float} and 0 <= value <= MAX_COST):
        raise ValueError(f"cost={value!r}: write US dollars, from 0 to {MAX_COST}")


@attrs.frozen
class Usage:
    """What a language model used for a turn.

    Attributes:
        prompt_tokens: tokens of its prompts; `None` if they are not known.
        answer_tokens: tokens of its answers; `None` if they are not known.
        cost: in US dollars; `None` if it is not known.
        requests: number of requests that were answered.

    Raises:
        ValueError: a number that cannot be.
    """

    prompt_tokens: int | None = attrs.field(default=None, validator=_check_count)
    answer_tokens: int | None = attrs.field(default=None, validator=_check_count)
    cost: float | None = attrs.field(default=None, validator=_check_cost)
    requests: int = attrs.field(default=1, validator=_check_count)

    @classmethod
    def of(cls, note: Any) -> Usage:
        """Return what a note says, by whomever it was written: numbers that cannot be are not known."""
        if not isinstance(note, dict):
            return cls()
        counts = {}
        for name in (_PROMPT, _ANSWER, _REQUESTS, *_ANSWERS):
            count = note.get(name)
            counts[name] = count if type(count) is int and 0 <= count <= MAX_TOKENS else None
        cost: Any = note.get(_COST)
        is_cost = type(cost) in {int, float} and 0 <= cost <= MAX_COST
        answered = sum(counts[name] or 0 for name in _ANSWERS)
        requests = min(answered or counts[_REQUESTS] or 1, MAX_TOKENS)
        return cls(counts[_PROMPT], counts[_ANSWER], cost if is_cost else None, requests)

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.answer_tokens, other.answer_tokens),
            min(sum(costs), MAX_COST) if costs else None,
            min(self.requests + other.requests, MAX_TOKENS),
        )

    def added_to(self, note: Any) -> dict[str, Any]:
        """Return a note with these numbers; a value that is no mapping has the name `note` in it."""
        kept = note if isinstance(note, dict) else {} if note is None else {"note": note}
        return {**kept, **self.as_note(), **kept}  # its own numbers count, and its order

    def as_note(self) -> dict[str, float]:
        """Return the numbers that a note has of it: those that are known."""
        cost = None if self.cost is None else round(self.cost, _COST_DECIMALS)
        found = {_PROMPT: self.prompt_tokens, _ANSWER: self.answer_tokens, _COST: cost}
        more = {_REQUESTS: self.requests} if self.requests > 1 else {}
        return {name: value for name, value in found.items() if value is not None} | more

    def time_ns(self, rate: Tokens) -> int | None:
        """Return the think time by a rate, in nanoseconds; `None` if the tokens are not known."""
        if self.prompt_tokens is None or self.answer_tokens is None:
            return None
        return rate.time_ns(self.prompt_tokens, self.answer_tokens, self.requests)

    def charge(self, budget: Budget) -> None:
        """Charge a budget with it."""
        tokens = (self.prompt_tokens or 0) + (self.answer_tokens or 0)
        budget.use(tokens, round((self.cost or 0) * NANODOLLARS))


def _sum(one: int | None, other: int | None) -> int | None:
    """Return the sum of what is known of two counts."""
    return None if one is other is None else min((one or 0) + (other or 0), MAX_TOKENS)


NOTHING: Final = Usage()
"""What is known of a turn without a note."""
