"""Every decoder of the project, with what it may raise and good input; for Hypothesis and for atheris.

Invariant: any bytes end in a value or in one of the named errors, and take no more memory than
`PEAK_BYTES` while they are read. None of them waits: a stream is fed from memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec
import numpy as np
import trio

from flagfall.agents.samples.llm.endpoint import Failure, read_completion
from flagfall.agents.samples.llm.forms import InvalidAnswer, action_form, read_speech
from flagfall.agents.wire.messages import (
    Answer,
    Ask,
    Encoding,
    Hello,
    Join,
    Ready,
    Skip,
    decode_from_agent,
    decode_to_agent,
    encode,
)
from flagfall.agents.wire.websocket import WebSocketStream
from flagfall.agents.zmq.pair_socket import read_reply
from flagfall.agents.zmq.zmtp import ZmtpError, ZmtpPeer
from flagfall.errors import AgentFault, UsageError
from flagfall.gvgai.protocol import ClientProtocol, Overspent, ServerProtocol, read_action, read_choice
from flagfall.gvgai.states import read_state
from flagfall.kernel.channels.arrays import json_decoder, json_encoder, msgpack_decoder, msgpack_encoder
from flagfall.kernel.channels.codecs import BitDecoder, CodecError, bits_to_text
from flagfall.kernel.channels.framing import NEED_MORE, FrameError, Framer, LineError, LineReader, frame
from flagfall.kernel.channels.pipes import FramedStream
from flagfall.playing import run
from flagfall.recording.journal.format import decode_events, schema_of
from flagfall.recording.journal.reader import JournalError, read_journal

PEAK_BYTES = 4_000_000
"""More than any decoder needs for two kilobytes: the largest, a window of zstd, has two megabytes."""

CHUNK = 7
"""Streams come in pieces of so many bytes, so that everything is cut somewhere."""


@attrs.frozen
class Decoder:
    """A decoder.

    Attributes:
        read: reads bytes.
        errors: what it may raise.
        good: input that it takes, or nearly: what fuzzers begin with.
    """

    read: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]
    good: tuple[bytes, ...]


class Memory:
    """ByteStream that come out of memory; what is written goes nowhere."""

    def __init__(self, data: bytes) -> None:
        self._parts = pieces(data)

    async def write(self, data: bytes) -> None:
        """Take it."""

    async def read(self) -> bytes:
        return next(self._parts, b"")

    def age_ns(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))


def now(coroutine: Any) -> Any:
    """What a coroutine returns that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("it waits")


# What is more than one call.


_MOVES = action_form(
    {
        "type": "dict",
        "spaces": {
            "move": {"type": "discrete", "start": 0, "n": 5},
            "say": {"type": "multi_discrete", "shape": [2], "nvec": [3, 3]},
        },
    }
)
"""Numbers, a list and an object."""


def _frames(data: bytes) -> None:
    framer = Framer()
    for piece in pieces(data):
        framer.feed(piece)
        while framer.next_frame() is not NEED_MORE:
            pass


def _lines(data: bytes) -> None:
    reader = LineReader(100)
    for piece in pieces(data):
        reader.feed(piece)
        while reader.next_line() is not None:
            pass
        assert reader.buffered_bytes <= 100 + CHUNK + 1


def _bits(data: bytes) -> None:
    text = data.decode("latin-1")
    bits_to_text(text)
    decoder = BitDecoder()
    for piece in pieces(data):
        decoder.feed(piece.decode("latin-1"))


async def _talk(data: bytes) -> None:
    """What a host does with what an agent says: lines, and after `ready` perhaps frames."""
    pipe = FramedStream(Memory(data), 1_000)
    encoding: Encoding = "json"
    while True:
        message = decode_from_agent(await pipe.receive(), encoding)
        if isinstance(message, Ready) and encoding == "json" and message.encoding == "msgpack":
            pipe.use_frames()
            encoding = "msgpack"


async def _web(data: bytes, *, server: bool) -> None:
    payloads = WebSocketStream(Memory(data), server=server, max_bytes=1_000)
    if server:
        await payloads.accept(browsers=False)
    else:
        await payloads.connect("arena.example")
    while True:
        await payloads.receive()


def _learning_track(data: bytes) -> None:
    protocol = ServerProtocol()
    protocol.ask("START")
    for piece in pieces(data):
        protocol.feed(piece)
        while (answer := protocol.next_answer()) is not None:
            read_action(answer)
            read_choice(answer)


def _learning_client(data: bytes) -> None:
    client_protocol = ClientProtocol()
    for piece in pieces(data):
        client_protocol.feed(piece)
        while (message := client_protocol.next_message()) is not None:
            read_state(message.payload)


def _zmtp(data: bytes) -> None:
    peer = ZmtpPeer()
    for piece in pieces(data):
        peer.feed(piece)
        while peer.next_message() is not None:
            peer.take_output()


def _journal(suffix: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"run{suffix}"
            path.write_bytes(data)
            for _event in read_journal(path):
                pass

    return read


def _written(suffix: str) -> bytes:
    """A journal as it is written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        run("micro1", "random", steps=5, clock="virtual", journal=path)
        return path.read_bytes()


# The table.

_VALUE = {"picture": np.zeros((2, 2), np.uint8), "deep": [1, -2.5, None, {"text": "é"}]}
_SAID = (Join("x"), Ready(), Ready(("act",), "msgpack"), Answer(1, _VALUE), Skip(2))
_TOLD = (Hello(1, 0, 1, 5, "act=1s"), Ask(0, "act", _VALUE, 1, 10**9))
_ZMTP = (
    b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0"
    + b"NULL".ljust(52, b"\0")
    + b"\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PAIR"
)
_ZMTP_2 = b"\xff\0\0\0\0\0\0\0\x01\x7f\x01\0\0\0"
_TALKS = tuple(
    b"".join(encode(message, "json") + b"\n" for message in _SAID[start:end])
    + b"".join(frame(encode(message, "msgpack")) for message in _SAID[end:])
    for start, end in ((0, 5), (1, 3), (2, 3))
)
_REQUEST = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_RESPONSE = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
_FRAMES = (
    b"\x81\x82\x00\x00\x00\x00{}\x89\x80\x00\x00\x00\x00\x01\x81\x00\x00\x00\x00a\x80\x81\x00\x00\x00\x00b"
)
_STATE = (
    b'{"phase":"ACT","gameTick":3,"availableActions":["ACTION_USE"],"avatarResources":{"1":2},'
    b'"worldDimension":[10,10],"unknown":{},"observationGrid":[[[{"category":1,"itype":2,"obsID":3,'
    b'"position":{"x":1.0,"y":2.0}}]]]}'
)
_WIRE = (AgentFault,)
_STREAM = (AgentFault, trio.EndOfChannel, FrameError, LineError)
_WEB = (trio.EndOfChannel, trio.BrokenResourceError, FrameError)
_PLAIN_JOURNAL = _written(".jsonl")

DECODERS: Mapping[str, Decoder] = {
    "arrays in json": Decoder(json_decoder(), (CodecError,), (json_encoder().encode(_VALUE),)),
    "arrays in msgpack": Decoder(msgpack_decoder(), (CodecError,), (msgpack_encoder().encode(_VALUE),)),
    "bits": Decoder(_bits, (CodecError,), (b"0100000101000010", b"11")),
    "frames": Decoder(_frames, (FrameError,), (frame(b"abc") + frame(b""),)),
    "lines": Decoder(_lines, (LineError,), (b"one\r\ntwo\n\n",)),
    **{
        f"wire from an agent in {encoding}": Decoder(
            lambda data, encoding=encoding: decode_from_agent(data, encoding),  # type: ignore[misc]
            _WIRE,
            tuple(encode(message, encoding) for message in _SAID),
        )
        for encoding in ("json", "msgpack")
    },
    **{
        f"wire from a host in {encoding}": Decoder(
            lambda data, encoding=encoding: decode_to_agent(data, encoding),  # type: ignore[misc]
            (CodecError,),
            tuple(encode(message, encoding) for message in _TOLD),
        )
        for encoding in ("json", "msgpack")
    },
    "wire as a stream": Decoder(lambda data: now(_talk(data)), _STREAM, _TALKS),
    "websocket server": Decoder(
        lambda data: now(_web(data, server=True)), _WEB, (_REQUEST, _REQUEST + _FRAMES)
    ),
    "websocket client": Decoder(
        lambda data: now(_web(data, server=False)), _WEB, (_RESPONSE, _RESPONSE + _FRAMES)
    ),
    "learner of round 1": Decoder(lambda data: read_reply([data]), (), (b"a", "é".encode(), b"ab")),
    "learning track, server": Decoder(
        _learning_track, (LineError, Overspent), (b"0#ACTION_USE#JSON\n0#ACTION_NIL#BOTH\r\n", b"0#2\n")
    ),
    "learning track, client": Decoder(_learning_client, (LineError,), (b"0#" + _STATE + b"\n",)),
    "zmtp": Decoder(_zmtp, (ZmtpError,), (_ZMTP + b"\0\x05hello", _ZMTP_2 + b"\1\1a\0\1b")),
    "language model": Decoder(read_completion, (Failure,), (b'{"choices":[{"message":{"content":"x"}}]}',)),
    "move of a language model": Decoder(
        lambda data: _MOVES.read(data.decode("latin-1")),
        (InvalidAnswer,),
        (b'{"action": {"move": 3, "say": [0, 2]}}',),
    ),
    "speech of a language model": Decoder(
        lambda data: read_speech(data.decode("latin-1")), (InvalidAnswer,), (b'{"say": "hello"}',)
    ),
    "event of a journal": Decoder(decode_events, (CodecError,), tuple(_PLAIN_JOURNAL.splitlines())),
    "schema of a journal": Decoder(schema_of, (CodecError,), (_PLAIN_JOURNAL.splitlines()[0],)),
    "journal": Decoder(_journal(".jsonl"), (JournalError,), (_PLAIN_JOURNAL,)),
    "compressed journal": Decoder(
        _journal(".jsonl.zst"), (JournalError, UsageError), (_written(".jsonl.zst"),)
    ),
}


def nested(opening: bytes, closing: bytes) -> bytes:
    """Something so deep that no stack holds it."""
    return opening * 50_000 + closing * 50_000


DEEP = (
    nested(b"[", b"]"),
    nested(b'{"a":', b"}"),
    b'{"type":"answer","number":1,"action":' + nested(b"[", b"]") + b"}\n",
    b'{"type":"answer","number":1,"mood":' + nested(b"[", b"]") + b"}\n",
    b'0#{"phase":"ACT","mood":' + nested(b"[", b"]") + b"}\n",
    b'{"event":"match","schema":1,"mood":' + nested(b"[", b"]") + b"}\n",
    b"\x91" * 100_000,
    msgspec.msgpack.encode({"type": "answer"})[:-1] + b"\x91" * 100_000,
)
