"""A game of a few lines, begun."""

from __future__ import annotations

__all__ = ["begin", "places", "run"]

from collections.abc import Iterable

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level

LAYOUT = str.maketrans({"/": "\n", ".": " "})


def text(sprites: str, interactions: str = "", terminations: str = "", options: str = "") -> str:
    """A description: sprites a line each; names of one letter stand for themselves in the level."""
    names = [line.split()[0] for line in sprites.splitlines() if line.strip()]
    mapping = [f"    {name} > {name}" for name in names if len(name) == 1]
    return "\n".join(
        [
            f"BasicGame {options}",
            "  SpriteSet",
            *[f"    {line}" for line in sprites.splitlines() if line.strip()],
            "  LevelMapping",
            "    A > avatar",
            *mapping,
            "  InteractionSet",
            *[f"    {line.strip()}" for line in interactions.splitlines() if line.strip()],
            "  TerminationSet",
            *[f"    {line.strip()}" for line in terminations.splitlines() if line.strip()],
        ]
    )


def compiled(sprites: str, interactions: str = "", terminations: str = "", options: str = "") -> Game:
    """A game of these lines."""
    return compile_game(read_game(text(sprites, interactions, terminations, options)))


def begin(
    sprites: str,
    interactions: str,
    level: str,
    *,
    terminations: str = "",
    options: str = "",
    seed: int = 1,
    block: int = 10,
) -> Play:
    """A play of these lines and this level; rows with `/` between, a dot is nothing."""
    game = compiled(sprites, interactions, terminations, options)
    return start(game, read_level(game.definition, level.translate(LAYOUT)), seed, block)


def run(play: Play, actions: str | Iterable[str]) -> Play:
    """Play these actions, blanks between."""
    for action in actions.split() if isinstance(actions, str) else actions:
        advance(play, action)
    return play


def places(play: Play, name: str) -> list[tuple[int, int]]:
    """Where the sprites of a type are, in pixels, in the order of their birth."""
    type_id = play.game.definition.type_named(name).id
    return [(sprite.x, sprite.y) for sprite in play.groups[type_id]]
