"""The messages of the wire in both encodings: what comes back, and what noise comes to."""

from __future__ import annotations

import tracemalloc
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from flagfall.agents.wire.messages import (
    Answer,
    Ask,
    Bye,
    Encoding,
    Failed,
    FromAgent,
    Hello,
    Join,
    Ready,
    Refused,
    Skip,
    ToAgent,
    decode_from_agent,
    decode_to_agent,
    encode,
)
from flagfall.errors import AgentFault
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.turn_channel import LateNotice
from flagfall.kernel.spaces import Spaces

ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
encodings = pytest.mark.parametrize("encoding", ENCODINGS)

FROM_AGENT: list[FromAgent] = [
    Join("secret"),
    Ready(),
    Ready(("act", "result"), "msgpack", 1),
    Failed("crashed", "Traceback"),
    Answer(3, {"move": 1, "say": "é"}),
    Answer(-2),
    Skip(7),
]
TO_AGENT: list[ToAgent] = [
    Hello(
        1, 0, 2, 2**63 - 1, "act=1s", Spaces({"type": "discrete", "n": 2, "start": 0}, {}, 0), False, "a:B"
    ),
    Hello(1, 0, 1, 0, "none"),
    Ask(0, "act", [1, {"x": None}], 0.5, 1_000_000),
    Ask(-1, "result", "text", -1, None, LateNotice(4, "late", 32, 12), Spaces({}, {}, None)),
    Bye(),
    Refused("token", "it is wrong"),
]


@encodings
def test_messages_come_back(encoding: Encoding):
    for message in FROM_AGENT:
        assert decode_from_agent(encode(message, encoding), encoding) == message
    for told in TO_AGENT:
        assert decode_to_agent(encode(told, encoding), encoding) == told


@encodings
def test_arrays_come_back(encoding: Encoding):
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    asked = decode_to_agent(encode(Ask(0, "act", {"picture": picture}, 0, None), encoding), encoding)
    assert isinstance(asked, Ask)
    np.testing.assert_array_equal(asked.observation["picture"], picture, strict=True)
    answered = decode_from_agent(encode(Answer(0, [picture]), encoding), encoding)
    assert isinstance(answered, Answer)
    np.testing.assert_array_equal(answered.action[0], picture, strict=True)


def test_json_is_one_line_with_a_type_first():
    for message in [*FROM_AGENT, *TO_AGENT]:
        line = encode(message, "json")
        assert line.startswith(b'{"type":"')
        assert b"\n" not in line
    assert encode(Answer(1, "a\nb"), "json") == b'{"type":"answer","number":1,"action":"a\\nb"}'


def test_what_is_not_said_has_a_usual_value_and_what_is_unknown_is_ignored():
    assert decode_from_agent(b'{"type":"ready"}', "json") == Ready(("act",), "json", 1)
    assert decode_from_agent(b'{"number":1,"mood":"good","type":"skip"}', "json") == Skip(1)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"hello",
        b'{"type":"ask"}',
        b'{"type":"answer"}',
        b'{"type":"answer","number":"1"}',
        b'{"type":"answer","number":1.5}',
        b'{"type":"answer","number":1,"action":{"$ndarray":"<f4"}}',
        b'{"type":"answer","number":1,"action":' + b"[" * 100_000,
        b'{"type":"answer","number":1,"action":' + b"9" * 10_000 + b"}",
        b'{"type":"ready","wants":["everything"]}',
        b'{"type":"ready","encoding":"xml"}',
        b'{"type":"answer","number":1}\xff',
    ],
)
def test_lines_that_are_no_message_are_the_agents_fault(line: bytes):
    with pytest.raises(AgentFault, match=r"^garbage: not a message") as caught:
        decode_from_agent(line, "json")
    assert len(caught.value.detail) < 400


def test_what_an_agent_says_of_its_failure_is_bounded():
    message = decode_from_agent(encode(Failed("crashed", "x" * 100_000 + "end"), "json"), "json")
    assert isinstance(message, Failed)
    assert len(message.detail) == 8 * 1024
    assert message.detail.endswith("end")


@encodings
@pytest.mark.parametrize("what", [object(), {1, object()}, np.zeros(2, "M8[s]")])
def test_what_cannot_be_sent_is_said_plainly(encoding: Encoding, what: Any):
    with pytest.raises(CodecError):
        encode(Ask(0, "act", what, 0, None), encoding)


# Noise. Whatever comes ends as a message or as one kind of error.

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
types = st.sampled_from(["join", "ready", "failed", "answer", "skip", "hello", "ask", "bye", "refused", "?"])
fields = st.sampled_from(
    ["number", "action", "wants", "encoding", "version", "reason", "detail", "token", "$ndarray", "shape"]
)
more_fields = st.sampled_from(
    ["seat", "seed", "time_control", "spaces", "phase", "observation", "reward", "limit_ns", "late"]
)
near_messages = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    types,
    st.dictionaries(fields | more_fields, values, max_size=6),
)


def tcp_stream(encoding: Encoding) -> st.SearchStrategy[bytes]:
    """Noise, messages nearly right, and right ones with a damaged place."""
    pack = msgspec.json.encode if encoding == "json" else msgspec.msgpack.encode
    right = st.sampled_from([encode(message, encoding) for message in [*FROM_AGENT, *TO_AGENT]])
    damaged = st.tuples(right, st.integers(0, 200), st.binary(max_size=4)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
    )
    return st.binary(max_size=200) | near_messages.map(pack) | damaged


@encodings
@settings(max_examples=200)
@given(data=st.data())
def test_noise_from_an_agent_is_a_message_or_garbage(encoding: Encoding, data: st.DataObject):
    noise = data.draw(tcp_stream(encoding))
    message: Any
    try:
        message = decode_from_agent(noise, encoding)
    except AgentFault as fault:
        message = fault
    assert isinstance(message, Join | Ready | Failed | Answer | Skip | AgentFault)
    if isinstance(message, AgentFault):
        assert message.reason == "garbage"
        assert len(message.detail) < 2_000


@encodings
@settings(max_examples=200)
@given(data=st.data())
def test_noise_from_a_host_is_a_message_or_one_error(encoding: Encoding, data: st.DataObject):
    try:
        message = decode_to_agent(data.draw(tcp_stream(encoding)), encoding)
    except CodecError:
        return
    assert isinstance(message, Hello | Ask | Bye | Refused)


@pytest.mark.parametrize(
    "claim",
    [
        b"\xdd\xff\xff\xff\xff",  # a list of four thousand millions
        b"\xdf\xff\xff\xff\xff",  # a mapping of as many
        b"\xdb\xff\xff\xff\xff",  # a text of as many bytes
        b"\xc9\xff\xff\xff\xffN",  # an array of as many
        b"\xc7\x12N\x93\xa3<f8\x92\xce\x00\x3f\xff\xff\xce\x00\x3f\xff\xff\xc4\x00",  # one by its shape
    ],
)
def test_what_claims_to_be_large_takes_no_memory(claim: bytes):
    begin = encode(Answer(1, None), "msgpack")
    assert begin.endswith(b"\xc0")
    tracemalloc.start()
    with pytest.raises(AgentFault):
        decode_from_agent(begin[:-1] + claim, "msgpack")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_an_ask_is_the_kernels_envelope():
    asked = TO_AGENT[3]
    assert isinstance(asked, Ask)
    assert asked.envelope.late == LateNotice(4, "late", 32, 12)
    assert Ask(0, "act", 1, 0, None, UNSET).envelope.late is None
