"""A compiled game: tables of what is updated when, and of which types have effects on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from flagfall.tasks.vgdl.definition import GameDefinition
from flagfall.tasks.vgdl.engine.state.sprite import Constant, SpriteKind

# The work of one cycle is bounded, so that no game description can stall its host. The original has no such
# bound: a game that doubles its sprites with each effect hangs it.

MAX_WORK: Final = 300_000
"""Sprites made, killed, examined or looped over in one cycle. The public games stay below 10,000."""

MAX_TIMERS: Final = 10_000
"""Pending timers. The public games stay below 20."""

LARGE_GROUP: Final = 32
"""Cells and groups of at most this many sprites are not charged: counting them would cost too much."""


class WorkLimitExceeded(Exception):
    """A cycle needs too much work; the play ends."""


@dataclass(eq=False, repr=False, slots=True)
class WorkLimit:
    """The work of one play in the current cycle.

    Attributes:
        used: units of work so far, one a sprite.
    """

    used: int = 0

    def charge(self, work: int) -> None:
        """Add some work to the current cycle.

        Raises:
            WorkLimitExceeded: the cycle has used more than `MAX_WORK`.
        """
        self.used += work
        if self.used > MAX_WORK:
            raise WorkLimitExceeded(f"more than {MAX_WORK} steps in one cycle")


Effect: TypeAlias = Callable[..., int]
"""`effect(play, first, second)` runs an effect and returns the change of the score. Which of the two sprites
may be `None` is a trait of the effect (`flagfall.tasks.vgdl.language.schema.Needs`); in a batch, `second` is
a list."""

Contact: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Pairs that two touching sprites of two types make due: their indices as bits; the indices in which the one
type is first; those in which the other is."""

Contacts: TypeAlias = Sequence[Sequence[Contact | None] | None]
"""By type, then by the other type; `None` for types without effects on each other."""


@dataclass(frozen=True, eq=False, slots=True)
class EffectLine:
    """One line of the InteractionSet, as its effect reads it.

    Attributes:
        parameters: by key, converted; defaults filled in.
        inner: the effect that an `addTimer` runs later.
    """

    score: int
    parameters: Mapping[str, Any]
    inner: Effect | None = None


@dataclass(eq=False, slots=True)
class Rule:
    """One effect of a pair.

    Attributes:
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


@dataclass(eq=False, slots=True)
class Pair:
    """Two types as the game names them, and their effects in order.

    Attributes:
        first, second: types as written.
        first_ranks: by type, its position among the first types; `None` for others.
        second_ranks: by type, its position among the second types; `None` for others.
        several_firsts, several_seconds: there is more than one such type.
        disjoint: no type is both first and second.
        ground_sensors: first types that detect whether they stand on something.
        ground_types: second types that are solid.
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class SideEffects:
    """Types whose sprites a game's effects can change.

    Attributes:
        sped: their speed can change.
        turned: they can become oriented.
        changed: anything of them can change.
    """

    sped: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)


@dataclass(frozen=True, eq=False, slots=True)
class TimerPlan:
    """Constant part of a timer.

    Attributes:
        types: types over whose sprites it runs, in order; `None` if it runs once and without a sprite.
        effect: run for each sprite; its own change of the score is ignored.
        score: change of the score by each run.
        period: ticks between runs.
        first: tick of the first run, for a timer of the level.
    """

    index: int
    types: tuple[int, ...] | None
    effect: Effect
    score: int
    period: int
    repeats: bool
    first: int = -1
    enabled: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Timer(Constant):
    """A plan, and the tick from which on it is due."""

    due: int
    plan: TimerPlan


def schedule(timers: list[Timer], timer: Timer) -> None:
    """Insert a timer, before those that are due at the same tick.

    Args:
        timers: pending ones, by due time.

    Raises:
        WorkLimitExceeded: `MAX_TIMERS` are pending.
    """
    if len(timers) >= MAX_TIMERS:
        raise WorkLimitExceeded(f"more than {MAX_TIMERS} timers are waiting")
    at = 0
    while at < len(timers) and timers[at].due < timer.due:
        at += 1
    timers.insert(at, timer)


MAX_MESSAGES: Final = 25
"""With more messages than these, the original ends the play."""


@dataclass(eq=False, repr=False, slots=True)
class PlayMemory:
    """State carried over from play to play: the learning track reads a game once and plays all its levels.

    The original keeps between levels whatever belongs to its parsed game and not to its level. All of it is
    here, so a play with a new memory starts like the first one.

    Attributes:
        next_id: number of the next sprite.
        timers: pending timers, by due time.
        flags: the flags of effects that remember whether their score applied.
        pulls: by pulling effect, the tick of its last pull and the sprites pulled in that tick.
        messages: lines that the original would have logged and not yet cleared.
        can_end: counters may end the game.
    """

    messages: list[str]
    flags: list[bool]
    timers: list[Timer] = field(default_factory=list)
    pulls: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    next_id: int = 0
    can_end: bool = True

    def copy(self) -> PlayMemory:
        """Return an independent memory in the same state."""
        own = self.messages.copy(), self.flags.copy(), self.timers.copy(), self.pulls.copy()
        return PlayMemory(*own, self.next_id, self.can_end)


@dataclass(eq=False, slots=True)
class Game(Constant):
    """A game that can be played any number of times; see `flagfall.tasks.vgdl.engine.compiler`.

    Constant once compiled, except for `openings` and `views`.

    Attributes:
        updates: (rank, type, update) of all types that are updated, in order.
        pairs: pairs of types with effects, in order.
        edges: (types, effects) of each line about the screen's edge.
        watched_edges: by type, whether the edge has an effect on it.
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
        barriers: by type, the types that only step it back, see `flagfall.tasks.vgdl.engine.rules`.
        openings: plays at their first tick, which `flagfall.tasks.vgdl.engine.cycle.start` copies.
        views: by function, what views have prepared, see `flagfall.tasks.vgdl.views.cells.per_game`.
    """

    definition: GameDefinition
    kinds: tuple[SpriteKind, ...]
    updates: list[tuple[int, int, Callable[..., None]]] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    edges: list[tuple[tuple[int, ...], list[Effect]]] = field(default_factory=list)
    watched_edges: list[bool] = field(default_factory=list)
    timer_plans: list[TimerPlan] = field(default_factory=list)
    terminations: list[Termination] = field(default_factory=list)
    avatar_types: tuple[int, ...] = ()
    flags: int = 0
    pulls: int = 0
    ground_pairs: list[Pair] = field(default_factory=list)
    broad_phase_all: Contacts = ()
    broad_phase_seekers: Contacts = ()
    broad_phase_avatars: tuple[int, ...] = ()
    broad_phase_layers: list[int] = field(default_factory=list)
    broad_phase_searched: list[tuple[int, ...]] = field(default_factory=list)
    broad_phase_cells: list[bool] = field(default_factory=list)
    broad_phase_rows: list[bool] = field(default_factory=list)
    broad_phase_crowds: list[tuple[int, int, Contact]] = field(default_factory=list)
    barriers: list[frozenset[int]] = field(default_factory=list)
    openings: list[Any] = field(default_factory=list)
    views: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def subtypes(self, type_id: int | None) -> tuple[int, ...]:
        """Return the types that count as this one; none for `None`."""
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
        memory = PlayMemory(messages, [True] * self.flags)
        for plan in self.timer_plans:
            if plan.types is not None:
                schedule(memory.timers, Timer(plan.first, plan))
        return memory
