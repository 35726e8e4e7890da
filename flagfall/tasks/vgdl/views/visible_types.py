"""Types of a game that can be drawn."""

from __future__ import annotations

__all__ = ["visible_types"]

from collections.abc import Iterator, Mapping

from flagfall.tasks.vgdl.definition import GameDefinition, Value
from flagfall.tasks.vgdl.language.effect_schema import EFFECTS
from flagfall.tasks.vgdl.language.schema import Parameters
from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES


def visible_types(definition: GameDefinition) -> tuple[int, ...]:
    """Return the types that can have sprites and are not hidden, in drawing order.

    The original draws leaf types only. A type with types below it has sprites only if the game makes them by
    its own name; such types come before all others.

    Args:
        definition: the definition of the game.
    """
    types = definition.types
    leaves = set(definition.order)
    parents = sorted({number for number in _made(definition) if number not in leaves})
    return tuple(
        number
        for number in (*parents, *definition.order)
        if types[number].kind is not None and not types[number].parameters.get("hidden")
    )


def _made(definition: GameDefinition) -> Iterator[int]:
    """Yield the types of which levels, sprites and effects make sprites."""
    for numbers in definition.mapping.values():
        yield from numbers
    for sprite_type in definition.types:
        if sprite_type.kind is not None:
            schema = SPRITE_CLASSES[sprite_type.kind].parameters
            yield from _named(definition, schema, sprite_type.parameters)
    for line in definition.rules:
        for rule in (line, line.inner):
            if rule is not None:
                yield from _named(definition, EFFECTS[rule.effect].parameters, rule.parameters)


def _named(definition: GameDefinition, schema: Parameters, values: Mapping[str, Value]) -> Iterator[int]:
    """Yield the types that some parameters name as products."""
    for key, parameter in schema.items():
        value = values[key]
        if parameter.makes_subtypes and isinstance(value, int):
            yield from definition.types[value].subtypes
        elif parameter.makes:
            named = value if isinstance(value, tuple) else (value,)
            yield from (number for number in named if isinstance(number, int))
