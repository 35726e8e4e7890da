"""Records of a compiled game: its effects, pairs of types, terminations."""

from __future__ import annotations

__all__ = ["Contact", "Contacts", "Effect", "EffectLine", "Pair", "Rule", "SideEffects", "Termination"]

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

Effect: TypeAlias = Callable[..., int]
"""`effect(play, first, second)` runs an effect and returns the change of the score. Which of the two sprites
may be `None` is a trait of the effect (`flagfall.tasks.vgdl.language.schema.Needs`); in a batch, `second` is
a list."""

Contact: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Pairs that two touching sprites of two types make due: their indices as bits; the indices in which the one
type is first; those in which the other is."""

Contacts: TypeAlias = Sequence[Sequence[Contact | None] | None]
"""By type, then by the other type; `None` for types without effects on each other."""


@attrs.frozen(eq=False)
class EffectLine:
    """One line of the InteractionSet, as its effect reads it.

    Attributes:
        score: its `scoreChange`.
        parameters: by key, converted; defaults filled in.
        inner: the effect that an `addTimer` runs later.
    """

    score: int
    parameters: Mapping[str, Any]
    inner: Effect | None = None


@attrs.define(eq=False)
class Rule:
    """One effect of a pair.

    Attributes:
        name: the name of the effect.
        run: the effect.
        quiet: it changes no position but the first sprite's, and makes no sprite.
        batch: it takes all second sprites that a first one touches at once.
        steps_back: all that it does is to put the first sprite where the cycle began.
        independent: what it does with one first sprite matters to no other one, and it needs no ground.
    """

    name: str
    run: Effect
    quiet: bool
    batch: bool
    steps_back: bool
    independent: bool


@attrs.define(eq=False)
class Pair:
    """Two types as the game names them, and their effects in order.

    Attributes:
        index: position among the pairs.
        first, second: types as written.
        first_ranks: by type, its position among the first types; `None` for others.
        second_ranks: by type, its position among the second types; `None` for others.
        several_firsts, several_seconds: there is more than one such type.
        disjoint: no type is both first and second.
        ground_sensors: first types that detect whether they stand on something.
        ground_types: second types that are solid.
        rules: the effects.
    """

    index: int
    first: int
    second: int
    first_ranks: tuple[int | None, ...]
    second_ranks: tuple[int | None, ...]
    several_firsts: bool
    several_seconds: bool
    disjoint: bool
    ground_sensors: tuple[int, ...]
    ground_types: tuple[int, ...]
    rules: list[Rule]


@attrs.frozen
class Termination:
    """One line of the TerminationSet; `done` and `won` take the play.

    Attributes:
        done: returns whether its condition holds.
        won: returns whether the game is then won.
        every_tick: `done` may change without a birth or a death.
    """

    done: Callable[[Any], bool]
    won: Callable[[Any], bool]
    every_tick: bool


@attrs.frozen
class SideEffects:
    """Types whose sprites a game's effects can change.

    Attributes:
        sped: their speed can change.
        turned: they can become oriented.
        changed: anything of them can change.
    """

    sped: set[int] = attrs.field(factory=set)
    turned: set[int] = attrs.field(factory=set)
    changed: set[int] = attrs.field(factory=set)
