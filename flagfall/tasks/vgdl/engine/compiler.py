"""From a definition to a compiled game."""

from __future__ import annotations

__all__ = ["compile_game"]

from collections.abc import Sequence
from typing import Final

from flagfall.tasks.vgdl.definition import EffectContext, EffectRule, GameDefinition
from flagfall.tasks.vgdl.engine.effects.registry import compile_effect, find_side_effects, runs_in_batch
from flagfall.tasks.vgdl.engine.rules.barriers import find_barriers
from flagfall.tasks.vgdl.engine.rules.terminations import compile_termination
from flagfall.tasks.vgdl.engine.sprites.registry import compile_kinds
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind
from flagfall.tasks.vgdl.engine.state.tables import Contact, Contacts, Effect, Pair, Rule
from flagfall.tasks.vgdl.engine.state.timers import TimerPlan
from flagfall.tasks.vgdl.language.effect_schema import EFFECTS

_OTHERS: Final = 0
_GATHERINGS: Final = 1
"""Layers of the grid."""


def compile_game(definition: GameDefinition) -> Game:
    """Return a game, ready to be played any number of times.

    Args:
        definition: as read.

    Raises:
        GameError: a sprite is too large, or an effect cannot work in this game.
    """
    game = Game(definition, compile_kinds(definition, find_side_effects(definition)))
    game.updates = sorted(
        [
            (kind.rank, kind.id, kind.update)
            for kind in game.kinds
            if kind.rank is not None and kind.update is not None
        ],
        key=lambda entry: entry[0],
    )
    edge_effects: dict[int, list[Effect]] = {}
    for rule in definition.rules:
        _add_rule(game, rule, edge_effects)
    watched = {type_id for types, _ in game.edges for type_id in types}
    game.watched_edges = [kind.id in watched for kind in game.kinds]
    game.terminations = [compile_termination(definition, rule) for rule in definition.terminations]
    # The first type in the draw order never is the avatar.
    game.avatar_types = tuple([number for number in definition.order[1:] if game.kinds[number].is_avatar])
    game.ground_pairs = [
        pair for pair in game.pairs if pair.ground_sensors and pair.ground_types and pair.rules
    ]
    _prepare_broad_phase(game)
    game.barriers = find_barriers(game)
    return game


def _add_rule(game: Game, rule: EffectRule, edge_effects: dict[int, list[Effect]]) -> None:
    """Add a line of the InteractionSet to the tables."""
    enabled = bool(rule.parameters["enabled"])
    effect = compile_effect(rule, game)
    if rule.context is EffectContext.TIME:
        _add_timer(game, rule, effect, enabled=enabled)
        return
    if rule.context is EffectContext.EDGE:
        # A type with several lines is looped over once for each line, and each time all its effects are run.
        effects = edge_effects.setdefault(rule.first, [])
        game.edges.append((game.subtypes(rule.first), effects))
        if enabled:
            effects.append(effect)
        return
    repeat = rule.parameters["repeat"]
    assert isinstance(repeat, int)
    schema = EFFECTS[rule.effect]
    batch = runs_in_batch(rule)
    for second in rule.seconds:
        pair = _pair(game, rule.first, second)
        if enabled and (not batch or schema.batch):
            pair.rules += [_compiled(rule, effect, pair, batch=batch)] * repeat


def _compiled(rule: EffectRule, effect: Effect, pair: Pair, *, batch: bool) -> Rule:
    quiet = EFFECTS[rule.effect].quiet
    parameters = rule.parameters
    return Rule(
        name=rule.effect,
        run=effect,
        quiet=quiet,
        batch=batch,
        steps_back=rule.effect == "stepBack"
        and not (batch or parameters["pixelPerfect"] or parameters["scoreChange"] or _counts(rule)),
        independent=quiet and pair.disjoint and not batch and not pair.ground_sensors,
    )


def _counts(rule: EffectRule) -> bool:
    """Return whether an effect adds to the game's counters."""
    counter = rule.parameters["counter"]
    assert isinstance(counter, tuple)
    return any(counter)


def _add_timer(game: Game, rule: EffectRule, effect: Effect, *, enabled: bool) -> None:
    parameters = rule.parameters
    period = parameters["timer"]
    score = parameters["scoreChange"]
    assert isinstance(period, int)
    assert isinstance(score, int)
    game.timer_plans.append(
        TimerPlan(
            index=len(game.timer_plans),
            types=game.subtypes(rule.first),
            effect=effect,
            score=score,
            period=period,
            repeats=bool(parameters["repeating"]),
            first=period if parameters["nextExecution"] != -1 else -1,
            enabled=enabled,
        )
    )


def _pair(game: Game, first: int, second: int) -> Pair:
    """Return the pair of two types, a new one if the game has none yet."""
    for pair in game.pairs:
        if pair.first == first and pair.second == second:
            return pair
    firsts = game.subtypes(first)
    seconds = game.subtypes(second)
    pair = Pair(
        index=len(game.pairs),
        first=first,
        second=second,
        first_ranks=_ranks(game, firsts),
        second_ranks=_ranks(game, seconds),
        several_firsts=len(firsts) > 1,
        several_seconds=len(seconds) > 1,
        disjoint=not set(firsts) & set(seconds),
        ground_sensors=tuple([type_id for type_id in firsts if game.kinds[type_id].senses_ground]),
        ground_types=tuple([type_id for type_id in seconds if game.kinds[type_id].parameters.get("solid")]),
        rules=[],
    )
    game.pairs.append(pair)
    return pair


def _ranks(game: Game, types: Sequence[int]) -> tuple[int | None, ...]:
    """Return by type its position among some types; `None` for others."""
    ranks = {type_id: rank for rank, type_id in enumerate(types)}
    return tuple([ranks.get(kind.id) for kind in game.kinds])


def _prepare_broad_phase(game: Game) -> None:
    """Fill the tables by which collisions find what may touch."""
    contacts = game.broad_phase_all = _find_contacts(game)
    # Types that can touch nothing but avatars need not search: avatars do.
    seekers = game.broad_phase_seekers = [
        row
        if row is not None
        and (kind.is_avatar or any(row[other.id] for other in game.kinds if not other.is_avatar))
        else None
        for kind, row in zip(game.kinds, contacts, strict=True)
    ]
    # Those of them that keep moving are not even entered in cells.
    roaming = {
        kind.id
        for kind, row, seeks in zip(game.kinds, contacts, seekers, strict=True)
        if row is not None and seeks is None and kind.update is not None and (kind.drifts or kind.is_npc)
    }
    in_rows = {number for number in roaming if _flies_along_rows(game.kinds[number])}
    crowds = roaming - in_rows
    game.broad_phase_avatars = tuple([kind.id for kind in game.kinds if kind.is_avatar])
    game.broad_phase_cells = [
        row is not None and number not in roaming for number, row in enumerate(contacts)
    ]
    layers = game.broad_phase_layers = [
        _GATHERINGS if _gathers(kind, row) else _OTHERS
        for kind, row in zip(game.kinds, contacts, strict=True)
    ]
    game.broad_phase_searched = [
        tuple(sorted({layers[other] for other, contact in enumerate(row or ()) if contact is not None}))
        for row in contacts
    ]
    game.broad_phase_rows = [kind.id in in_rows or (kind.is_avatar and bool(in_rows)) for kind in game.kinds]
    game.broad_phase_crowds = [
        (kind.id, other, contact)
        for kind, row in zip(game.kinds, contacts, strict=True)
        for other, contact in enumerate(row or ())
        if kind.is_avatar and other in crowds and contact is not None
    ]


def _gathers(kind: SpriteKind, row: Sequence[Contact | None] | None) -> bool:
    """Return whether many sprites of a type may come together in one cell without touching each other."""
    pursues = kind.is_npc and not kind.products and not {"stype", "stype1"}.isdisjoint(kind.parameters)
    return pursues and row is not None and row[kind.id] is None


def _flies_along_rows(kind: SpriteKind) -> bool:
    """Return whether the sprites of a type begin to move sideways, and do nothing else by themselves."""
    across, down = kind.parameters["orientation"]
    return across != 0 and down == 0 and not kind.is_npc


def _find_contacts(game: Game) -> Contacts:
    """Return for each two types the pairs of which they are part, in both directions."""
    size = len(game.kinds)
    found: list[list[tuple[list[int], list[int]]]] = [[([], []) for _ in range(size)] for _ in range(size)]
    for pair in game.pairs:
        if not pair.rules:
            continue
        for one in game.subtypes(pair.first):
            for other in game.subtypes(pair.second):
                found[one][other][0].append(pair.index)
                found[other][one][1].append(pair.index)
    return [
        [_contact(here, there) for here, there in row] if any(here or there for here, there in row) else None
        for row in found
    ]


def _contact(here: Sequence[int], there: Sequence[int]) -> Contact | None:
    if not here and not there:
        return None
    return sum(1 << index for index in {*here, *there}), tuple(here), tuple(there)
