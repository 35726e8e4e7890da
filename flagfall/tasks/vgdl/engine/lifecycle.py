"""Creation of plays: started from a level, or copied from another play."""

from __future__ import annotations

__all__ = ["fork", "start"]

from typing import Final

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import LevelDefinition
from flagfall.tasks.vgdl.engine.cycle import begin
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import PLAIN_FIELDS, Play
from flagfall.tasks.vgdl.engine.state.play_memory import PlayMemory
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.work_limit import WorkLimit

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
        game: to be played.
        level: the level of this game.
        seed: the seed of the one generator of all its draws.
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

    Args:
        play: the play, which is not changed.
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
