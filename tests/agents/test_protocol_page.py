"""docs/protocol.md says what is so: its session is one that was played, its tables are those of the code."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from flagfall.agents import admission as handshakes
from flagfall.agents.admission import MAX_WAITING
from flagfall.agents.wire import admission, client, messages, websocket
from flagfall.agents.wire import session as wire_session
from flagfall.kernel import spaces
from flagfall.kernel.channels.arrays import DTYPES, json_encoder, msgpack_encoder
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES
from tests.agents.protocol_session import ROOT, session, without_times

PAGE = (ROOT / "docs/protocol.md").read_text()


def test_the_session_is_a_real_one():
    (told,) = re.findall(r"-->\n```\n(.*?)```", PAGE, re.DOTALL)
    assert without_times(told) == without_times(session())


@pytest.mark.parametrize(
    "message",
    [
        messages.Hello,
        messages.Ask,
        messages.Refused,
        messages.Join,
        messages.Ready,
        messages.Answer,
        messages.Skip,
        messages.Failed,
    ],
)
def test_every_field_is_told_in_its_order(message: type[msgspec.Struct]):
    name = message.__name__.lower()
    (row,) = re.findall(rf"^\| `{name}` \|([^|]*)\|", PAGE, re.MULTILINE)
    told = [field for field in message.__struct_fields__ if field not in {"agent", "files"}]
    assert re.findall(r"`(\w+)`", row) == told, "the other two are for the agent's end of flagfall"


def test_the_table_of_spaces_is_that_of_the_code():
    assert spaces.__doc__ is not None
    rows = [line for line in spaces.__doc__.splitlines() if line.startswith("|")]
    assert len(rows) > 8
    assert "\n".join(rows) in PAGE


def test_arrays_are_written_as_it_says():
    array = np.array([[1, 2], [3, 4]], np.uint8)
    assert f"`{json_encoder().encode(array).decode()}`" in PAGE.replace(r"\|", "|")  # as in a table
    assert msgspec.msgpack.encode(["|u1", [2, 2], b"\x01\x02\x03\x04"]) in msgpack_encoder().encode(array)
    assert all(f"`{dtype}`" in PAGE for dtype in DTYPES)


def test_the_figures_are_those_of_the_code():
    assert MAX_FRAME_BYTES == 4 * 1024 * 1024
    assert messages.WIRE_VERSION == 1
    join_kib = admission.MAX_JOIN_BYTES // 1024
    assert f"within {handshakes.HANDSHAKE_SECONDS:g} seconds, or more than {join_kib} KiB" in PAGE
    assert f"while {handshakes.MAX_HANDSHAKES} others are in their handshake" in PAGE
    assert f"{MAX_WAITING} agents may wait" in PAGE
    assert f"up to {client.MAX_PAUSE_SECONDS:g} second" in PAGE
    assert f"more than {wire_session.MAX_UNSOLICITED} messages" in PAGE
    assert f"more than {websocket.MAX_PINGS} pings or 10 000 pieces" in PAGE
    assert websocket.MAX_PARTS == 10_000
    assert wire_session.MAX_READ_AT_ONCE / wire_session.FLOOD_PAUSE_SECONDS == 50_000
    assert wire_session.CLOSE_SECONDS == 0.5
