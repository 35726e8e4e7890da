"""Parser of the SpriteSet: names to types, with their classes, parameters, paths, subtypes and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from flagfall.tasks.vgdl.definition import AVATAR, WALL, SpriteType, Value
from flagfall.tasks.vgdl.language.line_tree import Line, Word
from flagfall.tasks.vgdl.language.schema import Names, by_key, read_parameters, require
from flagfall.tasks.vgdl.language.tables import SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import COLOURS, DIRECTIONS, GameError, Notices

MAX_TYPES: Final = 10_000
"""Limit of sprite types; the largest public game has 45."""

MAX_PARAMETERS: Final = 256
"""Limit of parameters of one type, inherited ones included; no class has more than 41."""


@attrs.frozen
class SpriteSet:
    """A parsed SpriteSet.

    Attributes:
        order: leaf types in draw order.
        limits: by type, how many of this resource a sprite can hold.
    """

    types: Sequence[SpriteType]
    names: Names
    order: tuple[int, ...]
    limits: tuple[int, ...]


@attrs.define(eq=False)
class _Node:
    """One definition: a line, with inherited values and those that it passes on.

    A name that is defined again has several. The last one makes the type; the parents of earlier ones still
    count it among their subtypes.
    """

    id: int
    name: str
    kind: str | None
    inherited_class: Word | None
    given: dict[str, Word]
    path: tuple[int, ...]
    line: Line
    is_leaf: bool
    singleton: bool
    subtypes: dict[int, None]


def read_sprite_set(block: Line | None, notices: Notices) -> SpriteSet:
    """Parse the lines below `SpriteSet`.

    Raises:
        GameError: an unknown class, an undefined sprite, or a limit is exceeded.
    """
    parser = _SpriteSetParser(notices)
    if block is not None:
        parser.read(block.below, None)
    names = parser.finish()
    types = [parser.type(type_id, names) for type_id in range(len(names.ids))]
    limits = tuple(_limit(sprite_type) for sprite_type in types)
    order = [type_id for type_id in parser.order if type_id != AVATAR]
    return SpriteSet(types, names, (*order, AVATAR), limits)


def _limit(sprite_type: SpriteType) -> int:
    """Return the limit of a resource; as in the original, types of derived classes cannot be held."""
    limit: int = sprite_type.parameters["limit"] if sprite_type.kind == "Resource" else 0
    return limit


class _SpriteSetParser:
    """Parses the lines of one SpriteSet."""

    def __init__(self, notices: Notices) -> None:
        self._ids = {"wall": WALL, "avatar": AVATAR}
        self.order = {WALL: None, AVATAR: None}
        self._nodes: dict[int, _Node] = {}
        self._notices = notices

    def read(self, lines: Sequence[Line], above: _Node | None) -> list[_Node]:
        """Parse siblings, depth first; return them with their subtypes complete."""
        nodes = []
        for line in lines:
            if not any(word.text == ">" for word in line.words[1:]):
                left = "; the following lines beside it are ignored, too" if line is not lines[-1] else ""
                text = f"no '>' after {line.first.text!r}{left}"
                self._notices.add(line.place, text, logged=False)
                break
            node = self._define(line, above)
            nodes.append(node)
            if node.is_leaf:
                self.order.pop(node.id, None)
                self.order[node.id] = None
            for child in self.read(line.below, node):
                node.subtypes.update(child.subtypes)
        return nodes

    def _define(self, line: Line, above: _Node | None) -> _Node:
        word = line.first
        if word.text not in self._ids:
            if len(self._ids) == MAX_TYPES:
                raise GameError(word.place, f"more than {MAX_TYPES} sprite types")
            self._ids[word.text] = len(self._ids)
        type_id = self._ids[word.text]
        own = by_key(line.words[1:])
        given = (above.given if above else {}) | own
        if len(given) > MAX_PARAMETERS:
            raise GameError(word.place, f"more than {MAX_PARAMETERS} parameters, inherited ones included")
        path = (*(above.path if above else ()), type_id)
        written = self._written_class(line)
        inherited = above.inherited_class if above else None
        singleton = own.get("singleton")
        node = _Node(
            id=type_id,
            name=word.text,
            kind=self._kind(written, inherited),
            inherited_class=written or inherited,
            given=given,
            path=path,
            line=line,
            is_leaf=not line.below,
            singleton=singleton is not None and singleton.split()[1].lower() == "true",
            subtypes=dict.fromkeys(path),
        )
        self._nodes[type_id] = node
        return node

    def _written_class(self, line: Line) -> Word | None:
        """Return the last word of the line that is not a parameter."""
        bare = [word for word in line.words[1:] if word.text != ">" and not word.is_parameter]
        for word in bare[:-1]:
            self._notices.add(
                word.place, f"{word.text!r} is ignored; {bare[-1].text!r} is the class", logged=False
            )
        return bare[-1] if bare else None

    def _kind(self, written: Word | None, inherited: Word | None) -> str | None:
        """Return the effective class: an inherited one before the one on the line."""
        counts = inherited or written
        if counts is None:
            return None
        if counts.text not in SPRITE_CLASSES:
            raise GameError.unknown(counts.place, "sprite class", counts.text, SPRITE_CLASSES)
        if written is not None and written.text != counts.text:
            text = f"its class is {counts.text}, as inherited; {written.text!r} counts for the lines below"
            self._notices.add(written.place, text, logged=False)
        return counts.text

    def finish(self) -> Names:
        """Return the names of all types; only after the last line."""
        return Names(self._ids, {type_id for type_id, node in self._nodes.items() if node.kind is None})

    def type(self, type_id: int, names: Names) -> SpriteType:
        """Return the type that the last definition of a name makes.

        Raises:
            GameError: a parameter names an undefined sprite, or is a number out of range.
        """
        node = self._nodes.get(type_id)
        if node is None:
            return _BUILT_IN[type_id]
        if node.kind is None:
            values: dict[str, Any] = {}
            unknown: list[str] = []
        else:
            sprite_class = SPRITE_CLASSES[node.kind]
            values = _normalized(
                read_parameters(sprite_class.parameters, node.given, names, self._notices), node
            )
            unknown = [word.text for key, word in node.given.items() if key not in sprite_class.parameters]
            if node.is_leaf:
                require(node.line.first, sprite_class.parameters, node.given, values)
                for key, word in node.given.items():
                    if key not in sprite_class.parameters:
                        text = f"{sprite_class.name} has no parameter {key!r}"
                        self._notices.add(word.place, text, logged=False)
        return SpriteType(
            id=type_id,
            name=node.name,
            kind=node.kind,
            parameters=values,
            path=node.path,
            subtypes=tuple(node.subtypes),
            singleton=node.singleton,
            place=node.line.place,
            unknown=tuple(unknown),
        )


def _normalized(values: dict[str, Any], node: _Node) -> dict[str, Any]:
    """Return the parameters of a sprite with dependent ones adjusted."""
    for key in ("wMult", "hMult"):
        if values[key] <= 0:
            raise GameError(node.given[key].place, f"{key} must be above 0")
    most = values["maxHealthPoints"] = values["maxHealthPoints"] or values["healthPoints"]
    values["healthPoints"] = min(values["healthPoints"], most)
    values["cooldown"] = max(values["cooldown"], 1)
    if values["orientation"] != DIRECTIONS["NONE"]:
        values["is_oriented"] = True
    return values


def _built_in(type_id: int, name: str, kind: str, changes: Mapping[str, Value]) -> SpriteType:
    defaults = {key: parameter.default for key, parameter in SPRITE_CLASSES[kind].parameters.items()}
    return SpriteType(type_id, name, kind, {**defaults, **changes}, (type_id,), (type_id,))


_BUILT_IN: Final = {
    WALL: _built_in(WALL, "wall", "Immovable", {"color": COLOURS["DARKGRAY"], "solid": True}),
    AVATAR: _built_in(AVATAR, "avatar", "MovingAvatar", {}),
}
