"""Parser of the InteractionSet: from lines to effect rules, in file order."""

from __future__ import annotations

__all__ = ["MAX_REPEAT", "read_interactions"]

from collections.abc import Iterator, Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import EffectContext, EffectRule, Value
from flagfall.tasks.vgdl.language.effect_schema import EFFECTS, TIMED
from flagfall.tasks.vgdl.language.errors import GameError, Notices, UnknownNameError
from flagfall.tasks.vgdl.language.line_tree import Line, Word, report_strays
from flagfall.tasks.vgdl.language.parameters import Names, by_key, read_parameters, require
from flagfall.tasks.vgdl.language.schema import Parameters

MAX_REPEAT: Final = 1000
"""Limit of how often one line runs on a pair in a tick; the public games need 10."""


def read_interactions(block: Line, names: Names, notices: Notices) -> Iterator[EffectRule]:
    """Yield the rules of the lines below `InteractionSet`.

    A line makes one rule, or two if `EOS` is among other sprites (`ghost EOS ghost`); both have the same
    `place`, and share the state of the effect.

    Args:
        block: the line `InteractionSet`.
        names: the names of the sprites.
        notices: receives mistakes that the original ignores.

    Raises:
        UnknownNameError: an unknown effect or an undefined sprite.
        GameError: a line without `>` or without an effect.
    """
    for line in block.below:
        yield from _LineParser(line, names, notices).rules()
        report_strays(line, notices)


class _LineParser:
    """Parses one line."""

    def __init__(self, line: Line, names: Names, notices: Notices) -> None:
        self._names = names
        self._notices = notices
        self._line = line
        bare = [word for word in line.words if not word.is_parameter]
        arrow = next((number for number, word in enumerate(bare) if word.text == ">"), None)
        if arrow is None:
            raise GameError(line.place, "no '>': an interaction is 'sprite sprite > effect'")
        self._sprites, after = bare[:arrow], [word for word in bare[arrow:] if word.text != ">"]
        if len(self._sprites) < 2:  # noqa: PLR2004 - the first and at least one other
            raise GameError(
                line.place, "an interaction needs two sprites, or a sprite and EOS or TIME, before '>'"
            )
        if not after:
            raise GameError(
                bare[arrow].place, f"no effect after '>'; some are {', '.join(list(EFFECTS)[:5])}"
            )
        for word in after[:-1]:
            notices.add(
                word.place, f"{word.text!r} is ignored; {after[-1].text!r} is the effect", logged=False
            )
        self._effect = after[-1]
        self._given = by_key(line.words)

    def rules(self) -> Iterator[EffectRule]:
        """Yield the rules of the line."""
        first, *seconds = self._sprites
        if self._is_special(first, "TIME") or self._is_special(seconds[0], "TIME"):
            yield self._timed(first, seconds)
            return
        if self._is_special(first, "EOS"):
            for second in seconds:
                yield self._rule(EffectContext.EDGE, self._id(second), ())
            return
        edges = [word for word in seconds if self._is_special(word, "EOS")]
        others = tuple(self._id(word) for word in seconds if word not in edges)
        if others:
            yield self._rule(EffectContext.PAIR, self._id(first), others)
        for _ in edges:
            yield self._rule(EffectContext.EDGE, self._id(first), ())

    def _is_special(self, word: Word, special: str) -> bool:
        """Return whether a word is `EOS` or `TIME`; a sprite of that name takes precedence."""
        return word.text not in self._names and word.text.upper() == special

    def _id(self, word: Word) -> int:
        return self._names.id(word.text, word)

    def _timed(self, first: Word, seconds: list[Word]) -> EffectRule:
        if len(seconds) > 1:
            raise GameError(seconds[1].place, "TIME takes one sprite")
        target = seconds[0] if self._is_special(first, "TIME") else first
        rule = self._rule(EffectContext.TIME, self._id(target), (), TIMED)
        timer = rule.parameters["timer"]
        assert isinstance(timer, int)
        if rule.parameters["repeating"] and timer < 1:
            raise GameError(self._line.place, "a repeating TIME effect needs timer=1 or more")
        return rule

    def _rule(
        self, context: EffectContext, first: int, seconds: tuple[int, ...], more: Parameters | None = None
    ) -> EffectRule:
        name = self._effect.text
        if name not in EFFECTS:
            raise UnknownNameError.unknown(self._effect.place, "effect", name, EFFECTS)
        values = self._values(name, {**EFFECTS[name].parameters, **(more or {})})
        shielded = self._given.get("ftype")
        if name == "shieldFrom" and shielded is not None and values["ftype"] not in EFFECTS:
            self._notices.add(shielded.place, f"there is no effect {values['ftype']!r}", logged=False)
        inner = self._inner(first) if name == "addTimer" else None
        known = values.keys() | (inner.parameters.keys() if inner else set())
        timed = context is EffectContext.TIME or inner is not None
        for key, word in self._given.items():
            if key not in known:
                self._notices.add(word.place, f"{name} has no parameter {key!r}", logged=not timed)
        return EffectRule(
            effect=name,
            context=context,
            first=first,
            seconds=seconds,
            parameters=values,
            written=frozenset(self._given),
            place=self._line.place,
            inner=inner,
        )

    def _inner(self, first: int) -> EffectRule:
        """Return the effect that an `addTimer` runs later, from the same line."""
        word = self._given.get("ftype")
        name = word.split()[1] if word else ""
        if name not in EFFECTS or name == "addTimer":
            raise GameError.unknown(word.place if word else self._line.place, "effect (ftype)", name, EFFECTS)
        values = self._values(name, EFFECTS[name].parameters)
        return EffectRule(
            name, EffectContext.PAIR, first, (), values, frozenset(self._given), self._line.place
        )

    def _values(self, name: str, known: Parameters) -> Mapping[str, Value]:
        values = read_parameters(known, self._given, self._names, self._notices)
        require(Word(name, self._effect.place), known, self._given, values)
        repeat = values["repeat"]
        assert isinstance(repeat, int)
        if repeat > MAX_REPEAT:
            raise GameError(self._given["repeat"].place, f"repeat must be at most {MAX_REPEAT}")
        return values
