"""What passes the agent's end of a seat, noted beside the match: what a record is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from flagfall.errors import AgentFault
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import AgentHost, Briefing, HostKind
from flagfall.kernel.seat import HostSeat


class Take(NamedTuple):
    """A request that was taken.

    Attributes:
        since_ns: the agent was busy with nothing else since then: since it took the request, if it had to
            wait for that, and otherwise since its last answer.
        limit_ns: the time that the request had in all; `None` where a model of latency has let time pass
            since, in which a newer one may have come.
    """

    at_ns: int
    number: int
    since_ns: int
    limit_ns: int | None


class Answer(NamedTuple):
    """An answer that was given to the request of a number; `None` for one that was given to none."""

    at_ns: int
    number: int | None
    action: Any


@attrs.define(eq=False)
class SeatLog:
    """What an agent took and answered in a match, with virtual times in nanoseconds since its beginning.

    Attributes:
        fault: why its host says that it failed; `None` if it did not.
        reply_error: what an answer raised, which must not be; `None` for nothing.
    """

    takes: list[Take] = attrs.field(factory=list)
    answers: list[Answer] = attrs.field(factory=list)
    fault: AgentFault | None = None
    reply_error: BaseException | None = None


class LoggedHost:
    """A host whose seat is logged."""

    def __init__(self, host: AgentHost, log: SeatLog) -> None:
        self.name: str = host.name
        self.kind: HostKind = host.kind
        self._host = host
        self._log = log

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        log, origin_ns, agent = self._log, seat.now(), seat.agent
        take, answer = agent.turn, agent.reply
        taken: int | None = None

        async def turn() -> Envelope:
            nonlocal taken
            asked_ns = seat.now() - origin_ns
            envelope = await take()
            at_ns, taken = seat.now() - origin_ns, envelope.number
            if seat.delay is not None:
                log.takes.append(Take(at_ns, taken, seat.taken_ns - origin_ns, None))
            else:
                since_ns = log.answers[-1].at_ns if asked_ns == at_ns and log.answers else at_ns
                log.takes.append(Take(at_ns, taken, since_ns, seat.limit_ns))
            return envelope

        def reply(action: Any = None, number: int | None = None) -> None:
            log.answers.append(Answer(seat.now() - origin_ns, taken if number is None else number, action))
            try:
                answer(action, number)
            except BaseException as error:
                log.reply_error = error
                raise

        agent.turn, agent.reply = turn, reply
        try:
            await self._host.run(seat, briefing)
        except AgentFault as fault:
            log.fault = fault
            raise
