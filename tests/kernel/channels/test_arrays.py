from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import flagfall.errors
from flagfall.kernel.channels.arrays import (
    ARRAY_EXT,
    ARRAY_KEY,
    DTYPES,
    MAX_ARRAY_BYTES,
    json_decoder,
    json_encoder,
    msgpack_decoder,
    msgpack_encoder,
    restore_arrays,
)
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES

FORMATS = {"json": (json_encoder, json_decoder), "msgpack": (msgpack_encoder, msgpack_decoder)}
formats = pytest.mark.parametrize(("encoder", "decoder"), FORMATS.values(), ids=FORMATS)


class View(msgspec.Struct):
    picture: np.ndarray[Any, Any]
    grid: NDArray[np.uint8] | None = None
    health: np.float32 | None = None
    lives: np.int8 | None = None
    alive: np.bool_ | None = None
    more: Any = None


def same(one: Any, other: Any) -> bool:
    return bool(
        one.dtype.newbyteorder("<") == other.dtype.newbyteorder("<")
        and one.shape == other.shape
        and one.astype(other.dtype).tobytes() == other.tobytes()
    )


@formats
@given(array=hnp.arrays(st.sampled_from(DTYPES).map(np.dtype), hnp.array_shapes(min_dims=0, min_side=0)))
def test_arrays_come_back_as_they_were(encoder: Any, decoder: Any, array: Any) -> None:
    back = decoder()(encoder().encode({"deep": [array]}))["deep"][0]
    assert same(back, array)
    assert back.flags.writeable
    typed = decoder(View)(encoder().encode(View(array)))
    assert same(typed.picture, array)


@formats
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(24).reshape(4, 6)[::2, ::-3],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(np.nan),
        np.array([np.inf, -np.inf, np.nan, -0.0], np.float16),
    ],
)
def test_what_lies_otherwise_in_memory_comes_back_equal(encoder: Any, decoder: Any, array: Any) -> None:
    assert same(decoder()(encoder().encode(array)), array)
    assert encoder().encode(array) == encoder().encode(array.copy())


@formats
@pytest.mark.parametrize(
    "scalar", [np.int8(-3), np.uint64(2**64 - 1), np.bool_(1), np.float64(1.5), np.float32(0.1)]
)
def test_scalars_come_back_as_plain_values(encoder: Any, decoder: Any, scalar: Any) -> None:
    back = decoder()(encoder().encode(scalar))
    assert back == scalar
    assert type(back) is type(scalar.item())


@formats
def test_texts_of_other_classes_come_back_as_plain_ones(encoder: Any, decoder: Any) -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise AssertionError

    back = decoder()(encoder().encode([np.str_("LEFT"), Text("ÜP")]))
    assert back == ["LEFT", "ÜP"]
    assert {type(text) for text in back} == {str}


@formats
def test_scalars_come_back_as_themselves_where_the_type_says_so(encoder: Any, decoder: Any) -> None:
    view = View(
        np.zeros(1), np.zeros((2, 2), np.uint8), np.float32(0.1), np.int8(-3), np.bool_(0), [np.int16(7)]
    )
    back = decoder(View)(encoder().encode(view))
    assert same(back.grid, view.grid)
    assert (back.health, back.lives, back.alive, back.more) == (view.health, view.lives, view.alive, [7])
    assert [type(value) for value in (back.health, back.lives, back.alive)] == [np.float32, np.int8, np.bool_]


def test_json_has_no_word_for_nan() -> None:
    assert json_encoder().encode([float("nan"), np.float32("inf"), 1.0]) == b"[null,null,1.0]"
    assert msgpack_decoder()(msgpack_encoder().encode(np.float32("inf"))) == float("inf")


def test_an_array_in_json_is_a_mapping_that_others_can_read() -> None:
    text = json_encoder().encode(np.array([[1, 2]], np.uint8))
    assert text == b'{"$ndarray":"|u1","shape":[1,2],"data":"AQI="}'
    untyped = json_decoder(View)(b'{"picture":' + text + b',"more":[' + text + b"]}").more
    assert same(restore_arrays(untyped)[0], np.array([[1, 2]], np.uint8))


@formats
@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([b"text"]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(1, [("a", "i4")]),
        np.zeros(1, np.longdouble),
        np.ma.masked_array([1], [True]),
        np.longdouble(1),
        np.complex64(1j),
        np.datetime64("2020-01-01"),
        np.zeros(MAX_ARRAY_BYTES + 1, np.uint8),
        np.empty((0, MAX_ARRAY_BYTES + 1), np.uint8),
        object(),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_what_cannot_be_sent_is_refused(encoder: Any, decoder: Any, value: Any) -> None:  # noqa: ARG001
    with pytest.raises(CodecError, match=r"cannot be sent|too large"):
        encoder().encode(value)


GOOD = {ARRAY_KEY: "<f4", "shape": [2], "data": b"12345678"}
BAD = [
    {ARRAY_KEY: "|O"},
    {ARRAY_KEY: "<f4,<f4"},
    {ARRAY_KEY: "x" * 100},
    {ARRAY_KEY: 4},
    {"shape": [3]},
    {"shape": [-2]},
    {"shape": [2.0]},
    {"shape": "2"},
    {"shape": [0, 2**62, 2**62], "data": b""},
    {"shape": [0, MAX_ARRAY_BYTES], "data": b""},
    {"shape": [2**20] * 32},
    {"shape": [1] * 33},
    {"shape": None},
    {"data": b"1234567"},
    {"data": None},
    {"more": 1},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_what_is_no_sound_array_is_refused(change: dict[str, Any]) -> None:
    parts = GOOD | change
    with pytest.raises(CodecError):
        json_decoder()(msgspec.json.encode(parts))
    with pytest.raises(CodecError):
        json_decoder(View)(msgspec.json.encode({"picture": parts}))
    ext = msgspec.msgpack.Ext(ARRAY_EXT, msgspec.msgpack.encode(list(parts.values())))
    with pytest.raises(CodecError):
        msgpack_decoder()(msgspec.msgpack.encode([ext]))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"picture": [1]}, "a list is not an array"),
        ({"grid": GOOD}, "an array of float32 is none of uint8"),
        ({"health": True}, "True is not of type float32"),
        ({"health": "1"}, "'1' is not of type float32"),
        ({"lives": 1.5}, "1.5 is not of type int8"),
        ({"lives": 300}, "out of bounds for int8"),
        ({"alive": 1}, "1 is not of type bool"),
    ],
)
def test_fields_are_checked_and_named(fields: dict[str, Any], says: str) -> None:
    text = msgspec.json.encode({"picture": GOOD} | fields)
    with pytest.raises(CodecError, match=f"{says}.* at `\\$.{next(iter(fields))}`"):
        json_decoder(View)(text)


def test_types_that_are_not_known_are_refused() -> None:
    with pytest.raises(CodecError, match=r"class 'complex'.* cannot be received"):
        json_decoder(complex)(b"1")
    with pytest.raises(CodecError, match="unknown MessagePack extension 5"):
        msgpack_decoder()(msgspec.msgpack.encode(msgspec.msgpack.Ext(5, b"")))


def test_an_array_is_no_key_of_a_map():
    array = msgpack_encoder().encode(np.zeros((2, 2), np.uint8))
    with pytest.raises(CodecError, match="not decodable"):
        msgpack_decoder()(b"\x81" + array + b"\x01")


deep = [b"[" * 100_000, b"\x91" * 100_000]
noise = st.binary(max_size=60) | st.sampled_from(
    [
        *deep,
        b'"\xff"',
        b"\xa2\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"9" * 5_000,
        b"1e999",
    ]
)
spoilt = st.builds(
    lambda data, at, byte: data[:at] + bytes([byte]) + data[at + 1 :],
    st.sampled_from([encoder().encode({"a": np.arange(3)}) for encoder in (json_encoder, msgpack_encoder)]),
    st.integers(0, 60),
    st.integers(0, 255),
)


# Invariant: any bytes end in a value or CodecError.
@pytest.mark.parametrize("kind", [Any, View])
@formats
@given(data=noise | spoilt)
def test_noise_is_a_value_or_a_codec_error(encoder: Any, decoder: Any, kind: Any, data: bytes) -> None:  # noqa: ARG001
    try:
        decoder(kind)(data)
    except CodecError as error:
        assert len(str(error)) < 1_000  # noqa: PT017 - nothing need be raised


def test_what_is_too_deep_to_walk_is_a_codec_error() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CodecError, match="nested"):
        restore_arrays(value)


def test_no_array_can_be_longer_than_a_frame() -> None:
    assert MAX_ARRAY_BYTES <= MAX_FRAME_BYTES


# Without the packages' own __init__ files: what those import is not this module's business.
LAZINESS = """
import sys, types
for name in ("flagfall", "flagfall.kernel", "flagfall.kernel.channels"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
from flagfall.kernel.channels.arrays import json_decoder, json_encoder
json_decoder()(json_encoder().encode([1, {"a": 2.5}]))
print("numpy" in sys.modules)
"""


def test_numpy_is_not_imported_before_it_is_met() -> None:
    root = Path(flagfall.errors.__file__).parents[1]
    command = [sys.executable, "-c", LAZINESS, str(root)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
