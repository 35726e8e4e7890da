"""Assignment of drawings to sprites: by words of their names, and by the roles of their classes."""

from __future__ import annotations

__all__ = ["CREATURES", "ICONS", "LOOKING", "ROLES", "TURNING"]

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.rendering import icons
from flagfall.tasks.vgdl.rendering.icons import Icon
from flagfall.tasks.vgdl.rendering.sdf_pen import Colour

_STEEL: Final[Colour] = (200, 208, 218)
_WOOD: Final[Colour] = (150, 100, 60)
_GREY: Final[Colour] = (134, 140, 154)
_GOLD: Final[Colour] = (245, 200, 60)
_RED: Final[Colour] = (222, 70, 62)

ICONS: Final[tuple[tuple[str, Icon, Colour], ...]] = (
    ("wall fence barrier border brick jail stone_wall", icons.bricks, _GREY),
    ("tree forest bush cactus plant", icons.tree, (74, 150, 72)),
    ("water sea river lake ocean", icons.water, (52, 104, 176)),
    ("grass meadow field", icons.grass, (66, 118, 62)),
    ("highway street road rail track", icons.road, (66, 68, 76)),
    ("floor background back tile space sky city sand path carpet", icons.ground, (46, 48, 60)),
    ("dirt soil mud earth", icons.soil, (122, 86, 54)),
    ("ghost spirit phantom", icons.ghost, (235, 235, 245)),
    ("bat bird butterfly bee fly wasp moth angel crow", icons.flyer, (228, 140, 190)),
    ("spider scorpion crab ant bug beetle tarantula", icons.crawler, (190, 88, 70)),
    ("fish shark whale piranha submarine", icons.fish, (90, 160, 210)),
    ("car truck tank bus trolley vehicle tractor racer", icons.vehicle, _RED),
    ("spaceship ship rocket plane helicopter satellite", icons.ship, (180, 190, 210)),
    ("sword slash knife axe pickaxe blade spear", icons.blade, _STEEL),
    ("laser beam ray", icons.beam, (110, 240, 120)),
    ("arrow missile dart torpedo sam", icons.dart, (240, 150, 60)),
    ("bullet shot ball orb pellet snowball", icons.shot, (250, 215, 110)),
    ("fire flame lava burn explosion", icons.fire, (238, 100, 40)),
    ("bomb mine grenade tnt", icons.bomb, (70, 70, 84)),
    ("diamond gem jewel crystal ruby emerald", icons.gem, (92, 208, 240)),
    ("gold coin money treasure goldsack cash", icons.coin, _GOLD),
    ("key", icons.key, _GOLD),
    ("heart health life medkit", icons.heart, (226, 60, 84)),
    ("potion flask vial", icons.flask, (170, 90, 210)),
    ("apple fruit food cherries cherry cheese mushroom cake egg carrot", icons.fruit, _RED),
    ("box crate block chest", icons.crate, (196, 144, 86)),
    ("boulder rock mineral stone asteroid meteor planet", icons.boulder, (150, 144, 138)),
    ("barrel", icons.barrel, (176, 116, 66)),
    ("log trunk", icons.log, _WOOD),
    ("hole pit well whirlpool", icons.hole, (56, 60, 96)),
    ("spike spikes trap thorn", icons.spikes, (190, 194, 204)),
    ("portal teleport entry gate", icons.portal, (96, 130, 240)),
    ("door exit lock home house castle", icons.door, (96, 176, 96)),
    ("goal flag target win finish", icons.flag, (96, 200, 110)),
    ("spawn nest cave hell hive source", icons.nest, (150, 110, 170)),
    (
        "monster alien enemy zombie slime devil ogre wolf snake worm rat freak demon",
        icons.creature,
        (150, 200, 90),
    ),
)
"""Words, their drawing, and its colour unless the game gives one."""

TURNING: Final = frozenset(
    {icons.beam, icons.blade, icons.crawler, icons.dart, icons.fish, icons.log, icons.ship, icons.vehicle}
)
"""Drawings that are turned to the direction of movement; all others stay upright."""

LOOKING: Final = frozenset({icons.crawler, icons.creature, icons.flyer, icons.ghost, icons.person})
"""Upright drawings with eyes, which look in the direction of movement."""

CREATURES: Final[tuple[Colour, ...]] = (_RED, (150, 200, 90), (236, 160, 60), (170, 110, 214), (80, 180, 190))
"""Colours of creatures without a colour of their own, by type."""

ROLES: Final[Mapping[str, Icon]] = {
    "avatar": icons.person,
    "npc": icons.creature,
    "missile": icons.dart,
    "portal": icons.door,
    "resource": icons.token,
    "flicker": icons.spark,
    "producer": icons.nest,
    "static": icons.slab,
    "passive": icons.crate,
}
"""Drawings of sprites whose names contain no known word, by the role of their class."""
