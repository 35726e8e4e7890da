"""The agent's end of the agent protocol: loads an agent, and plays it in the loop that it is written for.

`python -m flagfall.agents` speaks the protocol (`flagfall.agents.wire.messages`) over its standard input and
output. What the agent prints goes to the standard error instead. `--check SPEC` only loads the agent; the
exit code says if it could.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import trio
from msgspec import UNSET

from flagfall.agents.agent import adapt, play_seat, resolve
from flagfall.agents.registry import load_agent
from flagfall.agents.wire.messages import (
    Answer,
    Ask,
    Bye,
    Failed,
    FromAgent,
    Hello,
    Ready,
    Skip,
    ToAgent,
    decode_to_agent,
    encode,
)
from flagfall.errors import AgentFault, UsageError
from flagfall.kernel.agent_seat import SeatTurns
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, NEED_MORE, Framer, LineReader, frame
from flagfall.kernel.channels.pipes import READ_BYTES
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.safe_values import to_recordable
from flagfall.kernel.spaces import Spaces, TaskDescription, has_arrays
from flagfall.kernel.tracebacks import agent_traceback, hide_frames
from flagfall.kernel.usage import Usage
from flagfall.timing import NEVER_NS, ElapsedTimer, NowNs

if TYPE_CHECKING:
    import asyncio

hide_frames(__file__)

_METHODS: Final = ("start", "init", "act", "reply", "result", "close", "run")

Readable = Callable[[int], Any]
"""Waits until a descriptor can be read, by the event loop that runs."""


class TurnTimes:
    """Times at which an agent that shares its host's clock took its newest turn and made its answer.

    Written in the agent's thread and read in the host's: each value is set as a whole.
    """

    def __init__(self, now: NowNs) -> None:
        self.now = now
        self._took = self._made = (-NEVER_NS, 0)

    def take(self, number: int) -> None:
        """Note that the agent takes a turn now."""
        self._took = (number, self.now())

    def make(self, number: int) -> None:
        """Note that its answer is sent now; an answer to a turn that it does not have is ignored."""
        if number == self._took[0] != self._made[0]:
            self._made = (number, self.now())

    def of(self, number: int) -> tuple[int | None, int | None]:
        """Return both times of a turn, each `None` if it has not happened yet."""
        took, made = self._took, self._made
        return (took[1] if took[0] == number else None, made[1] if made[0] == number else None)


def serve(
    read_fd: int, write_fd: int, load: Callable[[str], Any], times: TurnTimes | None = None
) -> Failed | None:
    """Play one match over a pair of descriptors; returns when it is over.

    Args:
        write_fd: the descriptor to write messages to; blocking.
        times: takes the time of each turn and answer, if the host lives by the same clock.

    Returns:
        The failure that was reported to the host, if the agent broke down.
    """
    end = _Descriptors(read_fd, write_fd)
    link = _Link(end, times)
    with _Failure(link) as failure:
        hello = _now(link.receive_hello())
        if hello.spaces is None or has_arrays(hello.spaces.observation):
            importlib.import_module("numpy")  # or the first turn would pay for it
        agent = load(hello.agent or "")
        loop = _loop_of(agent)
        if loop == "asyncio":
            import asyncio  # noqa: PLC0415 - few agents need it, and it takes as long as half of this package

            end.wait = _asyncio_readable
            asyncio.run(_serve(link, hello, agent))
        elif loop == "trio":
            end.wait = trio.lowlevel.wait_readable
            trio.run(_serve, link, hello, agent)
        else:
            _now(_serve(link, hello, agent))
    return failure.reported


async def serve_in_loop(end: AgentsEnd, agent: Any, now: NowNs) -> Failed | None:
    """Play one match over a stream in the event loop of trio that runs; returns as `serve` does.

    Args:
        agent: the agent, of any kind that a loop of trio plays.
        now: the clock of its timer.
    """
    link = _Link(end, None, now)
    with _Failure(link) as failure:
        await _serve(link, await link.receive_hello(), agent)
    return failure.reported


class _Failure:
    """Reports to the host whatever stops an agent.

    Attributes:
        reported: what was reported; `None` for nothing.
    """

    def __init__(self, link: _Link) -> None:
        self.reported: Failed | None = None
        self._link = link

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, trio.Cancelled):  # the loop is not its own
            return False
        if error is not None and not isinstance(error, _HostGone):
            reason = error.reason if isinstance(error, AgentFault) else "crashed"
            self.reported = Failed(reason if self._link.ready else "not started", _report(error))
            with suppress(_HostGone):
                self._link.send(self.reported)
        return True


async def _serve(link: _Link, hello: Hello, agent: Any) -> None:
    seat = _WireSeat(link)
    played = adapt(agent, seat.timer)
    seat.learn(hello)
    briefing = Briefing(
        hello.seat,
        hello.seats,
        hello.seed,
        hello.time_control,
        lambda: seat.spaces,
        seat.note,
        lambda: seat.task,
        lambda: seat.text,
        () if hello.transcript is UNSET else hello.transcript,
        lambda: seat.noted,
        seat.use,
    )
    await resolve(played.start(briefing))
    link.send_ready(played.wants, texts=played.texts)
    try:
        await play_seat(played, seat)
    except trio.EndOfChannel:
        pass
    finally:
        await resolve(played.close())


class _HostGone(Exception):
    """The host closed its end without `bye`."""


class AgentsEnd(Protocol):
    """The agent's end of a stream of bytes."""

    async def read(self) -> bytes:
        """Read what is there, and wait until there is something; empty when the host has closed."""

    def write(self, data: bytes) -> None:
        """Write all of it; raises `ConnectionError` if the host has closed."""


class _Descriptors:
    """A pair of descriptors.

    Attributes:
        wait: waits for input, by the event loop that runs; `None` where none does.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.wait: Readable | None = None
        self._read_fd, self._write_fd = read_fd, write_fd

    async def read(self) -> bytes:
        if self.wait is not None:
            await self.wait(self._read_fd)
        try:
            return os.read(self._read_fd, READ_BYTES)
        except ConnectionError:  # a socket that was closed while data was on its way
            return b""

    def write(self, data: bytes) -> None:
        sent = os.write(self._write_fd, data)
        if sent < len(data):  # it is longer than the pipe
            left = memoryview(data)[sent:]
            while left:
                left = left[os.write(self._write_fd, left) :]


class _Link:
    """Messages over a stream, for any event loop: lines of JSON, then frames of MessagePack."""

    def __init__(self, end: AgentsEnd, times: TurnTimes | None, now: NowNs = time.perf_counter_ns) -> None:
        self.ready = False
        self.times = times
        self.now = now
        self._end = end
        self._lines = LineReader(MAX_FRAME_BYTES)
        self._framer = Framer()

    async def receive_hello(self) -> Hello:
        message = await self.receive()
        if not isinstance(message, Hello):
            raise UsageError(f"expected hello from the host, got {message}")
        return message

    async def receive(self) -> ToAgent:
        if not self.ready:
            while (line := self._lines.next_line()) is None:
                self._lines.feed(await self._read())
            return decode_to_agent(line, "json")
        framer = self._framer
        payload = framer.next_frame() if framer.buffered_bytes else NEED_MORE
        while payload is NEED_MORE:
            payload = framer.feed_and_take(await self._read())
        return decode_to_agent(payload, "msgpack")

    async def _read(self) -> bytes:
        data = await self._end.read()
        if not data:
            raise _HostGone
        return data

    def send(self, message: FromAgent) -> None:
        if self.ready:
            data = frame(encode(message, "msgpack"))
            if self.times is not None and isinstance(message, Answer):
                self.times.make(message.number)
            self._write(data)
        else:
            self._write(encode(message, "json") + b"\n")

    def send_ready(self, wants: Iterable[Any], *, texts: bool) -> None:
        self.send(Ready(tuple(sorted(wants)), "msgpack", texts=texts))
        self._framer.feed(self._lines.take_rest())
        self.ready = True

    def _write(self, data: bytes) -> None:
        try:
            self._end.write(data)
        except ConnectionError:
            raise _HostGone from None


class _WireSeat(SeatTurns):
    """The seat of an agent at this end of the protocol, as `flagfall.kernel.agent_seat.Seat` in the loop."""

    def __init__(self, link: _Link) -> None:
        self._time: tuple[int, int, object] = link.now(), NEVER_NS, None
        self._left: tuple[int | None, int | None] = None, None
        self.timer = ElapsedTimer(link.now, lambda: self._time, lambda: self._left)
        self.wants: frozenset[str] = frozenset({"act"})
        self._link = link
        self._taken: Envelope | None = None
        self._answered = -NEVER_NS
        self._note: Any = UNSET
        self._used: Usage | None = None
        self.spaces: Spaces | None = None
        self.task: TaskDescription | None = None
        self.text = ""
        self.noted: Any = None

    def learn(self, message: Hello | Ask) -> None:
        """Take what a message tells of the task."""
        if message.spaces is not UNSET:
            self.spaces = message.spaces
        if message.task is not UNSET:
            self.task = message.task

    async def turn(self) -> Envelope:
        if self._taken is not None:
            self._link.send(Skip(self._taken.number))
            self._taken = None
        message = await self._link.receive()
        if isinstance(message, Bye):
            raise trio.EndOfChannel
        assert isinstance(message, Ask)
        limit_ns = NEVER_NS if message.limit_ns is None else message.limit_ns
        self.learn(message)
        self.text = "" if message.text is UNSET else message.text
        envelope = self._taken = message.envelope
        self.noted = envelope.noted
        self._time = self._link.now(), limit_ns, envelope.late
        self._left = message.left
        if self._link.times is not None:
            self._link.times.take(envelope.number)
        return envelope

    def reply(self, action: Any = None, number: int | None = None) -> None:
        if number is None:
            number = self._answered if self._taken is None else self._taken.number
        if self._taken is not None and number == self._taken.number:
            self._taken = None
            self._answered = number
        note, self._note = self._note, UNSET
        if self._used is not None:
            note, self._used = self._used.added_to(None if note is UNSET else note), None
        self._link.send(Answer(number, action, note))

    def note(self, value: Any) -> None:
        self._note = to_recordable(value)

    def use(self, usage: Usage) -> None:
        """Add what a language model used to the note on the turn that is answered next."""
        self._used = usage if self._used is None else self._used + usage


async def _asyncio_readable(fd: int) -> None:
    import asyncio  # noqa: PLC0415 - see `serve`

    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(fd, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _loop_of(agent: Any) -> str:
    """Return the event loop that an agent is written for: its attribute `loop`, else trio if it is async."""
    loop = getattr(agent, "loop", None)
    if loop in {"asyncio", "trio"}:
        return str(loop)
    methods = [agent, *(getattr(agent, name, None) for name in _METHODS)]
    return "trio" if any(inspect.iscoroutinefunction(method) for method in methods) else "none"


def _now(coroutine: Any) -> Any:
    """Run a coroutine that never waits, and return its value."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise UsageError("a plain agent returned something to wait for: make its methods async")


def _report(error: BaseException) -> str:
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, AgentFault):
        return error.detail
    return agent_traceback(error)


def main(arguments: list[str]) -> int:
    """Run the program; return its exit code.

    Args:
        arguments: `--check SPEC`, or none to play a match.
    """
    if arguments[:1] == ["--check"]:
        try:
            load_agent(arguments[1])
        except UsageError as error:
            print(error, file=sys.stderr)  # noqa: T201 - it is a program here
            return 2
        return 0
    return 0 if serve(*take_standard_streams(), load_agent) is None else 1


def end_process(code: int) -> None:
    """End the process at once if the exit code is not 0; else it ends by itself.

    Its host waits for the exit code, and Python takes 80 ms to clean up after numpy.
    """
    if code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def take_standard_streams() -> tuple[int, int]:
    """Return descriptors of the standard input and output for the protocol alone.

    From now on reading the standard input gives nothing, and what is printed goes to the standard error, line
    by line: otherwise it would be lost with an agent that is killed, and come too late for its turn.
    """
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    if isinstance(sys.stdout, io.TextIOWrapper):  # it may have none
        sys.stdout.reconfigure(line_buffering=True)
    return read_fd, write_fd
