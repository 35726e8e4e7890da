"""A play as a picture: every sprite's tile at its position, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one excludes a sprite from
observations, the other from pictures. Dead avatars are not drawn.

A cell is painted when something in it has changed; its picture is kept for cells with the same sprites at the
same positions (`cell_pictures`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.engine.compiler import find_side_effects
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.language.tables import PASSIVE, SPRITE_CLASSES
from flagfall.tasks.vgdl.rendering.cell_pictures import Appearance, CellPictures, Place, as_lines
from flagfall.tasks.vgdl.rendering.tile_set import BACKDROP, TileSet
from flagfall.tasks.vgdl.views.cells import CellMembers, first_moment, per_game

MAX_KEPT_BYTES: Final = 600_000
"""Largest picture of a first moment that is kept; those of the largest public level have 517,500 bytes."""

MAX_SIZES: Final = 8
"""Sizes of levels and pictures for which the pictures of cells are kept, for each tile set."""

MAX_PIXELS: Final = 64_000_000
"""Limit of pixels of a picture. The largest public level has 172,500 with 10 pixels a cell."""

_NEVER: Final = -3
"""A tick before the first."""

_NOWHERE: Final = (-1, ())
_RIGHT: Final = (1, 0)

_Parts: TypeAlias = tuple[Any, ...]

_FEW: Final = 12
"""Maximum number of cells that are painted one by one: to paint all at once has a cost of its own."""


class Painter:
    """Paints one play, tick after tick.

    It is fast if it is called after every tick; after several, it paints everything again.

    Args:
        play: at any tick; each play needs a painter of its own.

    Raises:
        UsageError: the picture would be too large.
    """

    def __init__(self, play: Play, block: int | None = None, tiles: TileSet | None = None) -> None:
        self._play = play
        self._block = block or play.block_size
        pixels = play.width * play.height * self._block**2
        if pixels > MAX_PIXELS:
            raise UsageError(
                f"a picture of {pixels} pixels: the limit is {MAX_PIXELS}; use fewer pixels a cell (:pixels=)"
            )
        self._pictures = _cell_pictures(play, self._block, tiles or _own_tiles(play.game))
        self._ranks = _ranks(play.game)
        self._turning = [type_id for type_id in self._pictures.turning if type_id in _turned(play.game)]
        self._tick = _NEVER
        self._generation = 0

    def _set_parts(self, parts: _Parts | None) -> None:
        """Go on from a copy of what is known of all sprites, or from nothing."""
        play = self._play
        if parts is None:
            self._canvas = np.empty((play.height * self._block, play.width * self._block, 3), np.uint8)
            self._canvas[:] = BACKDROP
            # By sprite: its places at other positions, its place, its code, its rank in the drawing order.
            self._appearances: dict[int, Appearance] = {}
            self._places: dict[int, Place] = {}
            self._codes: dict[int, int] = {}
            self._order: dict[int, tuple[int, int]] = {}
            self._members = CellMembers(play.width * play.height, self._order)
            self._directions: list[tuple[int, float, float]] = []
        else:
            canvas, appearances, places, codes, order, members, directions = parts
            self._canvas = canvas.copy()
            self._appearances = appearances.copy()
            self._places = places.copy()
            self._codes = codes.copy()
            self._order = order.copy()
            self._members = members.copy(self._order)
            self._directions = directions
        self._disabled: list[Sprite] = []
        self._stale: list[tuple[int, ...]] = []
        # All lines of pixels of the canvas, one cell wide; and those of a cell.
        self._lines = as_lines(self._canvas, self._block).reshape(-1)
        self._views: dict[int, NDArray[Any]] = {}

    def _copy_parts(self) -> _Parts:
        order = self._order.copy()
        return (
            self._canvas.copy(),
            self._appearances.copy(),
            self._places.copy(),
            self._codes.copy(),
            order,
            self._members.copy(order),
            self._directions,
        )

    def paint(self) -> NDArray[np.uint8]:
        """Return the picture of the current tick, as a new array: `[height, width, 3]`, red, green, blue."""
        play, pictures = self._play, self._pictures
        tick = play.tick
        if pictures.full:
            pictures.clear()
        if tick == self._tick + 1 and pictures.generation == self._generation:
            self._follow(play)
            if self._stale:
                self._paint_cells()
        elif tick != self._tick or pictures.generation != self._generation:
            self._generation = pictures.generation
            self._begin(play)
        self._tick = tick
        return self._canvas.copy()

    def _begin(self, play: Play) -> None:
        """Paint everything, or take what another play that began alike has painted."""
        moment = first_moment(play)
        name = (self._pictures, self._generation)
        parts = None if moment is None else moment.parts.get(name)
        self._set_parts(parts)
        if parts is None:
            for group in play.groups:
                self._examine(group)
            if self._stale:
                self._paint_cells()
            self._directions = [
                (sprite.id, sprite.ox, sprite.oy)
                for type_id in self._turning
                for sprite in play.groups[type_id]
            ]
            if moment is not None and self._canvas.nbytes <= MAX_KEPT_BYTES:
                moment.keep(name, self._copy_parts())

    def _follow(self, play: Play) -> None:
        """Apply the changes of one tick; a sprite may be born and die in the same one."""
        known, places, codes, stale = self._appearances.get, self._places, self._codes, self._stale.append
        for sprite in play.moved:
            number = sprite.id
            appearance = known(number)
            if appearance is not None:
                place = appearance[sprite.x, sprite.y]
                before = places[number]
                if place is not before:
                    places[number] = place
                    codes[number], cells = place
                    left = before[1]
                    stale(cells)
                    if cells is not left:
                        self._members.move(number, left, cells)
                        stale(left)
        if play.born:
            self._examine(play.born)
        for sprite in play.died:
            self._remove(sprite.id)
        if self._turning:
            self._follow_directions(play)
        if play.disabled != self._disabled:
            for sprite in play.disabled:
                self._remove(sprite.id)
            self._disabled = play.disabled.copy()

    def _follow_directions(self, play: Play) -> None:
        """Examine the sprites that have turned."""
        turning, groups, before = self._turning, play.groups, self._directions
        now = self._directions = [
            (sprite.id, sprite.ox, sprite.oy) for type_id in turning for sprite in groups[type_id]
        ]
        if now != before:
            turned = {number for number, *_ in set(now).difference(before)}
            self._examine(
                [sprite for type_id in turning for sprite in groups[type_id] if sprite.id in turned]
            )

    def _examine(self, sprites: Iterable[Sprite]) -> None:
        """Record the current appearance of sprites."""
        turning = self._pictures.turning
        for sprite in sprites:
            rank = self._ranks.get(sprite.type)
            if rank is None or sprite.disabled:
                continue
            number = sprite.id
            facing = _RIGHT
            if sprite.type in turning:
                ox, oy = sprite.ox, sprite.oy
                facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
            appearance = self._pictures.appearance(sprite.type, sprite.w, sprite.h, facing)
            place = appearance[sprite.x, sprite.y]
            before = self._places.get(number, _NOWHERE)
            if place is not before:
                self._order[number] = (rank, number)
                self._appearances[number] = appearance
                self._places[number] = place
                self._codes[number] = place[0]
                if place[1] is not before[1]:
                    self._members.move(number, before[1], place[1])
                    self._stale.append(before[1])
                self._stale.append(place[1])

    def _remove(self, number: int) -> None:
        place = self._places.pop(number, None)
        if place is not None:
            self._members.move(number, place[1], ())
            self._stale.append(place[1])
            del self._appearances[number], self._codes[number], self._order[number]

    def _paint_cells(self) -> None:
        """Paint the cells in which something has changed."""
        cells = set().union(*self._stale)
        self._stale.clear()
        self._members.finish()
        fetch, codes, looks = self._members.fetch, self._codes, self._pictures.looks
        if len(cells) <= _FEW:
            views = self._views
            for cell in cells:
                number = looks[cell][fetch[cell](codes)]
                view = views.get(cell)
                if view is None:
                    view = views[cell] = self._view(cell)
                view[...] = self._pictures.pictures[number]  # the look-up may have replaced the list
        else:
            stale = list(cells)
            numbers = [looks[cell][fetch[cell](codes)] for cell in stale]
            places = self._pictures.places.take(stale, axis=0)
            self._lines[places] = self._pictures.lines.take(numbers, axis=0)

    def _view(self, cell: int) -> NDArray[Any]:
        """Return the lines of pixels of a cell in the canvas."""
        column, row = divmod(cell, self._play.height)
        return as_lines(self._canvas, self._block)[row * self._block : (row + 1) * self._block, column]


@per_game
def _ranks(game: Game) -> Mapping[int, int]:
    """Return the rank of each type that is drawn."""
    definition = game.definition
    return {
        type_id: rank
        for rank, type_id in enumerate(definition.order)
        if not definition.types[type_id].parameters.get("invisible")
    }


@per_game
def _turned(game: Game) -> Collection[int]:
    """Return the types whose sprites may turn."""
    effects = find_side_effects(game.definition)
    return {
        kind.id
        for kind, sprite_type in zip(game.kinds, game.definition.types, strict=True)
        if sprite_type.kind is None
        or kind.is_avatar
        or kind.continuous
        or kind.id in effects.changed | effects.turned
        or SPRITE_CLASSES[sprite_type.kind].behaviour != PASSIVE
    }


@per_game
def _own_tiles(game: Game) -> TileSet:
    """Return the tile set of painters without one of their own."""
    return TileSet(game.definition)


def _cell_pictures(play: Play, block: int, tiles: TileSet) -> CellPictures:
    """Return the pictures of the cells of levels of one size, shared by all painters of a tile set."""
    size = (play.width, play.height)
    found = tiles.cell_pictures.get((size, play.block_size, block))
    if found is None:
        if len(tiles.cell_pictures) >= MAX_SIZES:
            tiles.cell_pictures.clear()
        sides = [kind.parameters.get(key, 1) for kind in play.game.kinds for key in ("wMult", "hMult")]
        largest = max(1, int(play.block_size * max(sides)))
        turning = [type_id for type_id in _ranks(play.game) if tiles.shows_facing(type_id)]
        found = CellPictures(tiles.tile, turning, size, play.block_size, block, largest)
        tiles.cell_pictures[size, play.block_size, block] = found
    return found
