"""The state of a play as a plain dictionary, in the form of the recorded traces."""

from __future__ import annotations

__all__ = ["Snapshot", "changes", "snapshot"]

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.play import Play

Snapshot: TypeAlias = dict[str, Any]

_DIGITS: Final = 4
"""Decimals of positions, which are in cells."""


class _Cells(dict[float, float]):
    """Positions in cells, by position in pixels; sprites share rows and columns, and rounding is slow."""

    def __init__(self, block_size: int) -> None:
        super().__init__()
        self._block_size = block_size

    def __missing__(self, pixels: float) -> float:
        self[pixels] = cells = round(pixels / self._block_size, _DIGITS)
        return cells


def snapshot(play: Play) -> Snapshot:
    """Return the record of a tick; `sprites` has all types that have any, without dead avatars.

    Args:
        play: at any tick.
    """
    cells = _Cells(play.block_size)
    names = [kind.name for kind in play.game.kinds]
    positions = {}
    for name, group in zip(names, play.groups, strict=True):
        living = [sprite for sprite in group if not sprite.disabled]
        if living:
            positions[name] = sorted([[cells[sprite.x], cells[sprite.y]] for sprite in living])
    return {
        "t": play.tick + 1,
        "score": play.score,
        "winner": play.winner,
        "over": play.over,
        "avatar": _avatar(play, cells),
        "draws": play.random.draws,
        "sprites": positions,
    }


def _avatar(play: Play, cells: _Cells) -> Snapshot | None:
    avatar = play.avatar
    if avatar is None:
        return None
    return {
        "type": avatar.kind.name,
        "x": cells[avatar.x],
        "y": cells[avatar.y],
        "ox": avatar.ox,
        "oy": avatar.oy,
        "alive": not avatar.disabled,
        "hp": avatar.health,
        "res": {
            play.game.kinds[resource].name: amount for resource, amount in sorted(avatar.resources.items())
        },
    }


def changes(previous: Mapping[str, Any], current: Mapping[str, Any]) -> Snapshot:
    """Return a snapshot in which `sprites` has only the types that differ from an earlier one.

    Args:
        previous: the earlier snapshot, whole.
        current: a later one.
    """
    before = previous["sprites"]
    now = current["sprites"]
    moved = {name: places for name, places in now.items() if before.get(name) != places}
    gone: Snapshot = {name: [] for name in before if name not in now}
    return {**current, "sprites": dict(sorted((moved | gone).items()))}
