"""The first moment of a play, and one cycle of it, step by step."""

from __future__ import annotations

from typing import Final

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import ESCAPE, NIL, LevelDefinition, SourcePosition
from flagfall.tasks.vgdl.engine.collisions import collide, find_contacts
from flagfall.tasks.vgdl.engine.rules import check_edges, judge, run_timers
from flagfall.tasks.vgdl.engine.state.game import MAX_MESSAGES, Game, PlayMemory, WorkLimit, WorkLimitExceeded
from flagfall.tasks.vgdl.engine.state.grid import PathFinder
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import LOST, PLAIN_FIELDS, UPDATES_OVER, WON, Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.language.values import GameError

LAST_TICK: Final = 2000
"""A play ends in this tick at the latest, and is lost if it is not won."""

_SIDEWAYS: Final = 3
"""With this many actions of the avatar, the path finder uses left and right only."""


def begin(game: Game, level: LevelDefinition, seed: int, block_size: int, memory: PlayMemory) -> Play:
    """Return a play before its first cycle.

    Raises:
        GameError: the level needs too much work.
    """
    play = Play(game, level, block_size, JavaRandom(seed), memory)
    for notice in level.notices:
        if notice.logged:
            play.warn(str(notice))
    try:
        _populate(play)
        find_contacts(play)
    except WorkLimitExceeded as reason:
        text = f"too many or too large sprites in one place: {reason}"
        raise GameError(SourcePosition(level.name, 1), text) from None
    groups = (play.groups[type_id] for type_id in game.avatar_types)
    play.avatar = next((group[-1] for group in groups if group), None)
    if play.avatar is not None:
        play.idle.remove(play.avatar)
    play.paths = _find_paths(play)
    play.born.clear()
    return play


def _populate(play: Play) -> None:
    """Make the sprites of the level. Avatars after the first are only counted: the original removes them."""
    has_avatar = False
    for column, row, type_id in play.level.sprites:
        is_avatar = play.game.kinds[type_id].is_avatar
        if has_avatar and is_avatar:
            if play.templates[type_id] is None:
                play.make_template(type_id).is_first = False
            play.memory.next_id += 1
        else:
            play.add(type_id, column * play.block_size, row * play.block_size)
            has_avatar = has_avatar or is_avatar


def _find_paths(play: Play) -> PathFinder | None:
    """Return the path finder of the level, if the game uses one."""
    obstacles = play.game.definition.obstacles
    if obstacles is None:
        return None
    block = play.block_size
    blocked = {
        (sprite.x // block, sprite.y // block)
        for type_id in obstacles
        if not play.game.kinds[type_id].parameters.get("hidden")
        for sprite in play.groups[type_id]
    }
    return PathFinder(play.width, play.height, blocked, sideways=len(play.available_actions) == _SIDEWAYS)


def advance(play: Play, action: str) -> None:
    """Run one cycle of a play; do nothing if it is over.

    Args:
        action: the action of the avatar, such as `flagfall.tasks.vgdl.definition.LEFT`; any other one counts
            as `NIL`. `ESCAPE` ends the play without a winner, and so does a cycle that exceeds the work
            limit, with a message.
    """
    if play.over:
        return
    try:
        _run_cycle(play, action)
    except (WorkLimitExceeded, ArithmeticError) as reason:
        _break_off(play, str(reason))


def _run_cycle(play: Play, action: str) -> None:
    begin_cycle(play)
    update(play, action)
    if play.memory.timers:
        run_timers(play)
    if play.grid.near_edge:
        check_edges(play)
    collide(play)
    remove_dead(play)
    end_cycle(play)


def _break_off(play: Play, reason: str) -> None:
    """End a play within a cycle, without a winner: the game cannot go on."""
    play.warn(reason)
    born = play.born
    play.clear_cycle()
    play.born = born
    play.over = True


def begin_cycle(play: Play) -> None:
    """Make the current positions the last ones, except for idle sprites."""
    play.tick += 1
    play.work.used = 0
    play.updating = -1
    play.born = []
    play.died = []
    if play.idle:
        idle = set(play.idle)
        still = play.moved & idle
        for sprite in play.moved - idle:
            sprite.last_x = sprite.x
            sprite.last_y = sprite.y
        play.moved = still
        for sprite in play.idle:
            sprite.moved_at += 1
    else:
        for sprite in play.moved:
            sprite.last_x = sprite.x
            sprite.last_y = sprite.y
        play.moved = set()


def update(play: Play, action: str) -> None:
    """Run the action of the avatar, then the updates of all types."""
    avatar = play.avatar
    if avatar is not None and not avatar.disabled:
        kind = avatar.kind
        if action == ESCAPE:
            play.aborted = True
        elif action not in kind.actions:
            action = NIL
        play.last_action = action
        assert kind.act is not None  # every avatar has one
        kind.act(play, avatar, action)
    groups = play.groups
    for rank, type_id, update_all in play.game.updates:
        group = groups[type_id]
        if group:
            play.updating = rank
            update_all(play, group)
    play.updating = UPDATES_OVER


def remove_dead(play: Play) -> None:
    """Remove all sprites that were killed in this cycle."""
    if play.shields:
        play.shields = set()
    if not play.kills:
        return
    play.population -= len(play.kills)
    for sprite in dict.fromkeys(play.kills):
        play.groups[sprite.type].remove(sprite)
        play.grid.leave(sprite)
        for sprites in (play.moved, play.contacts, play.grid.near_edge, play.touched):
            sprites.discard(sprite)
        if sprite in play.idle:
            play.idle.remove(sprite)
        if sprite in play.disabled:
            play.disabled.remove(sprite)
        if sprite is play.avatar:
            play.avatar = None
        play.died.append(sprite)
    play.kills = []
    play.scores_left = {}
    play.killed = set()
    play.counted = True


def end_cycle(play: Play) -> None:
    """Test whether the play is over, and who has won."""
    if play.aborted:
        play.over = True
    else:
        won = judge(play)
        play.counted = False
        if won is not None:
            play.over = True
            play.winner = WON if won else LOST
        if len(play.memory.messages) > MAX_MESSAGES:
            play.memory.messages.clear()
            play.over = True
    if play.tick >= LAST_TICK:
        play.over = True
        if play.winner != WON:
            play.winner = LOST


_LARGEST_SCREEN: Final = 800
_SMALLEST_BLOCK: Final = 2

_SHARED_FIELDS: Final = ("game", "level", "block_size", "width", "height", "screen", "paths", *PLAIN_FIELDS)
"""Fields of a play whose values are immutable, or constant once the play has begun."""

_MAX_OPENINGS: Final = 8
"""Levels of a game whose first moment is kept; a public game has five."""


def start(
    game: Game,
    level: LevelDefinition,
    seed: int,
    block_size: int | None = None,
    memory: PlayMemory | None = None,
) -> Play:
    """Start a play.

    Args:
        block_size: pixels a cell, at least 1; `None` for the game's own, or the largest that fits the level
            into 800 pixels. It matters, because speeds are truncated to whole pixels; the learning track
            plays with 10.
        memory: the memory of an earlier play that this one continues, as in the learning track; the play
            changes it.

    Raises:
        UsageError: the block size is invalid.
        GameError: the level needs too much work.
    """
    if block_size is None:
        fitting = max(_SMALLEST_BLOCK, _LARGEST_SCREEN // max(level.width, level.height))
        block_size = game.definition.square_size or fitting
    if block_size < 1:
        raise UsageError(f"a cell of {block_size} pixels: expected at least 1")
    if memory is not None:
        return begin(game, level, seed, block_size, memory)
    play = fork(_opening(game, level, block_size))
    play.random = JavaRandom(seed)
    return play


def _opening(game: Game, level: LevelDefinition, block_size: int) -> Play:
    """Return a play of this level before its first cycle, to be forked; the last few are kept."""
    for opening in game.openings:
        if opening.level is level and opening.block_size == block_size:
            assert isinstance(opening, Play)
            return opening
    opening = begin(game, level, 0, block_size, game.new_memory())
    game.openings = [opening, *game.openings[: _MAX_OPENINGS - 1]]
    return opening


def fork(play: Play) -> Play:
    """Return an independent play in the same state.

    Sprites of fixed kinds never change once made, so both plays share them; one that dies is removed from the
    groups and cells of its own play only. (One that took another sprite's place gets its last position in the
    next cycle, equally in all plays and before it is read.)
    """
    new = Play.__new__(Play)
    for name in _SHARED_FIELDS:
        setattr(new, name, getattr(play, name))
    new.random = play.random.copy()
    new.memory = play.memory.copy()
    new.work = WorkLimit()
    new.counters = play.counters.copy()
    new.templates = play.templates.copy()
    copies: dict[Sprite, Sprite] = {}
    new.groups = []
    for kind, group in zip(play.game.kinds, play.groups, strict=True):
        if kind.fixed or not group:
            new.groups.append(group.copy())
        else:
            copied = [sprite.copy() for sprite in group]
            copies.update(zip(group, copied, strict=True))
            new.groups.append(copied)
    _connect(play, new, copies)
    return new


def _connect(play: Play, new: Play, copies: dict[Sprite, Sprite]) -> None:
    """Replace sprites by their copies in all references of a new play."""
    get = copies.get
    new.grid = play.grid.copy(copies, new.work)
    for sprite in copies.values():
        if sprite.target is not None:
            sprite.target = get(sprite.target, sprite.target)
    new.moved = {get(sprite, sprite) for sprite in play.moved}
    new.touched = {get(sprite, sprite) for sprite in play.touched}
    new.contacts = {get(sprite, sprite) for sprite in play.contacts}
    new.idle = [get(sprite, sprite) for sprite in play.idle]
    new.disabled = [get(sprite, sprite) for sprite in play.disabled]
    new.avatar = None if play.avatar is None else get(play.avatar, play.avatar)
    new.clear_cycle()
