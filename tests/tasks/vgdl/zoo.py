"""A game with a bit of everything that can be seen, and where to find the public ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import load_game, read_game
from flagfall.tasks.vgdl.language.level_parser import load_level, read_level

PUBLIC_GAMES = Path(__file__).parents[3] / "../shared/data/gvgai/games"

ZOO = """\
BasicGame square_size=24
    SpriteSet
        floor > Immovable hidden=True
        haze > Immovable invisible=True color=GRAY
        gate > Portal stype=exit
        exit > Door
        berry > Resource limit=3 color=RED
        box > Passive color=BROWN
        den > SpawnPoint stype=cub prob=0.3 cooldown=3 total=4
        stone > Missile speed=0.3 color=GRAY
        cub > RandomNPC speed=0.5 cooldown=2
        archer > Bomber stype=stone prob=0.5 cooldown=4 orientation=LEFT
        puff > Flicker limit=3
        keeper > ShootAvatar stype=stone healthPoints=3
            calm >
            wild > color=ORANGE
        wall > Immovable
    LevelMapping
        . > floor
        h > floor haze
        g > floor gate
        e > floor exit
        b > floor berry
        x > floor box
        d > floor den
        a > floor archer
        A > floor calm
    InteractionSet
        keeper wall > stepBack
        cub wall box > stepBack
        box keeper > bounceForward
        box wall box > undoAll
        berry keeper > collectResource scoreChange=1
        stone wall > killSprite
        stone EOS > killSprite
        cub stone > killSprite scoreChange=2
        calm haze > transformTo stype=wild
        wild gate > teleportToExit
        berry stone > transformTo stype=puff
        keeper cub > subtractHealthPoints scoreChangeIfKilled=-5
        archer EOS > wrapAround
    TerminationSet
        SpriteCounter stype=berry win=True
        SpriteCounter stype=keeper win=False
        Timeout limit=300
"""

ZOO_LEVEL = """\
wwwwwwwwwww
w.b..g..bdw
w.h.x...e.w
...A....aw.
w.xb.x.h..w
w....b...dw
wwwwwwwwwww
"""


def zoo(seed: int = 0, block: int | None = 10) -> Play:
    """A play of the zoo."""
    definition = read_game(ZOO, "zoo.txt")
    return start(compile_game(definition), read_level(definition, ZOO_LEVEL, "zoo_lvl0.txt"), seed, block)


def public_play(name: str, level: int, seed: int, block: int | None = 10) -> Play:
    """A play of one of the public games."""
    definition = load_game(PUBLIC_GAMES / f"{name}.txt")
    return start(
        compile_game(definition), load_level(definition, PUBLIC_GAMES / f"{name}_lvl{level}.txt"), seed, block
    )


def played(play: Play, ticks: int) -> Iterator[Play]:
    """The play, before its first tick and after each: random actions, drawn from its own start."""
    dice = Random(play.random.draws + ticks)
    yield play
    for _ in range(ticks):
        if play.over:
            return
        advance(play, dice.choice(("NIL", "LEFT", "RIGHT", "UP", "DOWN", "USE")))
        yield play
