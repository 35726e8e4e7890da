"""The wire protocol of ZeroMQ, byte by byte; what the library itself speaks is in test_remote_learner.py."""

from __future__ import annotations

import pytest

from flagfall.agents.zmq.zmtp import (
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_FRAMES,
    ZmtpError,
    ZmtpPeer,
    message,
)

SIGNATURE = b"\xff\0\0\0\0\0\0\0\x01\x7f"
GREETING = SIGNATURE + b"\x03\0" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PAIR"
GREETING_2 = SIGNATURE + b"\x01\0" + b"\0\0"
"""Version 2.0: its revision, the type PAIR, and a frame with no identity."""


def peer(start: bytes = GREETING + READY) -> ZmtpPeer:
    found = ZmtpPeer()
    found.feed(start)
    return found


@pytest.mark.parametrize("start", [GREETING + READY, GREETING_2], ids=["3.0", "2.0"])
def test_messages_come_whole_however_they_are_cut(start: bytes):
    data = start + b"\0\x05hello" + b"\x01\x01a\0\x01b" + b"\x02" + (300).to_bytes(8, "big") + b"x" * 300
    found, heard = ZmtpPeer(), []
    for byte in data:
        found.feed(bytes((byte,)))
        while (frames := found.next_message()) is not None:
            heard.append(frames)
    assert heard == [[b"hello"], [b"a", b"b"], [b"x" * 300]]


def test_each_version_is_answered_in_its_own_way():
    new, old = peer(), peer(GREETING_2)
    assert new.next_message() is old.next_message() is None
    assert new.is_ready
    assert old.is_ready
    assert new.take_output() == GREETING + READY
    assert old.take_output() == SIGNATURE + b"\x03" + b"\0" + b"\0\0"
    assert new.take_output() == b""


def test_nothing_beyond_the_signature_and_version_is_sent_to_a_peer_that_says_nothing():
    assert ZmtpPeer().take_output() == SIGNATURE + b"\x03"


def test_a_ping_is_answered_and_commands_for_others_are_ignored():
    found = peer(GREETING + READY + b"\x04\x09\x04PING\0\x0aid" + b"\x04\x0a\x09SUBSCRIBE" + b"\0\x01a")
    assert found.next_message() == [b"a"]
    assert found.take_output().endswith(b"\x04\x07\x04PONGid")


def test_a_long_message_has_a_long_head():
    assert message(b"x" * 255) == b"\0\xff" + b"x" * 255
    assert message(b"x" * 256) == b"\x02" + (256).to_bytes(8, "big") + b"x" * 256


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n", "no ZMTP"),
        (b"\xff" + bytes(9), "no ZMTP"),
        (SIGNATURE + b"\0", "too old"),
        (GREETING.replace(b"NULL", b"PLAI"), "mechanism"),
        (SIGNATURE + b"\x01\x08", "no PAIR socket"),
        (GREETING + READY.replace(b"PAIR", b"PUSH"), "no PAIR socket"),
        (GREETING + b"\x04\x06\x05READY", "no PAIR socket"),
        (GREETING + READY[:-1].replace(b"\x1a", b"\x19"), "cut short"),
        (GREETING + b"\x04\x0d\x05READY\x0bSocket", "cut short"),
        (GREETING + b"\0\x05hello", "before READY"),
        (GREETING + b"\x04\x06\x05ERROR", "reports an error"),
        (GREETING + b"\x04\x05\x04PING", "expected READY"),
        (GREETING + b"\x04\0", "expected READY"),
        (GREETING + b"\x06" + (2**40).to_bytes(8, "big"), "a command of"),
        (GREETING + READY + b"\x08\x01a", "no frame"),
        (GREETING + READY + b"\x05\x01a", "no frame"),
        (GREETING + READY + b"\x02" + (MAX_MESSAGE_BYTES + 1).to_bytes(8, "big"), "is the limit"),
        (GREETING + READY + b"\x01\0" * MAX_MESSAGE_FRAMES + b"\0\0", "frames"),
        (GREETING + READY + b"\x01\xff" + bytes(255) + b"\x02\0\0\0\0\0\0\x10\0", "is the limit"),
        (GREETING_2 + b"\x04\x06\x05READY", r"2\.0"),
        (GREETING + READY + b"\x04\x07\x04PING\0\0" * 1000, "flood"),
    ],
)
def test_who_breaks_the_rules_is_told_from_who_is_slow(data: bytes, why: str):
    with pytest.raises(ZmtpError, match=why):
        peer(data).next_message()
