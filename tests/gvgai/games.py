"""Small games of our own for these tests, as files."""

from __future__ import annotations

from pathlib import Path

CORRIDOR = """\
BasicGame
    SpriteSet
        goal > Door color=GREEN
        coin > Resource color=YELLOW limit=9
        ghost > RandomNPC color=RED cooldown=2
        avatar > MovingAvatar
        wall > Immovable
    LevelMapping
        g > goal
        c > coin
        x > ghost
    InteractionSet
        avatar wall > stepBack
        ghost wall > stepBack
        coin avatar > collectResource scoreChange=1
        coin avatar > killSprite
        avatar ghost > killSprite scoreChange=-1
        goal avatar > killSprite scoreChange=5
    TerminationSet
        SpriteCounter stype=goal limit=0 win=True
        SpriteCounter stype=avatar limit=0 win=False
        Timeout limit=30 win=False
"""
"""Walk to the goal; coins lie on the way, and a ghost may."""

LEVELS = (
    "wwwwwwww\nwA.c..gw\nwwwwwwww\n",
    "wwwwwwww\nw.....gw\nw.c....w\nwA.....w\nwwwwwwww\n",
    "wwwwwwww\nwg....Aw\nwwwwwwww\n",
    "wwwwwwww\nw......w\nwA.c..gw\nwwwwwwww\n",
    "wwwwwwww\nwg..c.Aw\nw......w\nwwwwwwww\n",
)

DRUM = """\
BasicGame
    SpriteSet
        goal > Immovable
        avatar > MovingAvatar
        wall > Immovable
    LevelMapping
        g > goal
    InteractionSet
        avatar wall > stepBack
        goal TIME > reverseDirection timer=6 repeating=True nextExecution=6 scoreChange=1
    TerminationSet
        Timeout limit=10 win=True
"""
"""Pays by the clock: what its timer remembers can be seen in the score."""


def write_game(folder: Path, name: str = "corridor", text: str = CORRIDOR) -> str:
    """The game with its levels as files; gives the name of the game's."""
    path = folder / f"{name}.txt"
    path.write_text(text)
    for number, level in enumerate(LEVELS):
        (folder / f"{name}_lvl{number}.txt").write_text(level)
    return str(path)
