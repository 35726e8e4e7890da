"""A compiled game: tables of what is updated when, and of which types have effects on each other."""

from __future__ import annotations

__all__ = ["Game"]

from collections.abc import Callable
from typing import Any

import attrs

from flagfall.tasks.vgdl.definition import GameDefinition
from flagfall.tasks.vgdl.engine.state.play_memory import PlayMemory
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind
from flagfall.tasks.vgdl.engine.state.tables import Contact, Contacts, Effect, Pair, Termination
from flagfall.tasks.vgdl.engine.state.timers import TimerPlan


@attrs.define(eq=False)
class Game:
    """A game that can be played any number of times; see `flagfall.tasks.vgdl.engine.compiler`.

    Constant once compiled, except for `openings`.

    Attributes:
        definition: as read.
        kinds: by type.
        updates: (rank, type, update) of all types that are updated, in order.
        pairs: pairs of types with effects, in order.
        edges: (types, effects) of each line about the screen's edge.
        watched_edges: by type, whether the edge has an effect on it.
        timer_plans: the timers.
        terminations: in file order.
        avatar_types: types among which a level's avatar is searched, in order.
        flags, pulls: number of flags and of pulling effects in a `PlayMemory`.
        ground_pairs: pairs with which sprites detect the ground.
        broad_phase_all: what touching sprites of two types make due.
        broad_phase_seekers: the same, for types that search their surroundings when they move.
        broad_phase_avatars: all types of avatars; they search their surroundings in every tick.
        broad_phase_layers: by type, the layer of the grid in which its sprites are entered.
        broad_phase_searched: by type, the layers in which there may be something that its sprites can touch.
        broad_phase_cells: by type, whether its sprites are entered in cells of the grid.
        broad_phase_rows: by type, whether its sprites are entered in rows of the grid.
        broad_phase_crowds: (type of avatars, type that is not entered in cells, what they make due).
        barriers: by type, the types that only step it back, see `flagfall.tasks.vgdl.engine.rules.barriers`.
        openings: plays at their first tick, which `flagfall.tasks.vgdl.engine.lifecycle.start` copies.
    """

    definition: GameDefinition
    kinds: tuple[SpriteKind, ...]
    updates: list[tuple[int, int, Callable[..., None]]] = attrs.field(factory=list)
    pairs: list[Pair] = attrs.field(factory=list)
    edges: list[tuple[tuple[int, ...], list[Effect]]] = attrs.field(factory=list)
    watched_edges: list[bool] = attrs.field(factory=list)
    timer_plans: list[TimerPlan] = attrs.field(factory=list)
    terminations: list[Termination] = attrs.field(factory=list)
    avatar_types: tuple[int, ...] = ()
    flags: int = 0
    pulls: int = 0
    ground_pairs: list[Pair] = attrs.field(factory=list)
    broad_phase_all: Contacts = ()
    broad_phase_seekers: Contacts = ()
    broad_phase_avatars: tuple[int, ...] = ()
    broad_phase_layers: list[int] = attrs.field(factory=list)
    broad_phase_searched: list[tuple[int, ...]] = attrs.field(factory=list)
    broad_phase_cells: list[bool] = attrs.field(factory=list)
    broad_phase_rows: list[bool] = attrs.field(factory=list)
    broad_phase_crowds: list[tuple[int, int, Contact]] = attrs.field(factory=list)
    barriers: list[frozenset[int]] = attrs.field(factory=list)
    openings: list[Any] = attrs.field(factory=list)

    def subtypes(self, type_id: int | None) -> tuple[int, ...]:
        """Return the types that count as this one; none for `None`.

        Args:
            type_id: the type.
        """
        return () if type_id is None else self.definition.types[type_id].subtypes

    def new_flag(self) -> int:
        """Reserve a flag of the memory for an effect, and return its index; only while compiling."""
        self.flags += 1
        return self.flags - 1

    def new_pull(self) -> int:
        """Reserve an entry of `PlayMemory.pulls` for an effect, and return its key; only while compiling."""
        self.pulls += 1
        return self.pulls - 1

    def new_memory(self) -> PlayMemory:
        """Return the memory of a first play."""
        messages = [notice.text for notice in self.definition.notices if notice.logged]
        return PlayMemory(self.timer_plans, self.flags, messages)
