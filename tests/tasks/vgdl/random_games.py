"""Small games made by chance, with all sorts of sprites and effects, to compare two ways of playing them."""

from __future__ import annotations

__all__ = ["ACTIONS", "games", "play_of", "walled_games"]

from collections.abc import Sequence

from hypothesis import strategies as st

from flagfall.tasks.vgdl.definition import ACTIONS as ALL_ACTIONS
from flagfall.tasks.vgdl.definition import ESCAPE
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import start
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level

ACTIONS = [action for action in ALL_ACTIONS if action != ESCAPE]
NAMES = ("a", "b", "c", "d", "e")
ALL = ("avatar", "wall", "pair", *NAMES)

AVATARS = (
    "MovingAvatar",
    "OrientedAvatar rotateInPlace=False",
    "ShootAvatar stype=e",
    "FlakAvatar stype=d",
    "OngoingAvatar speed=0.5",
    "MissileAvatar orientation=LEFT speed=0.3",
    "OngoingTurningAvatar spawnBehind=c",
    "MovingAvatar healthPoints=3",
)
CLASSES = (
    "Immovable",
    "Passive",
    "Resource limit=3 value=2",
    "Missile orientation=DOWN speed=0.5",
    "Missile orientation=RIGHT",
    "Missile orientation=LEFT speed=0.2 singleton=True",
    "RandomMissile speed=0.4",
    "Flicker limit=3",
    "OrientedFlicker limit=2 singleton=True",
    "Spreader limit=4 spreadprob=0.4 stype=c",
    "SpawnPoint stype=b prob=0.5 cooldown=2 total=3",
    "Bomber stype=c prob=0.4 cooldown=2 speed=0.5 orientation=RIGHT",
    "RandomNPC cooldown=2 speed=0.5",
    "RandomNPC cons=2 orientation=UP speed=0.3",
    "Chaser stype=avatar cooldown=2 speed=0.6",
    "Fleeing stype=a maxDistance=30",
    "Portal stype=a",
    "Door",
    "Immovable wMult=2 hMult=1.5",
    "Passive speed=0.4 orientation=UP timeToLive=5",
)
EFFECTS = (
    *(
        "stepBack",
        "stepBack pixelPerfect=True",
        "undoAll",
        "undoAll notStype=a",
        "wrapAround",
        "bounceForward",
    ),
    *("pullWithIt", "align", "attractGaze align=True", "teleportToExit", "turnAround", "reverseDirection"),
    *("flipDirection", "killSprite scoreChange=1", "killBoth", "killAll stype=b", "killIfFromAbove"),
    *("killIfOtherHasMore resource=c limit=1", "killIfFrontal", "killIfNotFrontal scoreChange=3"),
    *("transformTo stype=d", "transformTo stype=b killSecond=True", "transformToAll stype=c stypeTo=d"),
    *(
        "transformIfCount stype=a estype=b stypeCount=pair geq=2 leq=3",
        "cloneSprite",
        "spawn stype=c prob=0.3",
    ),
    *("transformToRandomChild stype=pair", "transformToSingleton stype=a stype_other=b takeOrientation=True"),
    *("spawnAbove stype=a prob=0.4", "spawnLeft stype=b stepBack=True", "spawnBehind stype=c"),
    *("collectResource scoreChange=2", "changeResource resource=c value=1", "addHealthPoints"),
    *(
        "subtractHealthPoints scoreChange=-1",
        "setSpeedForAll stype=b value=0.5",
        "shieldFrom stype=b ftype=killSprite",
    ),
    *("addTimer timer=2 ftype=transformToAll stype=b stypeTo=c scoreChange=1", "transformTo stype=avatar"),
)


WALKERS = (
    "RandomNPC",
    "RandomNPC cooldown=2 speed=0.5",
    "RandomNPC cons=1 cooldown=2",
    "Chaser stype=avatar cooldown=2 speed=0.6",
    "Chaser stype=b cooldown=3",
    "Fleeing stype=avatar speed=0.3",
)
WALLED = ("pair wall", "a wall", "b c wall", "pair wall c")


@st.composite
def walled_games(draw: st.DrawFn) -> tuple[str, str]:
    """The texts of a game in which walls step walkers back, mostly before anything else, and of a level."""
    game, level = draw(games(names=("wall", *NAMES)))
    for name in "ab":
        given = next(line for line in game.splitlines() if line.startswith(f"      {name} >"))
        game = game.replace(given, f"      {name} > {draw(st.sampled_from(WALKERS))}")
    lines = game.splitlines()
    at = lines.index("  InteractionSet") + draw(st.sampled_from([1, 1, 2]))
    lines[at:at] = [
        f"    {pair} > stepBack" for pair in draw(st.lists(st.sampled_from(WALLED), min_size=1, max_size=2))
    ]
    return "\n".join(lines), level.translate(str.maketrans("cdey", "wwww"))


@st.composite
def games(draw: st.DrawFn, names: Sequence[str] = ALL) -> tuple[str, str]:
    """The texts of a game and of a level for it; effects are on sprites of these names."""
    classes = {name: draw(st.sampled_from(CLASSES)) for name in NAMES}
    order = draw(st.permutations(["top", "avatar", "wall"]))
    blocks = {
        "top": [
            "    pair >",
            *[f"      {name} > {classes[name]}" for name in "ab"],
            *[f"    {name} > {classes[name]}" for name in "cde"],
        ],
        "avatar": [f"    avatar > {draw(st.sampled_from(AVATARS))}"],
        "wall": ["    wall > Immovable"],
    }
    lines = ["BasicGame", "  SpriteSet", *[line for name in order for line in blocks[name]]]
    lines += [
        "  LevelMapping",
        "    w > wall",
        *[f"    {name} > {name}" for name in NAMES],
        "    A > avatar",
        "    x > a b",
        "    y > c d",
    ]
    lines += ["  InteractionSet"]
    for _ in range(draw(st.integers(1, 9))):
        first = draw(st.sampled_from(names))
        second = draw(st.sampled_from((*names, "EOS")))
        lines.append(f"    {first} {second} > {draw(st.sampled_from(EFFECTS))}")
    lines += ["  TerminationSet", "    SpriteCounter stype=avatar win=False"]
    width = draw(st.integers(2, 7))
    cells = [
        list(row)
        for row in draw(
            st.lists(st.text("...wabcdexy", min_size=width, max_size=width), min_size=1, max_size=5)
        )
    ]
    cells[draw(st.integers(0, len(cells) - 1))][draw(st.integers(0, width - 1))] = "A"
    return "\n".join(lines), "\n".join("".join(row) for row in cells)


def play_of(texts: tuple[str, str], seed: int, block_size: int) -> Play:
    """A play of a game and a level in two texts."""
    definition = read_game(texts[0])
    return start(compile_game(definition), read_level(definition, texts[1]), seed, block_size)
