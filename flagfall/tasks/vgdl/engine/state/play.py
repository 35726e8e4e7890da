"""A play: one level of a game, from its first tick to its last."""

from __future__ import annotations

__all__ = ["LAST_TICK", "MAX_SPRITES", "Play"]

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.actions import ESCAPE, NIL
from flagfall.tasks.vgdl.definition import Place
from flagfall.tasks.vgdl.engine import serialization
from flagfall.tasks.vgdl.engine.rules.collisions import collide, find_contacts
from flagfall.tasks.vgdl.engine.rules.screen_edge import check_edges
from flagfall.tasks.vgdl.engine.rules.terminations import judge
from flagfall.tasks.vgdl.engine.rules.timers import run_timers
from flagfall.tasks.vgdl.engine.state.grid import Cells, enter_first, leave
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.pathfinder import PathFinder
from flagfall.tasks.vgdl.engine.state.session import MAX_MESSAGES, Session
from flagfall.tasks.vgdl.engine.state.sprite import FROM_AVATAR, Sprite, build
from flagfall.tasks.vgdl.engine.state.work_limit import TooMuchEffortError, spend
from flagfall.tasks.vgdl.engine.trace_snapshot import Snapshot, changes, snapshot
from flagfall.tasks.vgdl.language.errors import GameError

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.definition import LevelDefinition
    from flagfall.tasks.vgdl.engine.game import Game

LAST_TICK: Final = 2000
"""A play ends in this tick at the latest, and is lost if it is not won."""

MAX_SPRITES: Final = 10000
"""With more sprites than these, no more are made."""

NO_WINNER: Final = -1
WON: Final = 1
LOST: Final = 0

_MOVABLE: Final = 6
_SIDEWAYS: Final = 3
"""With this many actions, the path finder knows only left and right."""

_AFTER_ALL: Final = 1 << 30


class Play:
    """One play.

    Made by `Game.start`.

    Attributes:
        game, level: what is played.
        block_size: pixels a cell.
        width, height: cells.
        screen: (width, height) in pixels.
        random: what everything is drawn from.
        session: what would outlive this play.
        tick: the current cycle; -1 before the first.
        over: nothing happens any more.
        winner: -1 nobody, 1 won, 0 lost.
        score: so far.
        avatar: who is asked; `None` once it has been removed.
        last_action: what it did.
        groups: by type, its sprites in the order of their birth.
        moved: sprites whose rectangle may be another than at the start of the cycle.
        born, died: sprites made and removed in the last cycle, in order.
        killed: sprites that are removed at the end of this cycle.
        touched: sprites to be looked at for collisions.
        contacts: sprites that touched something when they were looked at last.
        effort: what this cycle has cost so far.
        near_edge: sprites that may be not wholly on the screen, where that matters.
    """

    __slots__ = (
        "_kills",
        "_left_with",
        "_walking",
        "aborted",
        "agenda",
        "avatar",
        "block_size",
        "born",
        "cells",
        "contacts",
        "counted",
        "counters",
        "died",
        "disabled",
        "due",
        "effort",
        "game",
        "groups",
        "height",
        "killed",
        "last_action",
        "level",
        "moved",
        "near_edge",
        "over",
        "paths",
        "population",
        "random",
        "score",
        "screen",
        "session",
        "shields",
        "stale",
        "templates",
        "tick",
        "touched",
        "width",
        "winner",
    )

    def __init__(
        self, game: Game, level: LevelDefinition, seed: int, block_size: int, session: Session
    ) -> None:
        self.game = game
        self.level = level
        self.block_size = block_size
        self.width = level.width
        self.height = level.height
        self.screen = (level.width * block_size, level.height * block_size)
        self.random = JavaRandom(seed)
        self.session = session
        self.tick = -1
        self.over = False
        self.winner = NO_WINNER
        self.score: float = 0
        self.last_action = NIL
        self.counters = [0] * game.definition.counters
        self.templates: list[Sprite | None] = [None] * len(game.kinds)
        self.stale: list[Sprite] = []
        self.disabled: list[Sprite] = []
        self.population = 0
        self.counted = True
        self.aborted = False
        self.clear_cells()
        self.clear_cycle()
        for notice in level.notices:
            if notice.logged:
                self.warn(str(notice))
        try:
            self._populate()
            find_contacts(self)
        except TooMuchEffortError as reason:
            raise GameError(Place(level.name, 1), f"too much stands in one place: {reason}") from None
        self.avatar = self._find_avatar()
        if self.avatar is not None:
            self.stale.remove(self.avatar)
        self.paths = self._find_paths()
        self.born.clear()

    def clear_cells(self) -> None:
        """Take away all sprites."""
        self.groups: list[list[Sprite]] = [[] for _ in self.game.kinds]
        self.cells: Cells = {}
        self.moved: set[Sprite] = set()
        self.touched: set[Sprite] = set()
        self.contacts: set[Sprite] = set()
        self.near_edge: set[Sprite] = set()

    def clear_cycle(self) -> None:
        """Forget what belongs to a cycle that has ended."""
        self.born: list[Sprite] = []
        self.died: list[Sprite] = []
        self.killed: set[Sprite] = set()
        self._kills: list[Sprite] = []
        self._left_with: dict[Sprite, float] = {}
        self.effort = 0
        self._walking = _AFTER_ALL
        self.shields: set[tuple[int, int, str]] = set()
        self.due = 0
        self.agenda: list[set[Sprite]] = [set() for _ in self.game.pairs]

    # The cycle.

    def advance(self, action: str) -> None:
        """One whole cycle. Nothing happens once the play is over.

        Args:
            action: what the avatar is to do, `actions.LEFT` and so on; what it cannot do counts as `NIL`.
                `ESCAPE` ends the play with no winner. So does a cycle that costs too much, with a message.
        """
        if self.over:
            return
        try:
            self._cycle(action)
        except (TooMuchEffortError, ArithmeticError) as reason:
            self._break_off(str(reason))

    def _cycle(self, action: str) -> None:
        self.begin_cycle()
        self.update(action)
        self.touched |= self.moved
        if self.session.timers:
            run_timers(self)
        if self.near_edge:
            check_edges(self)
        collide(self)
        self.bury()
        self.finish()

    def _break_off(self, reason: str) -> None:
        """End the play in the middle of a cycle, with no winner: this game cannot be played on."""
        self.warn(reason)
        born = self.born
        self.clear_cycle()
        self.born = born
        self.over = True

    def begin_cycle(self) -> None:
        """Where things are now is where they were when the cycle began; dead avatars do not notice."""
        self.tick += 1
        self.effort = 0
        self._walking = -1
        self.born = []
        self.died = []
        if self.stale:
            stale = set(self.stale)
            still = self.moved & stale
            for sprite in self.moved - stale:
                sprite.last_x = sprite.x
                sprite.last_y = sprite.y
            self.moved = still
            for sprite in self.stale:
                sprite.moved_at += 1
        else:
            for sprite in self.moved:
                sprite.last_x = sprite.x
                sprite.last_y = sprite.y
            self.moved = set()

    def update(self, action: str) -> None:
        """The avatar does what it is asked to, then everything else what it does by itself."""
        avatar = self.avatar
        if avatar is not None and not avatar.disabled:
            kind = avatar.kind
            if action == ESCAPE:
                self.aborted = True
            elif action not in kind.actions:
                action = NIL
            self.last_action = action
            assert kind.act is not None  # every avatar has one
            kind.act(self, avatar, action)
        groups = self.groups
        for rank, type_id, update in self.game.walk:
            group = groups[type_id]
            if group:
                self._walking = rank
                update(self, group)
        self._walking = _AFTER_ALL

    def bury(self) -> None:
        """Remove the dead."""
        if self.shields:
            self.shields = set()
        if not self._kills:
            return
        self.population -= len(self._kills)
        for sprite in dict.fromkeys(self._kills):
            self.groups[sprite.type].remove(sprite)
            leave(self.cells, sprite)
            for places in (self.moved, self.contacts, self.near_edge, self.touched):
                places.discard(sprite)
            if sprite in self.stale:
                self.stale.remove(sprite)
            if sprite in self.disabled:
                self.disabled.remove(sprite)
            if sprite is self.avatar:
                self.avatar = None
            self.died.append(sprite)
        self._kills = []
        self._left_with = {}
        self.killed = set()
        self.counted = True

    def finish(self) -> None:
        """See whether the play is over."""
        if self.aborted:
            self.over = True
        else:
            won = judge(self, self.game.terminations, counted=self.counted)
            self.counted = False
            if won is not None:
                self.over = True
                self.winner = WON if won else LOST
            if len(self.session.messages) > MAX_MESSAGES:
                self.session.messages.clear()
                self.over = True
        if self.tick >= LAST_TICK:
            self.over = True
            if self.winner != WON:
                self.winner = LOST

    # What effects and updates do to the play.

    def add(self, type_id: int, x: float, y: float, *, forced: bool = False) -> Sprite | None:
        """Make a sprite, or refuse to.

        Args:
            type_id: its type.
            x: the left of its rectangle in pixels; cut to whole ones.
            y: the top of it, the same.
            forced: even where its type is a singleton that there is already.

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
            template = self.first_of(type_id)
            sprite = template.copy()
            template.original = False
        else:
            sprite = template.copy()
        if self.tick >= 0:
            spend(self, 1)
        sprite.id = self.session.next_id
        self.session.next_id += 1
        sprite.x = sprite.last_x = int(x)
        sprite.y = sprite.last_y = int(y)
        if kind.rank is None:
            self.stale.append(sprite)
            sprite.moved_at = self.tick
        else:
            sprite.moved_at = self.tick - 1 if kind.rank > self._walking else self.tick
        groups[type_id].append(sprite)
        self.population += 1
        self.counted = True
        self.born.append(sprite)
        self.touched.add(sprite)
        enter_first(self, sprite)
        return sprite

    def kill(self, sprite: Sprite, *, transformed: bool = False) -> None:
        """Let a sprite die at the end of the cycle; an avatar is only disabled, unless it was transformed."""
        if sprite.kind.is_avatar and not transformed:
            if not sprite.disabled:
                sprite.disabled = True
                self.disabled.append(sprite)
                self.counted = True
                if sprite not in self.stale:
                    self.stale.append(sprite)
        else:
            spend(self, 1)
            self._kills.append(sprite)
            self.killed.add(sprite)

    def set_avatar(self, old: Sprite, new: Sprite) -> None:
        """Let another sprite be the avatar in place of one that is, or has been earlier in this cycle.

        The score goes with the avatar: what was won after the old one had been replaced is lost.
        """
        if self.avatar is not None:
            self._left_with[self.avatar] = self.score
            if self.avatar not in self.stale:
                self.stale.append(self.avatar)
        self.score = self._left_with.get(old, self.score)
        self.avatar = new
        self.stale.remove(new)

    def mark_fired(self, sprite: Sprite) -> None:
        """Note that the avatar made this sprite."""
        if sprite.category == _MOVABLE:
            sprite.category = FROM_AVATAR

    def add_counts(self, counts: Sequence[int]) -> None:
        """Add to the counters."""
        for at, count in enumerate(counts[: len(self.counters)]):
            self.counters[at] += count

    def warn(self, message: str) -> None:
        """Log a message; too many of them end the play."""
        if len(self.session.messages) <= MAX_MESSAGES:
            self.session.messages.append(message)

    # What others ask.

    def count(self, types: Sequence[int]) -> int:
        """How many sprites there are of some types, the dead of this cycle and the disabled included."""
        groups = self.groups
        return sum([len(groups[type_id]) for type_id in types])

    def alive(self, types: Sequence[int]) -> int:
        """The same without the disabled."""
        counted = self.count(types)
        if self.disabled:
            counted -= sum([sprite.type in types for sprite in self.disabled])
        return counted

    @property
    def available_actions(self) -> tuple[str, ...]:
        """What the avatar can be asked to do."""
        return () if self.avatar is None else self.avatar.kind.actions

    @property
    def messages(self) -> Sequence[str]:
        """What the original would have logged."""
        return self.session.messages

    @property
    def final_score(self) -> float:
        """The score as results are printed: a win brings at least 1."""
        return 1 if self.winner == WON and self.score <= 0 else self.score

    def snapshot(self, previous: Snapshot | None = None) -> Snapshot:
        """Where everything is, in the form of the recorded traces.

        Args:
            previous: an earlier whole snapshot; then only types that have changed since are told.
        """
        whole = snapshot(self)
        return whole if previous is None else changes(previous, whole)

    # Copies.

    def fork(self) -> Play:
        """A play in the same state, to try things out in; it knows nothing of this one."""
        return serialization.fork(self, Play.__new__(Play))

    def key(self) -> tuple[Any, ...]:
        """The state as a hashable value: plays with equal keys go on equally."""
        return serialization.key(self)

    def dump(self) -> bytes:
        """The state as bytes, for `Game.load`."""
        return serialization.dump(self)

    # How it begins.

    def first_of(self, type_id: int) -> Sprite:
        """The first sprite of a type; the words that its class does not know are messages now."""
        kind = self.game.kinds[type_id]
        sprite_type = self.game.definition.types[type_id]
        if sprite_type.kind is None:
            place = sprite_type.place or Place(self.game.definition.name, 1)
            raise GameError(place, f"{kind.name!r} has no class, so no sprite can be made of it")
        for word in kind.unknown:
            self.warn(f"unknown field {word} of {kind.name}")
        template = self.templates[type_id] = build(kind, self.block_size)
        return template

    def _populate(self) -> None:
        """Make what the level has. Avatars after the first are made and at once removed: they count."""
        played = False
        for column, row, type_id in self.level.sprites:
            if played and self.game.kinds[type_id].is_avatar:
                if self.templates[type_id] is None:
                    self.first_of(type_id).original = False
                self.session.next_id += 1
            else:
                self.add(type_id, column * self.block_size, row * self.block_size)
                played = played or self.game.kinds[type_id].is_avatar

    def _find_avatar(self) -> Sprite | None:
        for type_id in self.game.avatars:
            if self.groups[type_id]:
                return self.groups[type_id][-1]
        return None

    def _find_paths(self) -> PathFinder | None:
        """The ways of this level, where the game wants any."""
        obstacles = self.game.definition.obstacles
        if obstacles is None:
            return None
        block = self.block_size
        kinds = self.game.kinds
        blocked = {
            (sprite.x // block, sprite.y // block)
            for type_id in obstacles
            if not kinds[type_id].parameters.get("hidden")
            for sprite in self.groups[type_id]
        }
        return PathFinder(self.width, self.height, blocked, sideways=len(self.available_actions) == _SIDEWAYS)
