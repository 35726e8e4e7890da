"""Texts of observations and actions, for people and language models. Pure.

Values may come from the journals of strangers: time and size of a text are bounded, whatever the value is.
numpy is not imported: byte tasks do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import index
from string import ascii_uppercase
from typing import Any, Final

MAX_INSTRUCTIONS_CHARS: Final = 4_000
"""Longest goal and rules of a task: they are a part of each prompt of a language model."""

MAX_TEXT_CHARS: Final = 8_000
"""Longer texts are cut: a board of 50 x 50 cells has 5,000."""

MAX_ELEMENTS: Final = 2_500
"""Larger arrays are named by type and shape: a board of 50 x 50 cells is the most that a reader takes in."""

MAX_NAMED_ACTIONS: Final = 256
"""Most actions that are listed by their names; positions of chess have up to 218."""

MAX_DEPTH: Final = 8
"""Values deeper in lists and mappings are left out."""

EMPTY: Final = "."
"""The mark of an empty cell."""

ALLOWED: Final = "allowed actions: "
"""Beginning of the line with the actions that a mask allows."""

_CUT: Final = "..."
_MAX_ITEM_CHARS: Final = 500
_MAX_ITEM_BITS: Final = 256
_PLANES: Final = 3
_COLOURS: Final = (3, 4)
_LEAST_PIXELS: Final = 16
_MASK: Final = "action_mask"
_MAX_MASK: Final = 2**16


def describe_value(value: Any, name_action: Callable[[int], str] = str) -> str:
    """Return a value as text: arrays as grids, mappings with a line for each entry.

    Arrays of zeros and ones that are planes of a board, (H, W, C) or (C, H, W), become one grid with a letter
    for each plane. A mask of actions (the entry `action_mask`) comes last, as the actions that it allows.

    Args:
        name_action: returns the text of an action, given its place in the mask.
    """
    lines: list[str] = []
    size = 0
    for line in [value] if isinstance(value, str) else _lines(value, name_action, 0):
        lines.append(line)
        size += len(line) + 1
        if size > MAX_TEXT_CHARS:
            break
    text = "\n".join(lines)
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - len(_CUT)] + _CUT


def name_of(action: Any, names: Sequence[str], start: int = 0) -> str:
    """Return the name of an action, a whole number; its value if it has no name.

    Args:
        action: any value; `None` is NIL, what is played for an agent that is late, wrong or absent.
        names: names of the actions from `start` on; empty for those without a name.
    """
    if action is None:
        return "NIL"
    try:
        place = index(action) - start
    except TypeError:
        place = -1
    name = names[place] if 0 <= place < len(names) else ""
    text = name or describe_value(action)
    return text.replace("\n", ", ") if isinstance(action, Mapping) else text


def describe_board(planes: Sequence[Any], letters: Sequence[str]) -> str:
    """Return planes of a board as one grid: in each cell the letters of the planes that are not 0 there.

    Args:
        planes: (H, W) each, as arrays or lists of rows.
        letters: one for each plane.
    """
    rows = [zip(*row, strict=True) for row in zip(*planes, strict=True)]
    return "\n".join(_grid([[_letters(cell, letters) for cell in row] for row in rows]))


def has_shapes(value: Any, **shapes: tuple[int, ...]) -> bool:
    """Return whether a value is a mapping that has arrays of these shapes, by their names.

    Spaces warn about what is no array, and check each number.
    """
    return isinstance(value, Mapping) and all(
        getattr(value.get(name), "shape", None) == shape for name, shape in shapes.items()
    )


def _letters(cell: Sequence[Any], letters: Sequence[str]) -> str:
    return "".join(letter for letter, value in zip(letters, cell, strict=True) if value) or EMPTY


def _lines(value: Any, name_action: Callable[[int], str], depth: int) -> Iterator[str]:
    """Yield the lines of a value; only those that are requested are made."""
    if depth > MAX_DEPTH:
        yield _CUT
    elif isinstance(value, Mapping):
        yield from _entries(value, name_action, depth)
    elif _is_array(value):
        yield from _array(value, depth)
    elif not isinstance(value, list | tuple):
        yield from (value[:MAX_TEXT_CHARS] if isinstance(value, str) else _item(value)).splitlines()
    elif not any(map(_is_nested, value[:MAX_ELEMENTS])):
        more = [_CUT] if len(value) > MAX_ELEMENTS else []
        yield f"[{', '.join([*map(_item, value[:MAX_ELEMENTS]), *more])}]"
    elif _is_table(value):
        yield from _grid([list(map(_item, row)) for row in value])
    else:
        for part in value:
            yield from _titled("-", _lines(part, name_action, depth + 1))


def _titled(title: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield a title and the lines below it; a single line is beside it."""
    first = list(islice(lines, 2))
    if len(first) <= 1:
        yield " ".join([title, *first])
    else:
        yield title
        yield from (f"  {line}" for line in chain(first, lines))


def _entries(value: Mapping[Any, Any], name_action: Callable[[int], str], depth: int) -> Iterator[str]:
    allowed = _allowed(value.get(_MASK))
    for name, part in value.items():
        if name != _MASK or allowed is None:
            lines = _lines(part, name_action, depth + 1)
            is_whole = name == "observation" and value.keys() <= {name, _MASK}
            yield from lines if is_whole else _titled(f"{_item(name)}:", lines)
    if allowed is not None:
        names = [name_action(place) for place in allowed[:MAX_NAMED_ACTIONS]]
        more = [_CUT] if len(allowed) > MAX_NAMED_ACTIONS else []
        yield f"{ALLOWED}{'; '.join(names + more) or 'none'}"


def _allowed(mask: Any) -> list[int] | None:
    """Return the places of the actions that a mask allows, one more than are named; `None` for no mask."""
    if not _is_array(mask) or mask.ndim != 1 or mask.size > _MAX_MASK:
        return None
    places: list[int] = mask.nonzero()[0][: MAX_NAMED_ACTIONS + 1].tolist()
    return places


def _array(value: Any, depth: int) -> Iterator[str]:
    shape = value.shape
    is_picture = value.dtype.name == "uint8" and value.ndim == _PLANES and shape[2] in _COLOURS
    if is_picture and min(shape[:2]) >= _LEAST_PIXELS:
        yield f"picture of {shape[1]} x {shape[0]} pixels"
    elif not 0 < value.size <= MAX_ELEMENTS:
        yield f"array {value.dtype} {shape}"
    elif value.ndim == _PLANES:
        yield from _planes(value if shape[0] < shape[2] else value.transpose(2, 0, 1), depth)
    else:
        plain = value.astype("uint8") if value.dtype.name == "bool" else value
        yield from _lines(plain.tolist(), str, depth + 1)


def _planes(value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an array (C, H, W)."""
    letters = ascii_uppercase[: len(value)]
    if 1 < len(value) == len(letters) and set(value.ravel().tolist()) <= {0, 1}:
        yield from describe_board(value.tolist(), letters).splitlines()
        yield f"({letters[0]} to {letters[-1]}: planes 0 to {len(letters) - 1})"
        return
    for number, plane in enumerate(value):
        yield from _titled(f"plane {number}:", _lines(plane, str, depth + 1))


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and value.ndim > 0


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | Mapping) or _is_array(value)


def _is_table(value: Sequence[Any]) -> bool:
    """Return whether a list has equal rows of plain values, and a size that can be read."""
    if not all(isinstance(row, list | tuple) and len(row) == len(value[0]) for row in value):
        return False
    fits = 0 < len(value) * len(value[0]) <= MAX_ELEMENTS
    return fits and not any(map(_is_nested, chain.from_iterable(value)))


def _grid(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines, the columns aligned."""
    width = max((len(cell) for row in cells for cell in row), default=0)
    return [" ".join(cell.rjust(width) for cell in row) for row in cells]


def _item(value: Any) -> str:
    """Return a value that is no list, array or mapping, in bounded length."""
    if hasattr(value, "dtype"):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and value.bit_length() > _MAX_ITEM_BITS:
        return f"number of {value.bit_length()} bits"  # Python refuses to write the largest ones
    if isinstance(value, bytes):
        value = value[:_MAX_ITEM_CHARS]
    text = str(value)
    return text if len(text) <= _MAX_ITEM_CHARS else text[:_MAX_ITEM_CHARS] + _CUT
