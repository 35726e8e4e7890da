"""The work of a turn over pipes: system calls, passes of the loop, and copies."""

from __future__ import annotations

import os
from typing import Any

import pytest
import trio

from flagfall.agents.wire.messages import Answer, Ask, Bye, Ready, decode_to_agent, encode
from flagfall.agents.wire.session import ProtocolChannel, WireSession
from flagfall.kernel.channels.framing import NEED_MORE, Framer, frame
from flagfall.kernel.channels.pipes import JOINED_BYTES, READ_BYTES, FramedStream, PipeStream
from flagfall.timing import VirtualClock
from tests.fakes import CountTask, play_here

TURNS = 400


class AnsweringPipe(PipeStream):
    """Pipes to an agent that runs as soon as it is written to, as on a shared core."""

    def __init__(self, *, at_once: bool) -> None:
        self._agent_reads, host_writes = os.pipe()
        host_reads, self._agent_writes = os.pipe()
        super().__init__(host_reads, host_writes)
        self._at_once = at_once
        self._framer: Framer | None = None
        self.calls = {"write": 0, "read": 0, "wait": 0}

    def write_nowait(self, data: bytes) -> int:
        self.calls["write"] += 1
        sent = super().write_nowait(data)
        if self._at_once:
            self.answer()
        else:
            trio.lowlevel.spawn_system_task(self._answer_later)
        return sent

    def read_nowait(self) -> bytes | None:
        self.calls["read"] += 1
        return super().read_nowait()

    async def read(self) -> bytes:
        self.calls["wait"] += 1
        return await super().read()

    async def _answer_later(self) -> None:
        self.answer()

    def answer(self) -> None:
        data = os.read(self._agent_reads, READ_BYTES)
        if self._framer is None:
            self._framer = Framer()
            os.write(self._agent_writes, encode(Ready(("act",), "msgpack"), "json") + b"\n")
            return
        self._framer.feed(data)
        while (payload := self._framer.next_frame()) is not NEED_MORE:
            message = decode_to_agent(payload, "msgpack")
            if isinstance(message, Ask):
                answer = Answer(message.number, message.observation % 100)
                os.write(self._agent_writes, frame(encode(answer, "msgpack")))
            if isinstance(message, Bye):
                self.end()

    def end(self) -> None:
        for fd in (self._agent_reads, self._agent_writes):
            os.close(fd)


class PipeHost:
    """Plays a seat over an `AnsweringPipe`."""

    kind = "task"
    name = "pipe"

    def __init__(self, *, at_once: bool) -> None:
        self._at_once = at_once
        self.calls: dict[str, int] = {}

    async def run(self, seat: Any, briefing: Any) -> None:
        await seat.agent.turn()
        pipe = AnsweringPipe(at_once=self._at_once)
        channel, session = ProtocolChannel(FramedStream(pipe)), WireSession(seat, briefing, "an agent")
        try:
            await session.start(channel)
            pipe.calls = dict.fromkeys(pipe.calls, 0)
            await session.play(channel)
            self.calls = dict(pipe.calls)
            await session.end(channel)
        finally:
            channel.close()


class Passes(trio.abc.Instrument):
    """Counts the steps of the tasks of a loop."""

    def __init__(self) -> None:
        self.steps = 0

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.steps += 1


def played(host: PipeHost) -> int:
    """Play a match without limits on the virtual clock; return the number of steps of all tasks."""
    passes = Passes()

    async def play() -> None:
        match = await play_here(CountTask(TURNS), host, control="untimed")
        assert match.actions() == [number % 100 for number in range(TURNS)]

    trio.run(play, clock=VirtualClock(), instruments=[passes])
    return passes.steps


def test_a_turn_whose_answer_is_there_takes_one_write_one_read_and_an_eighth_of_a_pass():
    host = PipeHost(at_once=True)
    steps = played(host)
    # The first turn waits, since the loop has to run first. The same with the turn that ends the match.
    assert host.calls == {"write": TURNS, "read": TURNS, "wait": 1}
    assert steps <= TURNS / 8 + 40


def test_a_turn_whose_answer_comes_later_takes_one_write_and_one_wait():
    host = PipeHost(at_once=False)
    steps = played(host)
    assert host.calls["write"] == host.calls["wait"] == TURNS
    assert steps <= 2 * TURNS + TURNS / 8 + 40  # one of them is a step of the agent here


@pytest.mark.parametrize("size", [0, 10, JOINED_BYTES, JOINED_BYTES + 1, 3 * READ_BYTES])
async def test_payloads_of_every_size_arrive_as_they_were_sent(size: int):
    ours, theirs = (os.pipe() for _ in range(2))
    host = FramedStream(PipeStream(ours[0], theirs[1]))
    agent = FramedStream(PipeStream(theirs[0], ours[1]))
    payload = os.urandom(size)
    for stream in (host, agent):
        stream.use_frames()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(host.send, payload)
            assert await agent.receive() == payload
        assert agent.receive_nowait() is None
        await agent.send(payload[:7])
        assert host.receive_nowait() == payload[:7]
    finally:
        host.close()
        with pytest.raises(trio.EndOfChannel):
            agent.receive_nowait()
        agent.close()


def test_a_chunk_that_is_one_frame_is_not_stored():
    framer = Framer(8)
    assert framer.feed_and_take(frame(b"whole")) == b"whole"
    assert framer.feed_and_take(frame(b"")) == b""
    assert framer.feed_and_take(frame(b"ab") + frame(b"c")) == b"ab"
    assert framer.buffered_bytes == len(frame(b"c"))
    assert framer.next_frame() == b"c"
    assert framer.feed_and_take(b"\0\0") is NEED_MORE
    assert framer.feed_and_take(b"\0\1x") == b"x"
