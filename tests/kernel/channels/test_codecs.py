from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.kernel.channels.codecs import (
    SILENCE,
    BitDecoder,
    CodecError,
    bits_to_text,
    text_to_bits,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
noise = st.lists(
    st.sampled_from(
        [b"a", b" ", "é".encode(), "€".encode(), "𝄞".encode(), b"\xff", b"\xe2", b"\x82", b"\xf0\x9d"]
    )
    | st.binary(min_size=1, max_size=2)
).map(b"".join)


def bits_of(data: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in data)


@pytest.mark.parametrize(
    ("text", "bits"), [("a", "01100001"), ("é", "1100001110101001"), (chr(SILENCE), "00100000"), ("", "")]
)
def test_text_is_said_most_significant_bit_first(text: str, bits: str) -> None:
    assert text_to_bits(text) == bits


@pytest.mark.parametrize(
    ("data", "rest", "loose", "strict"),
    [
        (b"\xffa", "", "a", None),
        (b"a", "01", "a", "a"),
        (b"", "", None, None),
        (b"", "0110000", None, None),
        (b"\xff", "", None, None),
        (b"a\xffb", "", "b", None),
        (b"\xc3", "", None, None),
        ("né".encode(), "", "né", "né"),
    ],
)
def test_bits_are_heard_as_the_standard_serializer_does(
    data: bytes, rest: str, loose: str | None, strict: str | None
) -> None:
    assert bits_to_text(bits_of(data) + rest) == loose
    assert bits_to_text(bits_of(data) + rest, strict=True) == strict


@pytest.mark.parametrize("wrong", ["2", " ", "٣"])
def test_other_characters_are_no_bits(wrong: str) -> None:
    with pytest.raises(CodecError, match="bit 3 is"):
        bits_to_text("010" + wrong)
    decoder = BitDecoder()
    decoder.feed("0" * 13)
    with pytest.raises(CodecError, match="bit 14 is"):
        decoder.feed("0" + wrong)
    assert decoder.feed("001") == "\x01"  # nothing was added


def test_half_a_surrogate_pair_cannot_be_said() -> None:
    with pytest.raises(CodecError, match=r"character 1 is .* surrogate"):
        text_to_bits("a\ud800")


def dropping_leading_bytes(data: bytes) -> str | None:
    """The non-strict decoding in the words of its specification."""
    for dropped in range(len(data)):
        try:
            return data[dropped:].decode()
        except UnicodeDecodeError:
            continue
    return None


def hearing(data: bytes) -> str:
    """What a listener of round 1 has heard after these bytes, in the words of its specification."""
    tail, heard = b"", ""
    for byte in data:
        tail += bytes([byte])
        text = dropping_leading_bytes(tail)
        if text is not None:
            heard, tail = heard + text, b""
    return heard


@given(noise)
def test_the_non_strict_decoding_drops_as_little_as_it_can(data: bytes) -> None:
    assert bits_to_text(bits_of(data)) == dropping_leading_bytes(data)


@given(noise, st.integers(1, 20))
def test_the_decoder_hears_what_a_listener_hears(data: bytes, step: int) -> None:
    bits = bits_of(data)
    decoder = BitDecoder()
    assert "".join(decoder.feed(bits[at : at + step]) for at in range(0, len(bits), step)) == hearing(data)


@given(texts, st.integers(1, 12))
def test_text_goes_over_the_bit_wire_in_any_pieces(text: str, step: int) -> None:
    bits, decoder = text_to_bits(text), BitDecoder()
    assert "".join(decoder.feed(bits[at : at + step]) for at in range(0, len(bits), step)) == text
