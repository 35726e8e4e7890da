from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.kernel.channels.framing import HEADER_BYTES, NEED_MORE, FrameError, Framer, frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAYLOADS = [b"e2e4", b"", b"\x00" * 100]


def read(framer: Framer, chunks: Iterable[bytes]) -> list[bytes]:
    payloads = []
    for chunk in chunks:
        framer.feed(chunk)
        while (payload := framer.next_frame()) is not NEED_MORE:
            payloads.append(payload)
    return payloads


def cut(wire: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(wire)]
    return [wire[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("step", [1, 3, 1_000])
def test_a_frame_arrives_however_it_was_cut(payload: bytes, step: int) -> None:
    wire = frame(payload)
    framer = Framer()
    assert read(framer, cut(wire, range(step, len(wire), step))) == [payload]
    assert framer.close() is False


def test_the_next_frame_may_be_glued_on() -> None:
    framer = Framer()
    assert read(framer, [frame(b"one") + frame(b"two")[:-1]]) == [b"one"]
    assert framer.buffered_bytes == HEADER_BYTES + 2
    assert read(framer, [b"o"]) == [b"two"]


def test_the_header_is_big_endian() -> None:
    assert frame(b"ab") == b"\x00\x00\x00\x02ab"


@pytest.mark.parametrize("sent", [1, HEADER_BYTES, HEADER_BYTES + 2])
def test_closing_inside_a_frame_is_told(sent: int) -> None:
    framer = Framer()
    assert read(framer, [frame(b"abc")[:sent]]) == []
    assert framer.close() is True
    with pytest.raises(UsageError, match="closed"):
        framer.feed(b"c")


def test_a_frame_over_the_bound_is_refused_at_its_header_and_for_good() -> None:
    framer = Framer(10)
    assert read(framer, [frame(b"x" * 10)]) == [b"x" * 10]
    framer.feed(frame(b"y" * 11)[:HEADER_BYTES])
    with pytest.raises(FrameError, match="11 bytes is longer than 10"):
        framer.next_frame()
    assert framer.buffered_bytes == 0
    for use in (framer.next_frame, framer.close, lambda: framer.feed(b"")):
        with pytest.raises(FrameError):
            use()


def test_a_payload_over_the_bound_is_not_sent() -> None:
    with pytest.raises(FrameError, match="3 bytes is longer than 2"):
        frame(b"abc", 2)


@pytest.mark.parametrize("bound", [0, -1, 2**32])
def test_a_bound_fits_the_header(bound: int) -> None:
    with pytest.raises(ValueError, match="max_frame_bytes"):
        Framer(bound)
    with pytest.raises(ValueError, match="max_frame_bytes"):
        frame(b"", bound)


def test_frames_are_taken_before_more_is_fed() -> None:
    framer = Framer()
    framer.feed(frame(b"one"))
    for use in (framer.close, lambda: framer.feed(b"more")):
        with pytest.raises(UsageError, match="next_frame until it returns NEED_MORE"):
            use()
    assert framer.next_frame() == b"one"


@given(st.lists(st.binary(max_size=20), max_size=6), st.data())
def test_cutting_does_not_matter(payloads: Sequence[bytes], data: st.DataObject) -> None:
    wire = b"".join(map(frame, payloads))
    places = data.draw(st.lists(st.integers(0, len(wire)), max_size=10))
    framer = Framer()
    assert read(framer, cut(wire, places)) == payloads
    assert framer.close() is False


# Invariant: any bytes end in frames or FrameError, and no more than a frame and a chunk is ever held.
@given(st.lists(st.binary(max_size=20).map(lambda noise: noise.replace(b"\xff", b"\x00")), max_size=20))
def test_noise_is_frames_or_a_frame_error(chunks: list[bytes]) -> None:
    framer = Framer(8)
    try:
        for chunk in chunks:
            assert all(len(payload) <= 8 for payload in read(framer, [chunk]))
            assert framer.buffered_bytes < HEADER_BYTES + 8
    except FrameError:
        assert framer.buffered_bytes == 0
    else:
        assert framer.close() == (framer.buffered_bytes > 0)
