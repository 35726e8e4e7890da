"""Encoding of observations and actions by msgspec, with numpy arrays and scalars. Pure; numpy loads lazily.

| value | JSON | MessagePack |
|---|---|---|
| array | `{"$ndarray": "<f4", "shape": [2, 3], "data": base64}` | extension 78: `["<f4", [2, 3], bytes]` |
| scalar | the number, truth value or text | the same |
| NaN, infinity, alone | `null`: JSON cannot express them, and msgspec writes this | unchanged |
| NaN, infinity, in an array | unchanged | unchanged |

Data is in C order and little-endian, so that equal arrays have equal bytes on every machine. Types without a
fixed size on all machines (`longdouble`) or without numbers (objects, texts, dates, records) are refused, and
so are subclasses of `ndarray`, whose additions would be lost. Decoded arrays are new and writeable.

A field of type `Any` gives arrays back from MessagePack; from JSON it gives mappings, which
`restore_arrays` turns into arrays.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES

if TYPE_CHECKING:
    import numpy as np

Data: TypeAlias = bytes | bytearray | memoryview
Decode: TypeAlias = Callable[[Data], Any]

ARRAY_KEY: Final = "$ndarray"
"""Marks a mapping in JSON as an array. An invalid array under this key is an error."""

ARRAY_EXT: Final = 78
"""The MessagePack extension of an array; the letter N."""

MAX_ARRAY_BYTES: Final = MAX_FRAME_BYTES
"""Maximum size of an array's data: no frame could carry more."""

MAX_DIMENSIONS: Final = 32
"""Maximum number of dimensions: every version of numpy supports that many."""

DTYPES: Final = (
    *("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"),
    *("<f2", "<f4", "<f8", "<c8", "<c16"),
)
"""The types of array elements that can be sent, as numpy writes them."""

_Size: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_ARRAY_BYTES)]
_Shape: TypeAlias = Annotated[list[_Size], Meta(max_length=MAX_DIMENSIONS)]


class _Parts(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """An array in MessagePack."""

    dtype: str
    shape: _Shape
    data: bytes


class _Mapping(msgspec.Struct, forbid_unknown_fields=True):
    """An array in JSON."""

    dtype: str = msgspec.field(name=ARRAY_KEY)
    shape: _Shape
    data: bytes


def _numpy() -> Any:
    """Import numpy when the first array is used: an agent process without arrays starts faster."""
    import numpy  # noqa: ICN001, PLC0415 - takes a tenth of a second

    return numpy


def _parts(array: np.ndarray[Any, Any]) -> _Parts:
    """Take an array apart; raises `CodecError` if its type or size cannot be sent."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise CodecError(f"an array of {array.dtype} cannot be sent; types that can: {', '.join(DTYPES)}")
    shape = list(array.shape)
    _check_size(shape, dtype.itemsize)
    return _Parts(dtype.str, shape, array.astype(dtype, copy=False).tobytes())


def _check_size(shape: list[int], item_bytes: int) -> None:
    # Empty dimensions count as one: numpy refuses to make 0 x 2**40 x 2**40.
    nbytes = item_bytes * math.prod(max(1, size) for size in shape)
    if nbytes > MAX_ARRAY_BYTES or len(shape) > MAX_DIMENSIONS:
        raise CodecError(f"an array of shape {shape} is too large: {MAX_ARRAY_BYTES} bytes is the limit")


def _build(parts: _Parts | _Mapping) -> Any:
    """Make an array of its parts; raises `CodecError` if they do not fit one another."""
    if parts.dtype not in DTYPES:
        raise CodecError(
            f"an array of {parts.dtype[:20]!r} is not taken; types that are: {', '.join(DTYPES)}"
        )
    dtype = _numpy().dtype(parts.dtype)
    _check_size(parts.shape, dtype.itemsize)
    wanted = dtype.itemsize * math.prod(parts.shape)
    if len(parts.data) != wanted:
        raise CodecError(f"an array of shape {parts.shape} has {wanted} bytes of data, not {len(parts.data)}")
    return _numpy().frombuffer(bytearray(parts.data), dtype).reshape(parts.shape)


def _plain(value: Any, pack: Callable[[_Parts], Any]) -> Any:
    if isinstance(value, str):  # of a class of its own, such as what numpy draws from a list of texts
        return str.__str__(value)
    numpy = _numpy()
    if type(value) is numpy.ndarray:
        return pack(_parts(value))
    is_scalar = isinstance(value, numpy.generic) and value.dtype.kind != "c"
    if is_scalar and value.dtype.newbyteorder("<").str in DTYPES:
        return value.item()
    raise CodecError(f"a {type(value).__qualname__} cannot be sent")


def json_encode_hook(value: object) -> Any:
    """Encode an array or scalar: the `enc_hook` of a JSON encoder; raises `CodecError` for other values."""
    return _plain(value, lambda parts: _Mapping(dtype=parts.dtype, shape=parts.shape, data=parts.data))


def _list_encode_hook(value: Any) -> Any:
    numpy = _numpy()
    if type(value) is not numpy.ndarray:
        return json_encode_hook(value)
    pairs = numpy.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
    return pairs.tolist()


def msgpack_encode_hook(value: object) -> Any:
    """Encode an array or scalar: the `enc_hook` of MessagePack; raises `CodecError` for other values."""
    return _plain(value, lambda parts: msgspec.msgpack.Ext(ARRAY_EXT, msgspec.msgpack.encode(parts)))


def ext_hook(code: int, data: memoryview) -> Any:
    """Decode an array: the `ext_hook` of a MessagePack decoder; raises `CodecError` for invalid ones."""
    if code != ARRAY_EXT:
        raise CodecError(f"unknown MessagePack extension {code}")
    try:
        return _build(msgspec.msgpack.decode(data, type=_Parts))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CodecError(f"invalid array: {error}") from None


def decode_hook(kind: Any, value: Any) -> Any:
    """Decode a field of type `ndarray`, `NDArray[...]` or a numpy scalar: the `dec_hook` of both decoders.

    Raises:
        CodecError: the value is not an array or scalar, or has another element type.
    """
    numpy = _numpy()
    origin = typing.get_origin(kind) or kind
    if origin is numpy.ndarray:
        return _as_array(kind, value)
    if isinstance(kind, type) and issubclass(kind, numpy.generic):
        return _as_scalar(kind, value)
    raise CodecError(f"{kind} cannot be received")


def _as_array(kind: Any, value: Any) -> Any:
    array = _build_mapping(value) if isinstance(value, dict) else value
    if not isinstance(array, _numpy().ndarray):
        raise CodecError(f"a {type(value).__qualname__} is not an array")
    for wanted in typing.get_args(kind)[1:]:  # the dtype of NDArray[...]
        scalars = [scalar for scalar in typing.get_args(wanted) if isinstance(scalar, type)]
        if scalars and not issubclass(array.dtype.type, tuple(scalars)):
            raise CodecError(f"an array of {array.dtype} is none of {scalars[0].__name__}")
    return array


def _as_scalar(kind: Any, value: Any) -> Any:
    numpy = _numpy()
    is_bool = issubclass(kind, numpy.bool_)
    accepted = bool if is_bool else int if issubclass(kind, numpy.integer) else (int, float)
    if not isinstance(value, accepted) or (isinstance(value, bool) and not is_bool):
        raise CodecError(f"{value!r} is not of type {kind.__name__}")
    try:
        return kind(value)
    except (OverflowError, TypeError) as error:
        raise CodecError(str(error)) from None


def _build_mapping(value: dict[Any, Any]) -> Any:
    try:
        return _build(msgspec.convert(value, _Mapping))
    except msgspec.ValidationError as error:
        raise CodecError(f"invalid array: {error}") from None


def restore_arrays(value: Any) -> Any:
    """Return a value with arrays in place of their JSON mappings, at any depth.

    Lists and mappings are made anew; other values are kept.

    Raises:
        CodecError: a mapping with the key `$ndarray` is not a valid array, or the value is nested too deeply.
    """
    try:
        return _restore(value)
    except RecursionError:
        raise CodecError("too deeply nested") from None


def _restore(value: Any) -> Any:
    match value:
        case dict():
            if ARRAY_KEY in value:
                return _build_mapping(value)
            return {key: _restore(of) for key, of in value.items()}
        case list():
            return [_restore(item) for item in value]
        case _:
            return value


def json_encoder() -> msgspec.json.Encoder:
    """Return an encoder that takes arrays; its `encode` raises `CodecError` for other unknown types."""
    return msgspec.json.Encoder(enc_hook=json_encode_hook)


def list_encoder() -> msgspec.json.Encoder:
    """Return an encoder for readers that know no arrays, which it writes as nested lists of numbers.

    A complex number is a list of two, and NaN and infinity are `null`.
    """
    return msgspec.json.Encoder(enc_hook=_list_encode_hook)


def msgpack_encoder() -> msgspec.msgpack.Encoder:
    """Return an encoder that takes arrays; its `encode` raises `CodecError` for other unknown types."""
    return msgspec.msgpack.Encoder(enc_hook=msgpack_encode_hook)


def json_decoder(kind: Any = Any) -> Decode:
    """Return a decoder from JSON to values of a type; with `Any`, arrays are restored.

    It raises `CodecError`, and nothing else, for bytes that do not encode such a value.
    """
    decode = _guarded(msgspec.json.Decoder(kind, dec_hook=decode_hook).decode)
    return (lambda data: restore_arrays(decode(data))) if kind is Any else decode


def msgpack_decoder(kind: Any = Any) -> Decode:
    """Return a decoder from MessagePack to values of a type; raises as that of `json_decoder`."""
    return _guarded(msgspec.msgpack.Decoder(kind, dec_hook=decode_hook, ext_hook=ext_hook).decode)


def _guarded(decode: Decode) -> Decode:
    """Raise every error of a msgspec decoder as a `CodecError`; which one it raises depends on the data."""

    def guarded(data: Data) -> Any:
        try:
            return decode(data)
        except CodecError:
            raise
        except (ValueError, TypeError, RecursionError) as error:  # TypeError: an array as a key, msgspec 0.21
            raise CodecError(f"not decodable: {error}") from error

    return guarded
