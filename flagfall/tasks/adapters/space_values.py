"""Values of Gymnasium spaces: conversion from plain data, checks, and masks of actions.

Agents in processes and journals represent values in JSON or MessagePack, which have no tuples and no number
types. `read` converts such a value to the form of the space, and refuses values outside of the space:

| space | accepted | result |
|---|---|---|
| `Discrete` | a whole number of Python or numpy | `int` |
| `Box` | an array, or nested lists of numbers; all finite | an array of its dtype |
| `MultiDiscrete`, `MultiBinary` | an array, or nested lists of whole numbers | an array of its dtype |
| `Text` | a text | `str` |
| `Tuple`, `Sequence`, `OneOf`, `Graph` | a list or tuple | a tuple; arrays for a stacked sequence |
| `Dict` | a mapping with exactly its keys | `dict` |
| any other | a value that it contains | the same |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from flagfall.errors import UsageError
from flagfall.kernel.channels.arrays import json_decoder, json_encoder

_encode = json_encoder().encode
_decode = json_decoder()
_PAIR: Final = 2
_GRAPH_PARTS: Final = 3


class NotOfSpace(Exception):
    """The value does not lie in the space, or the space has no such value."""


def read(space: spaces.Space[Any], value: Any) -> Any:
    """Convert a value to the form of a space, see the table above; arrays are new.

    Raises:
        NotOfSpace: the value does not lie in the space.
    """
    return _entry(_READERS, space, _read_other)(space, value)


def contains(space: spaces.Space[Any], value: Any) -> bool:
    """Return whether `read` accepts a value."""
    try:
        read(space, value)
    except NotOfSpace:
        return False
    return True


def default_action(space: spaces.Space[Any], mask: Any = None) -> Any:
    """Return the default action: the lowest one; of real numbers, the one nearest to 0.

    Args:
        mask: nonzero for each allowed action: an array for `Discrete`, one for each entry of a flat
            `MultiDiscrete`; `None` for no mask. A mask that allows nothing is ignored.

    Raises:
        NotOfSpace: the kind of space has no lowest action.
    """
    return _entry(_DEFAULTS, space, _no_default)(space, mask)


def frozen_copy(value: Any) -> Any:
    """Return a value with read-only copies of its arrays.

    An environment may reuse its arrays, and an agent in the event loop might write into them; neither may
    affect the journal or the environment.
    """
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.setflags(write=False)
        return copy
    if isinstance(value, Mapping):
        return {key: frozen_copy(of) for key, of in value.items()}
    if isinstance(value, tuple):
        parts = [frozen_copy(of) for of in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return [frozen_copy(of) for of in value] if isinstance(value, list) else value


def check_writable(space: spaces.Space[Any], what: str) -> None:
    """Check with a sample that values of a space can be encoded, and that actions are decoded unchanged.

    Args:
        what: `observations` or `actions`, for the message.

    Raises:
        UsageError: they cannot.
    """
    try:
        sample = deepcopy(space).sample()
        text = _encode(sample)
    except Exception as error:  # noqa: BLE001 - a space may be foreign code
        raise UsageError(f"{what} of {space} cannot be recorded: {error}") from None
    if what == "actions" and not _is_read_again(space, sample, text):
        raise UsageError(
            f"{what} of {space} cannot be recorded: they change when they are encoded and decoded"
        )


def _is_read_again(space: spaces.Space[Any], value: Any, text: bytes) -> bool:
    try:
        return _encode(read(space, _decode(text))) == _encode(read(space, value))
    except NotOfSpace:
        return False


def _entry(table: Mapping[type, Any], space: spaces.Space[Any], default: Any) -> Any:
    """Return the entry of a table for the class of a space, or for its nearest base class."""
    for kind in type(space).__mro__:
        if kind in table:
            return table[kind]
    return default


# Reading.


def _read_discrete(space: spaces.Discrete[Any], value: Any) -> int:
    number = value.item() if isinstance(value, np.integer | np.ndarray) and value.ndim == 0 else value
    if type(number) is not int or not space.start <= number < space.start + space.n:
        raise NotOfSpace
    return number


def _array(value: Any, kinds: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Convert a value to an array of some dtype kinds and a shape."""
    if not isinstance(value, np.ndarray | np.generic | Sequence | int | float):
        raise NotOfSpace
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise NotOfSpace from None
    if array.shape != shape or (array.size and array.dtype.kind not in kinds):
        raise NotOfSpace
    return array


def _read_box(space: spaces.Box, value: Any) -> np.ndarray[Any, Any]:
    real = space.dtype.kind == "f"
    array = _array(value, "iuf" if real else "iu" if space.dtype.kind in "iu" else "b", space.shape)
    if real:
        with np.errstate(over="ignore"):
            array = array.astype(space.dtype)
    if not (np.isfinite(array).all() and (array >= space.low).all() and (array <= space.high).all()):
        raise NotOfSpace
    return array.astype(space.dtype)


def _read_multi_discrete(space: spaces.MultiDiscrete[Any], value: Any) -> np.ndarray[Any, Any]:
    array = _array(value, "iu", space.shape)
    if not ((array >= space.start).all() and (array <= space.start + (space.nvec - 1)).all()):
        raise NotOfSpace
    return array.astype(space.dtype)


def _read_multi_binary(space: spaces.MultiBinary, value: Any) -> np.ndarray[Any, Any]:
    array = _array(value, "iub", space.shape)
    if not ((array == 0) | (array == 1)).all():
        raise NotOfSpace
    return array.astype(space.dtype)


def _items(value: Any, count: int | None = None) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or (count is not None and len(value) != count):
        raise NotOfSpace
    return value


def _read_tuple(space: spaces.Tuple[Any], value: Any) -> tuple[Any, ...]:
    items = _items(value, len(space.spaces))
    return tuple(read(part, item) for part, item in zip(space.spaces, items, strict=True))


def _read_dict(space: spaces.Dict, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.keys() != space.spaces.keys():
        raise NotOfSpace
    return {key: read(part, value[key]) for key, part in space.spaces.items()}


def _read_sequence(space: spaces.Sequence, value: Any) -> Any:
    feature = space.feature_space
    if not space.stack:
        return tuple(read(feature, item) for item in _items(value))
    return _stacked(feature, value, space.stacked_feature_space)


def _stacked(feature: spaces.Space[Any], value: Any, batch: spaces.Space[Any]) -> Any:
    """Convert a batch of values, in the form of Gymnasium's batches."""
    try:
        items = [read(feature, item) for item in iterate(batch, value)]
    except (TypeError, ValueError, KeyError):
        raise NotOfSpace from None
    return _batch(feature, items)


def _read_one_of(space: spaces.OneOf[Any], value: Any) -> tuple[int, Any]:
    which, chosen = _items(value, _PAIR)
    which = _read_discrete(spaces.Discrete(len(space.spaces)), which)
    return which, read(space.spaces[which], chosen)


def _read_graph(space: spaces.Graph, value: Any) -> spaces.GraphInstance:
    nodes, edges, links = _items(value, _GRAPH_PARTS)
    graph = spaces.GraphInstance(
        nodes=_as_batch(space.node_space, nodes),
        edges=None if edges is None else _as_batch(space.edge_space, edges),
        edge_links=None if links is None else _array(links, "iu", np.shape(links)),
    )
    if not space.contains(graph):
        raise NotOfSpace
    return graph


def _as_batch(space: spaces.Space[Any] | None, value: Any) -> Any:
    if space is None or not isinstance(value, list | tuple | np.ndarray):
        raise NotOfSpace
    return _batch(space, [read(space, item) for item in value])


def _batch(space: spaces.Space[Any], items: Sequence[Any]) -> Any:
    empty: Any = create_empty_array(space, len(items))
    return concatenate(space, items, empty) if items else empty


def _read_text(space: spaces.Text, value: Any) -> str:
    if type(value) is not str or value not in space:
        raise NotOfSpace
    return value


def _read_other(space: spaces.Space[Any], value: Any) -> Any:
    try:
        inside = space.contains(value)
    except Exception:  # noqa: BLE001 - a value that breaks the check of the space does not lie in it
        inside = False
    if not inside:
        raise NotOfSpace
    return value


_READERS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    spaces.Discrete: _read_discrete,
    spaces.Box: _read_box,
    spaces.MultiDiscrete: _read_multi_discrete,
    spaces.MultiBinary: _read_multi_binary,
    spaces.Text: _read_text,
    spaces.Tuple: _read_tuple,
    spaces.Dict: _read_dict,
    spaces.Sequence: _read_sequence,
    spaces.OneOf: _read_one_of,
    spaces.Graph: _read_graph,
}


# Default actions.


def _first_allowed(count: int, mask: Any) -> int:
    if mask is None:
        return 0
    allowed = np.flatnonzero(np.asarray(mask)[:count])
    return int(allowed[0]) if allowed.size else 0


def _default_discrete(space: spaces.Discrete[Any], mask: Any) -> int:
    return int(space.start) + _first_allowed(int(space.n), mask)


def _default_multi_discrete(space: spaces.MultiDiscrete[Any], mask: Any) -> Any:
    if mask is None or len(space.shape) != 1:
        return space.start.astype(space.dtype)
    steps = [_first_allowed(int(count), part) for count, part in zip(space.nvec, mask, strict=True)]
    return (space.start + np.array(steps)).astype(space.dtype)


def _no_default(space: spaces.Space[Any], _mask: Any) -> Any:
    raise NotOfSpace(f"{type(space).__name__} has no lowest value")


_DEFAULTS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    spaces.Discrete: _default_discrete,
    spaces.Box: lambda space, _: np.asarray(np.clip(np.zeros_like(space.low), space.low, space.high)),
    spaces.MultiDiscrete: _default_multi_discrete,
    spaces.MultiBinary: lambda space, _: np.zeros(space.shape, space.dtype),
    spaces.Text: lambda space, _: min(space.character_list, default="") * space.min_length,
    spaces.Tuple: lambda space, _: tuple(default_action(part) for part in space.spaces),
    spaces.Dict: lambda space, _: {key: default_action(part) for key, part in space.spaces.items()},
    spaces.Sequence: lambda space, _: _batch(space.feature_space, ()) if space.stack else (),
    spaces.OneOf: lambda space, _: (0, default_action(space.spaces[0])),
    spaces.Graph: lambda space, _: spaces.GraphInstance(
        _batch(space.node_space, [default_action(space.node_space)]), None, None
    ),
}


# Action masks: the actions that an environment currently allows, from its observation or its info.
#
# A mask that agents are shown is binding: an action that it forbids is illegal. A mask is an array with a
# nonzero entry for each allowed `Discrete` action.

MASK_KEY: Final = "action_mask"
"""The key of the mask in an observation that is a mapping, or in the info."""


def has_mask(space: spaces.Space[Any]) -> bool:
    """Return whether observations of a space contain a mask."""
    return isinstance(space, spaces.Dict) and MASK_KEY in space.spaces


def mask_of(observation: Any) -> Any:
    """Return the mask in an observation; `None` if there is none."""
    return observation.get(MASK_KEY) if isinstance(observation, Mapping) else None


def is_allowed(space: spaces.Space[Any], mask: Any, action: Any) -> bool:
    """Return whether a mask allows an action; spaces other than `Discrete` are not masked."""
    if mask is None or not isinstance(space, spaces.Discrete):
        return True
    return bool(mask[read(space, action) - int(space.start)])


def with_mask_space(task_id: str, space: spaces.Space[Any], actions: spaces.Space[Any]) -> spaces.Dict:
    """Return the space of observations with an added mask.

    Raises:
        UsageError: the actions are not `Discrete`.
    """
    if not isinstance(actions, spaces.Discrete):
        raise UsageError(f"{task_id}: action_mask needs a Discrete action space, got {actions}")
    return spaces.Dict({"observation": space, MASK_KEY: spaces.MultiBinary(int(actions.n))})


def with_mask(observation: Any, mask: Any, actions: Any) -> dict[str, Any]:
    """Return an observation with an added mask.

    Args:
        mask: the mask from the info; `None` allows everything.
        actions: the action space, `Discrete`.
    """
    count = int(actions.n)
    allowed = np.ones(count, np.int8) if mask is None else np.asarray(mask).astype(np.int8)
    return {"observation": observation, MASK_KEY: allowed}
