"""Hosts of agents elsewhere, over simulated connections: the real hosts, without sockets and processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from random import Random
from typing import Any, Final

import trio

from flagfall.agents.hosts.network import NetworkHost
from flagfall.agents.hosts.process import SubprocessHost
from flagfall.agents.process.isolation import DEFAULT_ISOLATION
from flagfall.agents.process.supervised import supervise
from flagfall.agents.wire.admission import AgentAdmission, JoinPolicy
from flagfall.agents.wire.client import Relay, ServerAddress
from flagfall.agents.wire.messages import Join, encode
from flagfall.agents.wire.session import MessageStream
from flagfall.agents.wire.worker import serve_in_loop
from flagfall.kernel.channels.pipes import ByteStream, FramedStream
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.seat import HostSeat
from flagfall.testing.faults import Fault
from flagfall.testing.simulation.injection import Injection
from flagfall.testing.simulation.links import AgentsPipe, End, Link, open_pair
from flagfall.testing.simulation.processes import SimulatedProcess, SimulatedSupervised

_POLICY: Final = JoinPolicy("simulated", reconnect=True)
_ADDRESS: Final = ("127.0.0.1", 1)


class SimulatedNetworkHost(NetworkHost):
    """Host of an agent that connects over a simulated network, and comes back when its connection is lost.

    Args:
        agent: the agent, of any kind that the event loop plays.
        programs: a nursery for the agent's program, which is no part of the match.
    """

    def __init__(
        self, agent: Any, name: str, seat: int, injection: Injection, programs: trio.Nursery
    ) -> None:
        self.network: SimulatedNetwork = SimulatedNetwork(seat, injection)
        super().__init__("tcp", _ADDRESS[1], _ADDRESS[0], _POLICY, name)
        self._agent = agent
        self._injection = injection
        self._programs = programs

    def try_port(self) -> None:
        """Do nothing: there is no port."""

    def make_admission(self) -> AgentAdmission:
        """Return a new admission of what connects over the simulated network."""
        return _Admission(self.network, self.name)

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        self._programs.start_soon(self._run_program, briefing.seed)
        await super().run(seat, briefing)

    async def _run_program(self, seed: int) -> None:
        """Run the agent's program: the real client, which connects, comes back, and plays the agent."""
        server = ServerAddress("tcp", *_ADDRESS, _POLICY.token, reconnect=True)
        relay = Relay(server, self.network.dial, random=Random(seed))
        ours, agents = open_pair(self._injection.now)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(relay.run, FramedStream(ours))
            await serve_in_loop(AgentsPipe(agents), self._agent, self._injection.now)
            agents.close()


class SimulatedNetwork:
    """The network between one host and the program of its agent."""

    def __init__(self, seat: int, injection: Injection) -> None:
        self._seat = seat
        self._injection = injection
        injection.places[seat] = self
        self._accept: trio.MemorySendChannel[End] | None = None
        self._up_at_ns = 0

    async def dial(self) -> MessageStream:
        """Connect to the host; raises `ConnectionRefusedError` while that is not possible."""
        await trio.lowlevel.checkpoint()
        if self._accept is None or self._injection.now() < self._up_at_ns:
            raise ConnectionRefusedError
        link = Link(self._seat, self._injection, self._lose)
        self._accept.send_nowait(link.hosts_end)
        return FramedStream(link.agents_end)

    def strike(self, fault: Fault) -> None:
        """Let another client connect, with a wrong token or without a word."""
        if self._accept is None:
            return
        self._injection.count(fault)
        ours, theirs = open_pair(self._injection.now)
        self._injection.hosts_ends.append(theirs)
        self._accept.send_nowait(theirs)
        if fault.kind == "intruder":
            ours.send(encode(Join("not the token"), "json") + b"\n")

    def _lose(self, for_ns: int) -> None:
        self._up_at_ns = self._injection.now() + for_ns

    async def serve(self, admission: _Admission) -> None:
        """Hand new connections to an admission until it is cancelled."""
        self._accept, connections = trio.open_memory_channel[End](_BACKLOG)
        try:
            async with trio.open_nursery() as nursery:
                async for end in connections:
                    nursery.start_soon(admission.take, end)
        finally:
            self._accept = None
            with suppress(trio.WouldBlock):  # as a system closes what a port has not accepted
                while True:
                    connections.receive_nowait().close()


_BACKLOG: Final = 1_000
"""Most connections that wait to be taken."""


class _Admission(AgentAdmission):
    """Admission of agents that connect over a simulated network."""

    def __init__(self, network: SimulatedNetwork, where: str) -> None:
        super().__init__(_POLICY, _open_lines, None, where)
        self._network = network

    @asynccontextmanager
    async def listening(self, address: str, port: int) -> AsyncIterator[None]:  # noqa: ARG002 - there is none
        async with self.served_by(partial(self._network.serve, self)):
            yield

    async def take(self, end: End) -> None:
        """Admit a new connection."""
        self.connected += 1
        await self.admit(_ADDRESS, partial(self._authenticate, end))

    async def _authenticate(self, end: End) -> Any:
        try:
            return await self.join(end, end.is_closed)
        except BaseException:
            end.close()
            raise


async def _open_lines(connection: ByteStream) -> MessageStream:
    return FramedStream(connection)


class SimulatedProcessHost(SubprocessHost):
    """Host of an agent in a simulated process (`flagfall.testing.simulation.processes`).

    Args:
        agent: the agent, of any kind that the event loop plays.
        programs: a nursery for the agent's process, which is no part of the match.
    """

    def __init__(
        self, agent: Any, name: str, seat: int, injection: Injection, programs: trio.Nursery
    ) -> None:
        super().__init__(name, (), DEFAULT_ISOLATION, tuple)
        self._played = agent
        self._seat = seat
        self._injection = injection
        self._programs = programs

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        link = Link(self._seat, self._injection)
        process = SimulatedProcess(self._played, link, self._injection)
        self._injection.places[self._seat] = process
        self._programs.start_soon(process.run)
        supervised = SimulatedSupervised(process)

        async def play(stack: ExitStack) -> None:
            stack.callback(link.cut)
            await self._play(seat, briefing, supervised, link.hosts_end)

        await supervise(supervised, seat, play)

    async def warm_up(self) -> None:
        """Do nothing: there is no fork server."""
