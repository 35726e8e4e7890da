"""Collisions: which pairs of sprites touch, and which effects they have on each other.

The original compares all sprites of one type with all of another, pair of types by pair of types, each tick.
Here a pair of types is looked at only where two of its sprites touch:

Rule 1: two sprites that touch were found when the later of them moved or was born, or have touched since.
    So it is enough to look around what moved (`play.touched`) and what touched before (`play.contacts`).
    Avatars look around in every tick, so whoever can only meet avatars need not; and of those, types that
    keep moving are not even entered in cells, but asked as a whole (`Game.asked`).
Rule 2: what is found there makes a pair of types *due*, with the sprites that are to be its first.
Rule 3: a due pair is run exactly as in the original: first sprites in the order of types and births, all that
    each touches now, and again a look before each effect.
Rule 4: what effects move or make is looked at before it can matter: at once, where a later sprite of the same
    effect may touch it, and before the next effect otherwise.
"""

from __future__ import annotations

__all__ = ["Effect", "Meeting", "Meetings", "Pair", "Rule", "collide", "find_contacts", "overlaps"]

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import attrs

from flagfall.tasks.vgdl.engine.physics.continuous import feel_ground
from flagfall.tasks.vgdl.engine.state.work_limit import CROWDED, spend

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

Effect: TypeAlias = Callable[..., int]
"""Takes the play and two sprites, either of which may have to be there or not (`effects.py`); gives what it
adds to the score."""

Meeting: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""For two types: the bits of all pairs that a sprite of each makes due; the pairs in which that of the one
type is first; and those in which that of the other is."""

Meetings: TypeAlias = "Sequence[Sequence[Meeting | None] | None]"
"""By type, then by the other type; `None` for types that have no effects on each other."""

_by_birth = attrgetter("id")


@attrs.define(eq=False)
class Rule:
    """One effect of a pair.

    Attributes:
        name: the effect's.
        run: the effect.
        quiet: it changes no place but the first sprite's, and makes nothing.
        at_once: it takes a sequence of all second sprites that a first one touches.
    """

    name: str
    run: Effect
    quiet: bool
    at_once: bool


@attrs.define(eq=False)
class Pair:
    """Two types, as they stand in the game, and their effects in order.

    Attributes:
        index: its turn among the pairs.
        first, second: the types as written.
        first_ranks: by type: its turn among the first types; `None` for what is none.
        second_ranks: the same for the second.
        rules: the effects.
        apart: no type is both first and second.
        standing, solid: first types that may stand on something, and second types that can be stood on.
    """

    index: int
    first: int
    second: int
    first_ranks: tuple[int | None, ...]
    second_ranks: tuple[int | None, ...]
    several_firsts: bool
    several_seconds: bool
    apart: bool
    standing: tuple[int, ...]
    solid: tuple[int, ...]
    rules: list[Rule]


def overlaps(sprite: Sprite, x: int, y: int, w: int, h: int) -> bool:
    """Whether a rectangle shares inner points with a sprite's; those without an area share none."""
    return (
        x < sprite.x + sprite.w
        and sprite.x < x + w
        and y < sprite.y + sprite.h
        and sprite.y < y + h
        and w > 0
        and h > 0
        and sprite.w > 0
        and sprite.h > 0
    )


def collide(play: Play) -> None:
    """Run all effects of all pairs of sprites that touch."""
    game = play.game
    play.touched |= play.contacts
    play.contacts.clear()
    for type_id in game.lookers:
        play.touched.update(play.groups[type_id])
    look_around(play, game.seekers)
    for pair in game.standing:
        for type_id in pair.standing:
            if play.groups[type_id]:
                play.agenda[pair.index].update(play.groups[type_id])
                play.due |= 1 << pair.index
    pairs = game.pairs
    begun = 0
    while play.due:
        bit = play.due & -play.due
        begun |= bit
        run_pair(play, pairs[bit.bit_length() - 1])
        begun |= play.due
        play.due &= -(bit << 1)
    while begun:
        bit = begun & -begun
        play.agenda[bit.bit_length() - 1].clear()
        begun ^= bit


def find_contacts(play: Play) -> None:
    """Note who touches somebody at the very start, so that the first cycle need not look at everything."""
    look_around(play, play.game.seekers)
    play.due = 0
    for firsts in play.agenda:
        firsts.clear()


def look_around(play: Play, meetings: Meetings) -> None:  # noqa: C901 - calls would cost a third
    """Find what the touched sprites touch, and put their pairs on the agenda."""
    cells = play.cells
    agenda = play.agenda
    due = play.due
    for sprite in play.touched:
        meets = meetings[sprite.type]
        if meets is None:
            continue
        for cell in sprite.cells:
            there = cells[cell]
            if len(there) == 1:
                continue
            if len(there) > CROWDED:
                spend(play, len(there))
            x = sprite.x
            y = sprite.y
            right = x + sprite.w
            bottom = y + sprite.h
            for other in there:
                if other is sprite:
                    continue
                meeting = meets[other.type]
                if (
                    meeting is not None
                    and other.x < right
                    and x < other.x + other.w
                    and other.y < bottom
                    and y < other.y + other.h
                ):
                    play.contacts.add(sprite)
                    due |= meeting[0]
                    for index in meeting[1]:
                        agenda[index].add(sprite)
                    for index in meeting[2]:
                        agenda[index].add(other)
    play.due = due
    play.touched.clear()
    if play.game.crowds:
        look_at_crowds(play)


def look_at_crowds(play: Play) -> None:
    """The same for avatars and the types that are asked as a whole."""
    groups = play.groups
    agenda = play.agenda
    for type_id, crowd, meeting in play.game.crowds:
        for avatar in groups[type_id]:
            for other in touched_of(play, avatar, groups[crowd]):
                play.due |= meeting[0]
                for index in meeting[1]:
                    agenda[index].add(avatar)
                for index in meeting[2]:
                    agenda[index].add(other)


def touched_of(play: Play, sprite: Sprite, group: Sequence[Sprite]) -> list[Sprite]:
    """Those of a group that touch a sprite."""
    x = sprite.x
    y = sprite.y
    right = x + sprite.w
    bottom = y + sprite.h
    if len(group) > CROWDED:
        spend(play, len(group))
    return [
        other
        for other in group
        if other.x < right and x < other.x + other.w and other.y < bottom and y < other.y + other.h
    ]


def run_pair(play: Play, pair: Pair) -> None:
    """All effects of a pair, one after another over all its sprites."""
    agenda = play.agenda[pair.index]
    for rule in pair.rules:
        if play.shields and (pair.first, pair.second, rule.name) in play.shields:
            continue
        run_rule(play, pair, rule, agenda)
        if play.touched:
            look_around(play, play.game.meetings)


def run_rule(play: Play, pair: Pair, rule: Rule, agenda: set[Sprite]) -> None:
    """One effect over all its first sprites, and for each all that it touches."""
    newborn = play.session.next_id
    looks_on = not (pair.apart and rule.quiet)
    firsts = in_order(agenda, pair.first_ranks, several=pair.several_firsts)
    known = len(agenda)
    spend(play, known)
    at = 0
    while at < len(firsts):
        first = firsts[at]
        at += 1
        if first.id >= newborn:
            continue
        if pair.solid and first.kind.feels_ground:
            find_ground(play, pair, first)
        run_for(play, pair, rule, first, newborn)
        if looks_on and play.touched:
            look_around(play, play.game.meetings)
            if len(agenda) != known:
                known = len(agenda)
                firsts = in_order(agenda, pair.first_ranks, several=pair.several_firsts)
                at = firsts.index(first) + 1


def run_for(play: Play, pair: Pair, rule: Rule, first: Sprite, newborn: int) -> None:
    """One effect for one first sprite."""
    killed = play.killed
    if rule.at_once:
        seconds = touching(play, pair, first, newborn)
        if seconds:
            play.score += rule.run(play, first, seconds)
    elif first not in killed:
        fresh = True
        for second in touching(play, pair, first, newborn):
            if fresh or (first not in killed and still_touch(first, second)):
                fresh = False
                gain = rule.run(play, first, second)
                if gain:
                    play.score += gain


def still_touch(first: Sprite, second: Sprite) -> bool:
    """Whether two sprites overlap now, after another effect; who may stand feels for the ground, too."""
    if first.kind.feels_ground:
        feel_ground(first, second)
    return overlaps(first, second.x, second.y, second.w, second.h)


def find_ground(play: Play, pair: Pair, first: Sprite) -> None:
    """Let a sprite that may stand feel for all that it could stand on."""
    for type_id in pair.solid:
        spend(play, len(play.groups[type_id]))
        for second in play.groups[type_id]:
            if second is not first:
                feel_ground(first, second)


def touching(play: Play, pair: Pair, first: Sprite, newborn: int) -> list[Sprite]:
    """All second sprites of a pair that touch a first one now, without those born since the effect began."""
    ranks = pair.second_ranks
    cells = play.cells
    x = first.x
    y = first.y
    right = x + first.w
    bottom = y + first.h
    found = []
    for cell in first.cells:
        there = cells[cell]
        if len(there) > 1:
            for other in there:
                if (
                    ranks[other.type] is not None
                    and other is not first
                    and other.x < right
                    and x < other.x + other.w
                    and other.y < bottom
                    and y < other.y + other.h
                    and other.id < newborn
                ):
                    found.append(other)  # noqa: PERF401 - as a list it takes longer
    for type_id in play.game.asked[first.type]:
        if ranks[type_id] is not None:
            found += [other for other in touched_of(play, first, play.groups[type_id]) if other.id < newborn]
    if len(found) > 1:
        spend(play, len(found))
        return in_order(set(found), ranks, several=pair.several_seconds)
    return found


def in_order(sprites: set[Sprite], ranks: tuple[int | None, ...], *, several: bool) -> list[Sprite]:
    """Sprites in the order of their types' turns, and within a type of their birth."""
    if len(sprites) == 1:
        return list(sprites)
    ordered = sorted(sprites, key=_by_birth)
    if several:
        ordered.sort(key=lambda sprite: ranks[sprite.type] or 0)
    return ordered
