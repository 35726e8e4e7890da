"""State of a play, and the basic changes to it: sprites made and killed, counters, messages.

A play is made by `flagfall.tasks.vgdl.engine.cycle.start` and moved on by
`flagfall.tasks.vgdl.engine.cycle.advance`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.definition import NIL, LevelDefinition, SourcePosition
from flagfall.tasks.vgdl.engine.state.game import MAX_MESSAGES, Game, PlayMemory, WorkLimit
from flagfall.tasks.vgdl.engine.state.grid import Grid, PathFinder
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.sprite import FROM_AVATAR, Sprite, build
from flagfall.tasks.vgdl.language.values import GameError

MAX_SPRITES: Final = 10000
"""With more sprites than these, no more are made."""

NO_WINNER: Final = -1
LOST: Final = 0
WON: Final = 1

UPDATES_OVER: Final = 1 << 30
"""Value of `Play.updating` outside of updates: higher than any rank."""

PLAIN_FIELDS: Final = ("tick", "over", "winner", "score", "last_action", "population", "counted", "aborted")
"""Fields of a play whose values are plain numbers, texts and flags: copied and stored as they are."""

_MOVABLE: Final = 6


@dataclass(eq=False, repr=False, slots=True)
class Play:
    """State of one play of one level.

    Attributes:
        block_size: pixels a cell.
        memory: the memory of an earlier play, or a new one.
        width, height: in cells.
        screen: (width, height) in pixels.
        tick: current cycle; -1 before the first.
        winner: `NO_WINNER`, `WON` or `LOST`.
        aborted: the avatar has chosen `ESCAPE`.
        avatar: sprite that is controlled; `None` once it has been removed.
        last_action: the last action of the avatar.
        groups: by type, its sprites in the order of birth.
        templates: by type, a sprite to copy; `None` until the first is made.
        paths: path finder of the level; `None` if the game uses none.
        grid: spatial grid of the sprites.
        moved: sprites whose rectangle may differ from that at the start of the cycle.
        touched: sprites whose surroundings are to be searched for collisions.
        contacts: sprites that touched another one when their surroundings were last searched.
        born, died: sprites made and removed in the last cycle, in order.
        kills: sprites killed in this cycle, once for each kill.
        killed: sprites that are removed at the end of this cycle.
        idle: sprites that are not updated: their last position stays, and they never rest.
        counted: something was born or has died since the terminations were last tested.
        scores_left: score at the time when a sprite stopped being the avatar, in this cycle.
        updating: rank of the type that is updated now.
        shields: (first type, second type, effect) that are off for the rest of the tick.
        due: pairs that are to be run, as bits.
        agenda: by pair, the first sprites for which it is run, and the second ones that each may touch.
    """

    game: Game
    level: LevelDefinition
    block_size: int
    random: JavaRandom
    memory: PlayMemory
    width: int = field(init=False)
    height: int = field(init=False)
    screen: tuple[int, int] = field(init=False)
    tick: int = -1
    over: bool = False
    winner: int = NO_WINNER
    score: int = 0
    counters: list[int] = field(init=False)
    aborted: bool = False
    avatar: Sprite | None = None
    last_action: str = NIL
    groups: list[list[Sprite]] = field(init=False)
    population: int = 0
    templates: list[Sprite | None] = field(init=False)
    paths: PathFinder | None = None
    grid: Grid = field(init=False)
    moved: set[Sprite] = field(init=False)
    touched: set[Sprite] = field(init=False)
    contacts: set[Sprite] = field(init=False)
    born: list[Sprite] = field(init=False)
    died: list[Sprite] = field(init=False)
    kills: list[Sprite] = field(init=False)
    killed: set[Sprite] = field(init=False)
    disabled: list[Sprite] = field(default_factory=list)
    idle: list[Sprite] = field(default_factory=list)
    counted: bool = True
    scores_left: dict[Sprite, int] = field(init=False)
    updating: int = field(init=False)
    shields: set[tuple[int, int, str]] = field(init=False)
    due: int = field(init=False)
    agenda: list[dict[Sprite, set[Sprite]]] = field(init=False)
    work: WorkLimit = field(default_factory=WorkLimit)

    def __post_init__(self) -> None:
        game, level, block = self.game, self.level, self.block_size
        self.width, self.height = level.width, level.height
        self.screen = (level.width * block, level.height * block)
        self.counters = [0] * game.definition.counters
        self.templates = [None] * len(game.kinds)
        self.grid = Grid(
            level.width,
            level.height,
            block,
            game.broad_phase_layers,
            game.broad_phase_cells,
            game.broad_phase_rows,
            game.watched_edges,
            self.work,
        )
        self.clear_sprites()
        self.clear_cycle()

    def clear_sprites(self) -> None:
        """Remove all sprites from groups, grid and collision detection."""
        self.groups = [[] for _ in self.game.kinds]
        self.grid.clear()
        self.moved = set()
        self.touched = set()
        self.contacts = set()

    def clear_cycle(self) -> None:
        """Reset the state that belongs to one cycle."""
        self.born = []
        self.died = []
        self.kills = []
        self.killed = set()
        self.scores_left = {}
        self.updating = UPDATES_OVER
        self.shields = set()
        self.due = 0
        self.agenda = [defaultdict(set) for _ in self.game.pairs]
        self.work.used = 0

    # Sprites.

    def add(self, type_id: int, x: float, y: float, *, forced: bool = False) -> Sprite | None:
        """Make a sprite; return `None` if there are too many, or one of a singleton type already.

        Args:
            x: left of its rectangle in pixels; truncated to an integer.
            y: top of its rectangle in pixels; truncated to an integer.
            forced: ignore that its type is a singleton.

        Raises:
            GameError: its type has no class.
        """
        if self.population > MAX_SPRITES:
            self.warn("too many sprites")
            return None
        groups = self.groups
        kind = self.game.kinds[type_id]
        if not forced:
            for types in kind.singletons:
                if any(groups[other] for other in types):
                    return None
        template = self.templates[type_id]
        if template is None:
            template = self.make_template(type_id)
            sprite = template.copy()
            template.is_first = False
        else:
            sprite = template.copy()
        if self.tick >= 0:
            self.work.charge(1)
        sprite.id = self.memory.next_id
        self.memory.next_id += 1
        sprite.x = sprite.last_x = int(x)
        sprite.y = sprite.last_y = int(y)
        if kind.rank is None:
            self.idle.append(sprite)
            sprite.moved_at = self.tick
        else:
            sprite.moved_at = self.tick - 1 if kind.rank > self.updating else self.tick
        groups[type_id].append(sprite)
        self.population += 1
        self.counted = True
        self.born.append(sprite)
        self.touched.add(sprite)
        self.grid.enter_first(sprite)
        return sprite

    def make_template(self, type_id: int) -> Sprite:
        """Build the sprite that all sprites of a type are copied from, and log the unknown keys of its line.

        Raises:
            GameError: the type has no class.
        """
        kind = self.game.kinds[type_id]
        sprite_type = self.game.definition.types[type_id]
        if sprite_type.kind is None:
            place = sprite_type.place or SourcePosition(self.game.definition.name, 1)
            raise GameError(place, f"{kind.name!r} has no class, so no sprite can be made of it")
        for word in kind.unknown:
            self.warn(f"unknown field {word} of {kind.name}")
        template = self.templates[type_id] = build(kind, self.block_size)
        return template

    def kill(self, sprite: Sprite, *, transformed: bool = False) -> None:
        """Remove a sprite at the end of the cycle; an avatar is only disabled, unless it is transformed.

        Args:
            transformed: another sprite takes its place.
        """
        if sprite.kind.is_avatar and not transformed:
            if not sprite.disabled:
                sprite.disabled = True
                self.disabled.append(sprite)
                self.counted = True
                if sprite not in self.idle:
                    self.idle.append(sprite)
        else:
            self.work.charge(1)
            self.kills.append(sprite)
            self.killed.add(sprite)

    def set_avatar(self, old: Sprite, new: Sprite) -> None:
        """Replace the avatar, together with its score: later gains of the old avatar are lost.

        Args:
            old: the avatar, or a sprite that was the avatar earlier in this cycle.
        """
        if self.avatar is not None:
            self.scores_left[self.avatar] = self.score
            if self.avatar not in self.idle:
                self.idle.append(self.avatar)
        self.score = self.scores_left.get(old, self.score)
        self.avatar = new
        self.idle.remove(new)

    def mark_fired(self, sprite: Sprite) -> None:
        """Record that the avatar fired a sprite."""
        if sprite.category == _MOVABLE:
            sprite.category = FROM_AVATAR

    # Counters and messages.

    def add_counts(self, counts: Sequence[int]) -> None:
        """Add to the game's counters.

        Args:
            counts: one for each counter; further ones are ignored.
        """
        for at, count in enumerate(counts[: len(self.counters)]):
            self.counters[at] += count

    def warn(self, message: str) -> None:
        """Log a message; more than `MAX_MESSAGES` end the play."""
        if len(self.memory.messages) <= MAX_MESSAGES:
            self.memory.messages.append(message)

    # Queries.

    def count(self, types: Sequence[int]) -> int:
        """Return the number of sprites, including the disabled and those killed in this cycle."""
        groups = self.groups
        return sum([len(groups[type_id]) for type_id in types])

    def count_alive(self, types: Sequence[int]) -> int:
        """Return the number of sprites that are not disabled."""
        counted = self.count(types)
        if self.disabled:
            counted -= sum([sprite.type in types for sprite in self.disabled])
        return counted

    def count_types(self, types: Sequence[int]) -> int:
        """Return how many of some types have sprites that are not disabled."""
        subtypes = self.game.subtypes
        return sum(
            [bool(self.groups[type_id]) and self.count_alive(subtypes(type_id)) > 0 for type_id in types]
        )

    @property
    def available_actions(self) -> tuple[str, ...]:
        """Actions of the avatar."""
        return () if self.avatar is None else self.avatar.kind.actions

    @property
    def messages(self) -> Sequence[str]:
        """Lines that the original would have logged."""
        return self.memory.messages

    @property
    def final_score(self) -> int:
        """The score as results are printed: at least 1 for a win."""
        return 1 if self.winner == WON and self.score <= 0 else self.score


Update: TypeAlias = Callable[[Play, Sequence[Sprite]], None]
"""Behaviour of all sprites of a type in a tick, one after another."""

Act: TypeAlias = Callable[[Play, Sprite, str], object]
"""Behaviour of the avatar in a tick: takes an action of its kind, or `NIL`. The result is not used."""

Test: TypeAlias = Callable[[Play], bool]
"""Condition of a termination."""
