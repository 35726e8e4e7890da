"""Hosts that listen at an address of this machine, and keep its port open over a series of matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Generic, TypeVar

import trio

from flagfall.agents.admission import Admission, checked_address, checked_port, try_port
from flagfall.errors import UsageError
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.seat import HostSeat
from flagfall.timing import TimeControl

AdmissionT = TypeVar("AdmissionT", bound=Admission[Any, Any])


class ListeningHost(ABC, Generic[AdmissionT]):
    """Base of hosts that wait for an agent to connect, and play the seat with it.

    The port is bound while a match is played, or over a whole series (`open_series`). A subclass calls
    `try_port` when its other arguments are checked, so that a wrong port is reported before anything is
    played.

    Args:
        address: an IP address of this machine, `localhost`, or `*` for all.
        port: the port to bind, 1 to 65535.

    Raises:
        UsageError: the address or the port is invalid.
    """

    def __init__(self, address: str, port: int, name: str) -> None:
        self.name = name
        self.port: int = checked_port(port)
        self.address: str = checked_address(address)
        self._series: AdmissionT | None = None

    @abstractmethod
    def make_admission(self) -> AdmissionT:
        """Return a new admission of agents."""

    @abstractmethod
    async def play(
        self, admission: AdmissionT, seat: HostSeat, briefing: Briefing, start: Envelope, *, in_series: bool
    ) -> None:
        """Play one match with an agent that is admitted.

        Raises:
            AgentFault: the agent broke down.
            UsageError: two seats are to be played at one address.
        """

    @property
    def measures_cpu(self) -> bool:
        """True if the CPU time of the agent is known here."""
        return False

    def try_port(self) -> None:
        """Bind the port for a moment; raises `UsageError` if it cannot be bound."""
        try_port(self.address, self.port)

    def check(self, control: TimeControl) -> None:
        """Check that a time control can time the agent; the message of a `UsageError` says why not."""
        if control.clock == "cpu" and not self.measures_cpu:
            raise UsageError(
                f"clock=cpu cannot time {self.name}: the CPU time of a program that flagfall did not start is"
                " not known here; use clock=wall, or let flagfall start the agent"
            )

    @asynccontextmanager
    async def series(self) -> AsyncIterator[None]:
        """Keep the port open over several matches; see `open_series`."""
        admission = self.make_admission()
        async with admission.listening(self.address, self.port):
            self._series = admission
            try:
                yield
            finally:
                self._series = None

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        try:
            start = await seat.agent.turn()
        except trio.EndOfChannel:
            return
        self.check(seat.budget.control)
        if self._series is not None:
            await self.play(self._series, seat, briefing, start, in_series=True)
            return
        admission = self.make_admission()
        async with admission.listening(self.address, self.port):
            await self.play(admission, seat, briefing, start, in_series=False)


@asynccontextmanager
async def open_series(hosts: Iterable[object]) -> AsyncIterator[None]:
    """Keep open, over several matches, what the hosts among these need: the ports that agents connect to.

    Without it a host opens its port for each match anew, and an agent that comes too early has to try again.

    Args:
        hosts: agent hosts of any kind; one that is given twice is opened once.

    Raises:
        HostFault: a port cannot be bound.
    """
    async with AsyncExitStack() as stack:
        for host in {id(host): host for host in hosts}.values():
            if isinstance(host, ListeningHost):
                await stack.enter_async_context(host.series())
        yield
