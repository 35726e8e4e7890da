"""A game, compiled: tables that say what updates when and which types have what effects on each other."""

from __future__ import annotations

__all__ = ["Game"]

from collections.abc import Sequence

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import (
    EffectContext,
    EffectRule,
    GameDefinition,
    LevelDefinition,
)
from flagfall.tasks.vgdl.engine.effects.registry import (
    can_take_all,
    compile_effect,
    find_changes,
    is_quiet,
    takes_all,
)
from flagfall.tasks.vgdl.engine.rules.collisions import Effect, Meeting, Pair, Rule
from flagfall.tasks.vgdl.engine.rules.terminations import compile_termination
from flagfall.tasks.vgdl.engine.rules.timers import TimerPlan
from flagfall.tasks.vgdl.engine.serialization import load
from flagfall.tasks.vgdl.engine.sprites.registry import compile_kinds
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.session import Session
from flagfall.tasks.vgdl.engine.state.sprite import Update

_LARGEST_SCREEN = 800
_SMALLEST_BLOCK = 2

_OPENINGS = 8
"""Of so many levels the beginning is kept; a public game has five."""


class Game:
    """A game, ready to be played any number of times. Nothing in it changes, but it keeps how levels begin.

    Args:
        definition: the game, as read.

    Raises:
        GameError: a sprite is too large.

    Attributes:
        definition: as given.
        kinds: by type.
        walk: (rank, type, update) of all types that do something by themselves, in their order.
        pairs: the pairs of types that have effects, in order.
        meetings: by type, then by other type, the pairs that a sprite of each makes due; `None` for none.
        seekers: the same for those that have to look around themselves when they move.
        entered: by type, whether its sprites are entered in cells.
        asked: by type, the types that it may meet of which either is not.
        crowds: (type of avatars, type that is not, meeting).
        standing: pairs that tell a sprite whether it stands on something.
        edges: (types, effects) for each line about the edge of the screen.
        watched_edges: by type, whether the edge means anything to it.
        plans: the timers.
        terminations: in file order.
        avatars: the types that the avatar is looked for in, in that order.
        lookers: all types of avatars; they look around in every tick.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self.definition = definition
        self.kinds = compile_kinds(definition, find_changes(definition))
        self.walk: list[tuple[int, int, Update]] = sorted(
            [
                (kind.rank, kind.id, kind.update)
                for kind in self.kinds
                if kind.rank is not None and kind.update is not None
            ],
            key=lambda entry: entry[0],
        )
        self._openings: list[Play] = []
        self.flags = 0
        self.pulls = 0
        self.plans: list[TimerPlan] = []
        self.pairs: list[Pair] = []
        self._edge_rules: dict[int, list[Effect]] = {}
        self._edge_order: list[int] = []
        for rule in definition.rules:
            self._add_rule(rule)
        self.meetings = self._find_meetings()
        self.seekers = self._find_seekers()
        crowds = self._find_crowds()
        self.entered = [row is not None and number not in crowds for number, row in enumerate(self.meetings)]
        self.asked = self._ask(crowds)
        self.crowds = [
            (kind.id, other, meeting)
            for kind, row in zip(self.kinds, self.meetings, strict=True)
            for other, meeting in enumerate(row or ())
            if kind.is_avatar and other in crowds and meeting is not None
        ]
        self.standing = [pair for pair in self.pairs if pair.standing and pair.solid and pair.rules]
        self.edges = [(self.subtypes(type_id), self._edge_rules[type_id]) for type_id in self._edge_order]
        watched = {type_id for types, _ in self.edges for type_id in types}
        self.watched_edges = [type_id in watched for type_id in range(len(self.kinds))]
        self.terminations = [compile_termination(definition, rule) for rule in definition.terminations]
        self.avatars = self._avatar_types()
        self.lookers = tuple([kind.id for kind in self.kinds if kind.is_avatar])

    def subtypes(self, type_id: int | None) -> tuple[int, ...]:
        """The types that count as this one; none for `None`."""
        return () if type_id is None else self.definition.types[type_id].subtypes

    def new_flag(self) -> int:
        """Room in the session for an effect to remember whether its score applied."""
        self.flags += 1
        return self.flags - 1

    def session(self) -> Session:
        """What a play needs to remember from the one before it: a fresh one, that remembers nothing."""
        messages = [notice.text for notice in self.definition.notices if notice.logged]
        return Session(self.plans, self.flags, messages)

    def start(
        self, level: LevelDefinition, seed: int, block_size: int | None = None, session: Session | None = None
    ) -> Play:
        """Begin a play.

        Args:
            level: of this game.
            seed: of the one generator that everything is drawn from.
            block_size: pixels a cell, at least 1; `None` takes the game's own, or what fits the level on 800
                pixels. The learning track plays with 10. Speeds are cut to whole pixels, so it matters.
            session: of an earlier play that this one goes on from, as in the learning track.

        Raises:
            UsageError: no such block size.
        """
        if block_size is None:
            fitting = max(_SMALLEST_BLOCK, _LARGEST_SCREEN // max(level.width, level.height))
            block_size = self.definition.square_size or fitting
        if block_size < 1:
            raise UsageError(f"a cell of {block_size} pixels; 1 is the least")
        if session is not None:
            return Play(self, level, seed, block_size, session)
        play = self._opening(level, block_size).fork()
        play.random = JavaRandom(seed)
        return play

    def load(self, data: bytes) -> Play:
        """The play that `Play.dump` has written.

        Raises:
            UsageError: these are not the bytes of a dump, or of one of another game.
        """
        return load(self, data)

    def _opening(self, level: LevelDefinition, block_size: int) -> Play:
        """A play of this level that has not begun, to be forked; the last few are kept."""
        for opening in self._openings:
            if opening.level is level and opening.block_size == block_size:
                return opening
        opening = Play(self, level, 0, block_size, self.session())
        self._openings = [opening, *self._openings[: _OPENINGS - 1]]
        return opening

    def _add_rule(self, rule: EffectRule) -> None:
        enabled = bool(rule.parameters["enabled"])
        if rule.context is EffectContext.TIME:
            self._add_timer(rule, enabled=enabled)
            return
        effect = compile_effect(rule, self)
        if rule.context is EffectContext.EDGE:
            effects = self._edge_rules.setdefault(rule.first, [])
            self._edge_order.append(rule.first)
            if enabled:
                effects.append(effect)
            return
        repeat = rule.parameters["repeat"]
        assert isinstance(repeat, int)
        for second in rule.seconds:
            pair = self._pair(rule.first, second)
            at_once = takes_all(rule)
            if enabled and (not at_once or can_take_all(rule)):
                pair.rules += [Rule(rule.effect, effect, is_quiet(rule.effect), at_once)] * repeat

    def _add_timer(self, rule: EffectRule, *, enabled: bool) -> None:
        parameters = rule.parameters
        period = parameters["timer"]
        repeats = bool(parameters["repeating"])
        score = parameters["scoreChange"]
        assert isinstance(period, int)
        assert isinstance(score, int)
        first = period if parameters["nextExecution"] != -1 else -1
        effect = compile_effect(rule, self)
        types = self.subtypes(rule.first)
        self.plans.append(
            TimerPlan(len(self.plans), types, effect, score, period, repeats, first, enabled=enabled)
        )

    def _pair(self, first: int, second: int) -> Pair:
        for pair in self.pairs:
            if pair.first == first and pair.second == second:
                return pair
        firsts = self.subtypes(first)
        seconds = self.subtypes(second)
        pair = Pair(
            index=len(self.pairs),
            first=first,
            second=second,
            first_ranks=self._ranks(firsts),
            second_ranks=self._ranks(seconds),
            several_firsts=len(firsts) > 1,
            several_seconds=len(seconds) > 1,
            apart=not set(firsts) & set(seconds),
            standing=tuple([type_id for type_id in firsts if self.kinds[type_id].feels_ground]),
            solid=tuple([type_id for type_id in seconds if self.kinds[type_id].parameters.get("solid")]),
            rules=[],
        )
        self.pairs.append(pair)
        return pair

    def _ranks(self, types: Sequence[int]) -> tuple[int | None, ...]:
        ranks = {type_id: rank for rank, type_id in enumerate(types)}
        return tuple([ranks.get(type_id) for type_id in range(len(self.kinds))])

    def _find_meetings(self) -> list[list[Meeting | None] | None]:
        """For each two types the pairs that they are part of, both ways round."""
        size = len(self.kinds)
        found: list[list[tuple[list[int], list[int]]]] = [
            [([], []) for _ in range(size)] for _ in range(size)
        ]
        for pair in self.pairs:
            if not pair.rules:
                continue
            for one in self.subtypes(pair.first):
                for other in self.subtypes(pair.second):
                    found[one][other][0].append(pair.index)
                    found[other][one][1].append(pair.index)
        return [
            [_meeting(here, there) for here, there in row]
            if any(here or there for here, there in row)
            else None
            for row in found
        ]

    def _find_seekers(self) -> list[list[Meeting | None] | None]:
        """The same without the types that can meet nothing but avatars."""
        return [
            row
            if row is not None
            and (kind.is_avatar or any(row[other.id] for other in self.kinds if not other.is_avatar))
            else None
            for kind, row in zip(self.kinds, self.meetings, strict=True)
        ]

    def _find_crowds(self) -> set[int]:
        """Types that keep moving and meet nobody but avatars: not worth their cells."""
        return {
            kind.id
            for kind, row, seeks in zip(self.kinds, self.meetings, self.seekers, strict=True)
            if row is not None and seeks is None and kind.update is not None and (kind.drifts or kind.walks)
        }

    def _ask(self, crowds: set[int]) -> list[tuple[int, ...]]:
        """By type: whom it may meet without finding them in cells."""
        return [
            tuple([other for other, meeting in enumerate(row or ()) if meeting and {number, other} & crowds])
            for number, row in enumerate(self.meetings)
        ]

    def _avatar_types(self) -> tuple[int, ...]:
        """The types that the avatar is looked for in, in that order: the first in the draw order never is."""
        return tuple([type_id for type_id in self.definition.order[1:] if self.kinds[type_id].is_avatar])


def _meeting(here: Sequence[int], there: Sequence[int]) -> Meeting | None:
    if not here and not there:
        return None
    return sum(1 << index for index in {*here, *there}), tuple(here), tuple(there)
