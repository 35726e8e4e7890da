"""Which types there can be something to see of."""

from __future__ import annotations

__all__ = ["seen_types"]

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flagfall.tasks.vgdl.language.effect_schema import EFFECTS
from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.definition import GameDefinition, Value
    from flagfall.tasks.vgdl.language.schema import Parameters


def seen_types(definition: GameDefinition) -> tuple[int, ...]:
    """The types that can be made and are not hidden, in drawing order.

    The original draws leaf types only. A type with types below it has sprites only where the game makes them
    by its own name; such types come before all others.
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
    """The types that levels, sprites and effects name to be made."""
    for numbers in definition.mapping.values():
        yield from numbers
    for sprite_type in definition.types:
        if sprite_type.kind is not None:
            yield from _named(SPRITE_CLASSES[sprite_type.kind].parameters, sprite_type.parameters)
    for line in definition.rules:
        for rule in (line, line.inner):
            if rule is not None:
                yield from _named(EFFECTS[rule.effect].parameters, rule.parameters)
            if rule is not None and rule.effect == "transformToRandomChild":
                parent = rule.parameters["stype"]
                assert isinstance(parent, int)
                yield from definition.types[parent].subtypes


def _named(known: Parameters, values: Mapping[str, Value]) -> Iterator[int]:
    for key, parameter in known.items():
        value = values[key] if parameter.makes else None
        if isinstance(value, tuple):
            yield from (number for number in value if isinstance(number, int))
        elif isinstance(value, int):
            yield value
