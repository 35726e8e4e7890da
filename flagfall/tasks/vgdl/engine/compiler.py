"""From a definition to a compiled game."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from flagfall.tasks.vgdl.definition import (
    EffectContext,
    EffectRule,
    GameDefinition,
    SourcePosition,
    SpriteType,
)
from flagfall.tasks.vgdl.engine.behaviour import ACTS, MAKERS, UPDATES
from flagfall.tasks.vgdl.engine.effects import continuous, killing, resources
from flagfall.tasks.vgdl.engine.rules import compile_termination, find_barriers
from flagfall.tasks.vgdl.engine.sprites import avatars, npcs, passive
from flagfall.tasks.vgdl.engine.sprites.passive import age_and_move, fly_on
from flagfall.tasks.vgdl.engine.state.game import (
    Contact,
    Contacts,
    Effect,
    EffectLine,
    Game,
    Pair,
    Rule,
    SideEffects,
    TimerPlan,
)
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind, category_of
from flagfall.tasks.vgdl.language.schema import Changes, Needs
from flagfall.tasks.vgdl.language.tables import EFFECTS, PASSIVE, SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import NO_SCORE, NO_SCORE_MESSAGE, GameError

EFFECT_MODULES = (continuous, killing, resources)
"""Modules with behaviours: importing them has filled `MAKERS`."""

if MAKERS.keys() != EFFECTS.keys():
    raise TypeError(
        f"effects without a behaviour, or without a row: {sorted(MAKERS.keys() ^ EFFECTS.keys())}"
    )


def runs_in_batch(rule: EffectRule) -> bool:
    """Return whether an effect is run once for all second sprites.

    Args:
        rule: line of the InteractionSet. If it asks for a batch of an effect that takes single sprites, the
            original does nothing.
    """
    return bool(rule.parameters["inBatch"]) or (EFFECTS[rule.effect].batch and "inBatch" not in rule.written)


def find_side_effects(definition: GameDefinition) -> SideEffects:
    """Return the types whose sprites the effects of a game can change."""
    found = SideEffects()
    for line in definition.rules:
        for rule in (line, line.inner):
            if rule is not None:
                _add_side_effects(definition, rule, found)
    return found


def _add_side_effects(definition: GameDefinition, rule: EffectRule, found: SideEffects) -> None:
    types = definition.types
    changes = EFFECTS[rule.effect].changes
    stype = rule.parameters.get("stype")
    named = types[stype].subtypes if isinstance(stype, int) else ()
    if Changes.FIRST in changes:
        found.changed.update(types[rule.first].subtypes)
    if Changes.SECOND in changes:
        found.changed.update(*(types[second].subtypes for second in rule.seconds))
    if Changes.STYPE in changes:
        found.changed.update(named)
    if Changes.STYPE_SPEED in changes:
        found.sped.update(named)
    if Changes.STYPE_ORIENTATION in changes:
        found.turned.update(named)


def compile_effect(rule: EffectRule, game: Game) -> Effect:
    """Return a line of the InteractionSet as a function; it also adds to the counters of the game.

    Args:
        game: being compiled; flags and timers are added to it.

    Raises:
        GameError: the effect cannot work in this game.
    """
    effect = _compile_scoring(rule, game)
    scores = (rule.parameters["scoreChange"], rule.parameters.get("scoreChangeIfKilled"))
    if NO_SCORE in scores and rule.context is not EffectContext.TIME:
        return _with_score_message(effect)
    return effect


def _compile_scoring(rule: EffectRule, game: Game) -> Effect:
    """Do as `compile_effect`, but leave it to the caller to handle scores that are not integers."""
    schema = EFFECTS[rule.effect]
    parameters = rule.parameters
    inner = None if rule.inner is None else _compile_inner(rule.inner, game)
    effect = MAKERS[rule.effect](EffectLine(parameters["scoreChange"], parameters, inner), game)
    counter = parameters["counter"]
    if any(counter) and not schema.counts_itself:
        effect = _with_counter(effect, counter)
    if rule.context is not EffectContext.PAIR and schema.needs is Needs.BOTH:
        return _lacking_sprites(rule)
    if schema.batch and "inBatch" in rule.written and not rule.parameters["inBatch"]:
        return lambda play, first, second: effect(play, first, (second,))
    return effect


def _compile_inner(rule: EffectRule, game: Game) -> Effect:
    """Return an effect that will run without any sprite."""
    if EFFECTS[rule.effect].needs is not Needs.NOTHING:
        return _lacking_sprites(rule)
    return _compile_scoring(rule, game)


def _lacking_sprites(rule: EffectRule) -> Effect:
    """Return an effect that logs that its sprites are missing; its score is added all the same."""
    score: int = rule.parameters["scoreChange"]
    message = f"{rule.effect} lacks the sprites that it needs"

    def run(play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
        play.warn(message)
        return score

    return run


def _with_score_message(effect: Effect) -> Effect:
    """Return an effect that logs a message each time when a score that is not an integer would be added."""

    def run(play: Play, first: Sprite | None, second: Any) -> int:
        gain = effect(play, first, second)
        if gain < NO_SCORE:
            return gain
        play.warn(NO_SCORE_MESSAGE)
        return 0

    return run


def _with_counter(effect: Effect, counter: tuple[int, ...]) -> Effect:
    """Return an effect that also adds to the game's counters."""

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        play.add_counts(counter)
        return effect(play, first, second)

    return run


SPRITE_MODULES = (avatars, npcs, passive)
"""Modules with behaviours: importing them has filled `ACTS` and `UPDATES`."""

for _row in SPRITE_CLASSES.values():
    if _row.behaviour not in (ACTS if _row.is_avatar else {PASSIVE, *UPDATES}):
        raise TypeError(
            f"the sprite class {_row.name} has no behaviour: {_row.behaviour!r} is not registered"
        )

MAX_CELLS_A_SIDE: Final = 64
"""Size limit of a sprite. The largest one of the public games has 4."""


def compile_kinds(definition: GameDefinition, side_effects: SideEffects) -> tuple[SpriteKind, ...]:
    """Return the traits of all types of a game.

    Raises:
        GameError: a sprite is too large.
    """
    for sprite_type in definition.types:
        _check_size(definition, sprite_type)
    kinds = tuple(_kind(definition, sprite_type, side_effects.turned) for sprite_type in definition.types)
    ranks = {type_id: rank for rank, type_id in enumerate(reversed(definition.order))}
    for kind, sprite_type in zip(kinds, definition.types, strict=True):
        if sprite_type.kind is None:
            continue
        behaviour = SPRITE_CLASSES[sprite_type.kind].behaviour
        if kind.is_avatar:
            kind.act = ACTS[behaviour](kind)
        else:
            kind.rank = ranks.get(kind.id)
            kind.update = _update(kind, behaviour, sped=kind.id in side_effects.sped)
            kind.fixed = kind.update is None and kind.id not in side_effects.changed
    return kinds


def _check_size(definition: GameDefinition, sprite_type: SpriteType) -> None:
    """Reject sprites as large as levels."""
    for key in ("wMult", "hMult"):
        value: float = sprite_type.parameters.get(key, 1)
        if value > MAX_CELLS_A_SIDE:
            place = sprite_type.place or SourcePosition(definition.name, 1)
            text = f"{key} of {sprite_type.name!r} is {value}; {MAX_CELLS_A_SIDE} is the most"
            raise GameError(place, text)


def _kind(definition: GameDefinition, sprite_type: SpriteType, turned: Collection[int]) -> SpriteKind:
    parameters = sprite_type.parameters
    row = SPRITE_CLASSES.get(sprite_type.kind or "")
    is_avatar = row is not None and row.is_avatar
    moves_passively = not (parameters.get("is_static", False) or parameters.get("only_active", False))
    continuous = parameters.get("physicstype", 0) != 0
    oriented = parameters.get("is_oriented", False) or parameters.get("orientation", (0, 0)) != (0, 0)
    return SpriteKind(
        id=sprite_type.id,
        name=sprite_type.name,
        parameters=parameters,
        is_avatar=is_avatar,
        category=category_of(parameters, is_avatar=is_avatar),
        subtypes=sprite_type.subtypes,
        singletons=tuple(
            definition.types[above].subtypes
            for above in sprite_type.path
            if definition.types[above].singleton
        ),
        stationary=parameters.get("stationary", False),
        passive=moves_passively,
        is_npc=bool(parameters.get("is_npc")),
        senses_ground=row is not None and row.senses_ground,
        drifts=moves_passively and (continuous or oriented or sprite_type.id in turned),
        turns_first=parameters.get("rotateInPlace", False),
        continuous=continuous,
        actions=() if row is None else row.actions,
        products=_products(parameters, "" if row is None else row.products),
        unknown=sprite_type.unknown,
    )


def _products(parameters: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """Return the types that a parameter names: one or several."""
    named = parameters.get(key)
    if isinstance(named, tuple):
        return named
    return (named,) if isinstance(named, int) else ()


def _update(kind: SpriteKind, behaviour: str, *, sped: bool) -> Update | None:
    """Return the update of a type; `None` if it can never have an effect."""
    if behaviour != PASSIVE:
        return UPDATES[behaviour](kind)
    parameters = kind.parameters
    mortal = parameters["timeToLive"] >= 0
    if not kind.passive:
        return age_and_move if mortal else None
    if mortal or kind.continuous:
        return age_and_move
    return fly_on if kind.drifts and (sped or parameters["speed"]) else None


_OTHERS: Final = 0
_GATHERINGS: Final = 1
"""Layers of the grid."""


def compile_game(definition: GameDefinition) -> Game:
    """Return a game, ready to be played any number of times.

    Raises:
        GameError: a sprite is too large, or an effect cannot work in this game.
    """
    game = Game(definition, compile_kinds(definition, find_side_effects(definition)))
    updated = [(kind.rank, kind.id, kind.update) for kind in game.kinds]
    game.updates = sorted((rank, type_id, run) for rank, type_id, run in updated if rank is not None and run)
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
    enabled: bool = rule.parameters["enabled"]
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
    schema = EFFECTS[rule.effect]
    batch = runs_in_batch(rule)
    for second in rule.seconds:
        pair = _pair(game, rule.first, second)
        if enabled and (not batch or schema.batch):
            pair.rules += [_compiled(rule, effect, pair, batch=batch)] * rule.parameters["repeat"]


def _compiled(rule: EffectRule, effect: Effect, pair: Pair, *, batch: bool) -> Rule:
    quiet = EFFECTS[rule.effect].quiet
    steps_back = rule.effect == "stepBack" and not (
        batch
        or any(rule.parameters["counter"])
        or rule.parameters["pixelPerfect"]
        or rule.parameters["scoreChange"]
    )
    independent = quiet and pair.disjoint and not batch and not pair.ground_sensors
    return Rule(rule.effect, effect, quiet, batch, steps_back, independent)


def _add_timer(game: Game, rule: EffectRule, effect: Effect, *, enabled: bool) -> None:
    parameters = rule.parameters
    period: int = parameters["timer"]
    game.timer_plans.append(
        TimerPlan(
            index=len(game.timer_plans),
            types=game.subtypes(rule.first),
            effect=effect,
            score=parameters["scoreChange"],
            period=period,
            repeats=parameters["repeating"],
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
