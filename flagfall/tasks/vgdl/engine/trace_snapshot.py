"""The state of a play as a plain dictionary, in the form of the recorded traces."""

from __future__ import annotations

__all__ = ["Snapshot", "changes", "snapshot"]

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.play import Play

Snapshot: TypeAlias = dict[str, Any]

_DIGITS: Final = 4
"""Decimals of positions, which are in cells."""


def snapshot(play: Play) -> Snapshot:
    """Return the record of a tick; `sprites` has all types that have any, without dead avatars.

    Args:
        play: at any tick.
    """
    block = play.block_size
    names = [kind.name for kind in play.game.kinds]
    positions = {}
    for name, group in zip(names, play.groups, strict=True):
        living = [sprite for sprite in group if not sprite.disabled]
        if living:
            positions[name] = sorted(
                [[round(sprite.x / block, _DIGITS), round(sprite.y / block, _DIGITS)] for sprite in living]
            )
    return {
        "t": play.tick + 1,
        "score": play.score,
        "winner": play.winner,
        "over": play.over,
        "avatar": _avatar(play),
        "draws": play.random.draws,
        "sprites": positions,
    }


def _avatar(play: Play) -> Snapshot | None:
    avatar = play.avatar
    if avatar is None:
        return None
    block = play.block_size
    return {
        "type": avatar.kind.name,
        "x": round(avatar.x / block, _DIGITS),
        "y": round(avatar.y / block, _DIGITS),
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
