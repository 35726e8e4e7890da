"""Collisions: which pairs of sprites touch, and which effects they have on each other.

The original compares all sprites of one type with all of another, pair of types by pair of types, each tick.
Here a pair of types is run only if two of its sprites touch:

Rule 1: two sprites that touch were found when the later of them moved or was born, or have touched since.
    So it is enough to search around what moved (`play.touched`) and what touched before (`play.contacts`).
    Avatars search in every tick, so types that can touch nothing but avatars need not search; and of those,
    types that keep moving are not even entered in cells but scanned as a whole (`Game.broad_phase_crowds`).
Rule 2: a contact makes a pair of types *due*, and adds to its agenda the first sprite, and for it the second.
Rule 3: a due pair is run exactly as in the original: first sprites in the order of types and births, all that
    each touches now, and another test before each effect.
Rule 4: what effects move or make is searched around before it can matter: immediately, if a later sprite of
    the same effect may touch it, and before the next effect otherwise. So the agenda always lists everything
    that a first sprite touches when its turn comes, and perhaps what it has touched before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter

from flagfall.tasks.vgdl.engine.physics import detect_ground
from flagfall.tasks.vgdl.engine.state.game import LARGE_GROUP, Contact, Contacts, Pair, Rule
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, overlaps

_by_birth = attrgetter("id")


def collide(play: Play) -> None:
    """Run all effects of all pairs of sprites that touch."""
    game = play.game
    touched = play.touched
    if play.contacts:
        touched |= play.contacts
        play.contacts.clear()
    for type_id in game.broad_phase_avatars:
        touched.update(play.groups[type_id])
    search_around(play, game.broad_phase_seekers)
    if game.ground_pairs:
        add_ground_sensors(play)
    begun = play.due
    while play.due:
        bit = play.due & -play.due
        run_pair(play, game.pairs[bit.bit_length() - 1])
        begun |= play.due
        play.due &= -(bit << 1)
    while begun:
        bit = begun & -begun
        play.agenda[bit.bit_length() - 1].clear()
        begun ^= bit


def add_ground_sensors(play: Play) -> None:
    """Put all sprites that detect the ground on the agendas of the pairs with what they may stand on."""
    for pair in play.game.ground_pairs:
        for type_id in pair.ground_sensors:
            for sprite in play.groups[type_id]:
                play.agenda[pair.index].setdefault(sprite, set())
                play.due |= 1 << pair.index


def find_contacts(play: Play) -> None:
    """Find the contacts at the very start, so that the first cycle need not search around every sprite."""
    search_around(play, play.game.broad_phase_seekers)
    play.due = 0
    for firsts in play.agenda:
        firsts.clear()


def search_around(play: Play, contacts: Contacts) -> None:  # noqa: C901, PLR0912 - calls would cost a third
    """Find what the touched sprites touch, and put them on the agendas of their pairs.

    Args:
        contacts: what two touching types make due.
    """
    layers = play.grid.layers
    searched = play.game.broad_phase_searched
    agenda = play.agenda
    due = play.due
    for sprite in play.touched:
        row = contacts[sprite.type]
        if row is None:
            continue
        found = False
        for layer in searched[sprite.type]:
            cells = layers[layer]
            for cell in sprite.cells:
                there = cells.get(cell)
                if there is None or (len(there) == 1 and there[0] is sprite):
                    continue
                if len(there) > LARGE_GROUP:
                    play.work.charge(len(there))
                x = sprite.x
                y = sprite.y
                right = x + sprite.w
                bottom = y + sprite.h
                for other in there:
                    contact = row[other.type]
                    if (
                        contact is not None
                        and other is not sprite
                        and other.x < right
                        and x < other.x + other.w
                        and other.y < bottom
                        and y < other.y + other.h
                    ):
                        found = True
                        due |= contact[0]
                        for index in contact[1]:
                            agenda[index][sprite].add(other)
                        for index in contact[2]:
                            agenda[index][other].add(sprite)
        if found:
            play.contacts.add(sprite)
        else:
            play.contacts.discard(sprite)
    play.due = due
    play.touched.clear()
    if play.game.broad_phase_crowds:
        search_crowds(play)


def add_contact(play: Play, sprite: Sprite, other: Sprite, contact: Contact) -> None:
    """Put two sprites that touch on the agendas of their pairs."""
    bits, as_first, as_second = contact
    play.due |= bits
    for index in as_first:
        play.agenda[index][sprite].add(other)
    for index in as_second:
        play.agenda[index][other].add(sprite)


def search_crowds(play: Play) -> None:
    """Put avatars, and the sprites of scanned types that they touch, on the agendas of their pairs."""
    groups = play.groups
    for type_id, crowd, contact in play.game.broad_phase_crowds:
        if groups[crowd]:
            for avatar in groups[type_id]:
                for other in touched_in(play, avatar, groups[crowd]):
                    add_contact(play, avatar, other, contact)


def touched_in(play: Play, sprite: Sprite, group: Sequence[Sprite]) -> list[Sprite]:
    """Return the sprites of a group that touch a sprite."""
    left = sprite.x - group[0].w
    top = sprite.y - group[0].h
    right = sprite.x + sprite.w
    bottom = sprite.y + sprite.h
    if len(group) > LARGE_GROUP:
        play.work.charge(len(group))
    return [other for other in group if top < other.y < bottom and left < other.x < right]


def run_pair(play: Play, pair: Pair) -> None:
    """Run all effects of a pair, one after another, over all its sprites."""
    for rule in pair.rules:
        if play.shields and (pair.first, pair.second, rule.name) in play.shields:
            continue
        if rule.independent:
            run_independent(play, pair, rule)
        else:
            run_rule(play, pair, rule)
        if play.touched:
            search_around(play, play.game.broad_phase_all)


def run_independent(play: Play, pair: Pair, rule: Rule) -> None:
    """Do as `run_rule` for an effect whose first sprites do not matter to each other."""
    agenda = play.agenda[pair.index]
    killed = play.killed
    play.work.charge(len(agenda))
    for first in sort_by_turn(agenda, pair.first_ranks, several=pair.several_firsts):
        if first in killed:
            continue
        x = first.x
        y = first.y
        right = x + first.w
        bottom = y + first.h
        seconds = [
            other
            for other in agenda[first]
            if other.x < right and x < other.x + other.w and other.y < bottom and y < other.y + other.h
        ]
        if not seconds:
            continue
        if len(seconds) > 1:
            play.work.charge(len(seconds))
            seconds = sort_by_turn(seconds, pair.second_ranks, several=pair.several_seconds)
        gain = rule.run(play, first, seconds[0])  # it may change the score itself
        play.score += gain
        for second in seconds[1:]:
            if first not in killed and overlaps(first, second.x, second.y, second.w, second.h):
                gain = rule.run(play, first, second)
                play.score += gain


def run_rule(play: Play, pair: Pair, rule: Rule) -> None:
    """Run an effect over all its first sprites, and for each over all that it touches."""
    agenda = play.agenda[pair.index]
    newborn = play.memory.next_id
    searches = not (pair.disjoint and rule.quiet)
    firsts = sort_by_turn(agenda, pair.first_ranks, several=pair.several_firsts)
    known = len(agenda)
    play.work.charge(known)
    at = 0
    while at < len(firsts):
        first = firsts[at]
        at += 1
        if first.id >= newborn:
            continue
        if pair.ground_types and first.kind.senses_ground:
            find_ground(play, pair, first)
        run_for(play, pair, rule, first, newborn)
        if searches and play.touched:
            search_around(play, play.game.broad_phase_all)
            if len(agenda) != known:
                known = len(agenda)
                firsts = sort_by_turn(agenda, pair.first_ranks, several=pair.several_firsts)
                at = firsts.index(first) + 1


def run_for(play: Play, pair: Pair, rule: Rule, first: Sprite, newborn: int) -> None:
    """Run an effect for one first sprite.

    Args:
        newborn: number of the first sprite that was born since the effect began.
    """
    killed = play.killed
    if rule.batch:
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


def touching(play: Play, pair: Pair, first: Sprite, newborn: int) -> list[Sprite]:
    """Return the second sprites of a pair that touch a first one now, in the order of their turns.

    Args:
        newborn: sprites with this number or a higher one are left out.
    """
    x = first.x
    y = first.y
    right = x + first.w
    bottom = y + first.h
    found = [
        other
        for other in play.agenda[pair.index][first]
        if other.x < right
        and x < other.x + other.w
        and other.y < bottom
        and y < other.y + other.h
        and other.id < newborn
    ]
    if len(found) > 1:
        play.work.charge(len(found))
        return sort_by_turn(found, pair.second_ranks, several=pair.several_seconds)
    return found


def still_touch(first: Sprite, second: Sprite) -> bool:
    """Return whether two sprites still overlap, after another effect; detect the ground on the way."""
    if first.kind.senses_ground:
        detect_ground(first, second)
    return overlaps(first, second.x, second.y, second.w, second.h)


def sort_by_turn(
    sprites: Collection[Sprite], ranks: tuple[int | None, ...], *, several: bool
) -> list[Sprite]:
    """Return sprites in the order of their types, and within a type of their birth."""
    if len(sprites) == 1:
        return list(sprites)
    ordered = sorted(sprites, key=_by_birth)
    if several:
        ordered.sort(key=lambda sprite: ranks[sprite.type] or 0)
    return ordered


def find_ground(play: Play, pair: Pair, first: Sprite) -> None:
    """Let a sprite detect the ground among all solid sprites of a pair."""
    for type_id in pair.ground_types:
        play.work.charge(len(play.groups[type_id]))
        for second in play.groups[type_id]:
            if second is not first:
                detect_ground(first, second)
