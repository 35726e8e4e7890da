"""Noise for every decoder: it ends in a value or in a named error, and in little memory."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.decoders import DECODERS, DEEP, PEAK_BYTES, Decoder

EXAMPLES = 50
SLOW_EXAMPLES = 20  # those with a file each

decoders = pytest.mark.parametrize("name", DECODERS)

interesting = st.sampled_from(
    [
        *(
            b"",
            b"\x00",
            b"\xff",
            b"\n",
            b"\r\n",
            b"#",
            b"{",
            b"}",
            b"[",
            b'"',
            b"\\",
            b"\\ud800",
            b"1e999",
            b"9" * 30,
        ),
        *(
            b"null",
            b"\xff\xff\xff\xff",
            b"\x00\x00\x00\x01",
            b"\xc1",
            b"\xc7\x05N",
            b"\xed\xa0\x80",
            b"$ndarray",
        ),
    ]
)


def noise_for(decoder: Decoder) -> st.SearchStrategy[bytes]:
    """Anything; and good input with places taken out, put in, doubled or changed."""

    @st.composite
    def spoilt(draw: st.DrawFn) -> bytes:
        data = draw(st.sampled_from(decoder.good))
        for _ in range(draw(st.integers(1, 4))):
            start = draw(st.integers(0, len(data)))
            end = draw(st.integers(start, min(len(data), start + 40)))
            data = (
                data[:start]
                + draw(interesting | st.binary(max_size=6) | st.just(data[start:end] * 2))
                + data[end:]
            )
        return data

    return st.binary(max_size=300) | spoilt()


def read(decoder: Decoder, data: bytes) -> None:
    """Any error but the named ones comes out."""
    with suppress(*decoder.errors):
        decoder.read(data)


@decoders
def test_what_is_good_can_be_read(name: str):
    decoder = DECODERS[name]
    for data in decoder.good:
        read(decoder, data)


@decoders
def test_noise_ends_in_a_named_error(name: str):
    decoder = DECODERS[name]

    @settings(
        max_examples=SLOW_EXAMPLES if name.endswith("journal") else EXAMPLES,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(noise_for(decoder))
    def throw(data: bytes) -> None:
        read(decoder, data)

    throw()


def test_a_header_that_is_no_ascii_is_no_websocket():
    read(DECODERS["websocket server"], b"GET / HTTP/1.1\r\nHost: x\r\nConnection: \x80\r\n\r\n")


@decoders
def test_what_is_too_deep_ends_in_a_named_error(name: str):
    for data in DEEP:
        read(DECODERS[name], data)


@decoders
def test_noise_takes_little_memory(name: str):
    decoder = DECODERS[name]

    @settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
    @given(noise_for(decoder))
    def throw(data: bytes) -> None:
        tracemalloc.start()  # here, for drawing the data would take five times as long
        try:
            read(decoder, data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < PEAK_BYTES

    gc.collect()
    throw()
