"""The think times of a seat's turns on the virtual clock, as its model of latency draws or measures them.

Rule 1: a time that is drawn passes after the agent has taken a turn, whose clock runs, and before it sees it.
    So verdicts are those of an agent that sleeps for as long before it thinks; what that takes itself is
    added. A time that is measured, by the rate of its work, passes between the work and the answer.
Rule 2: a delay belongs to its envelope. An agent that cancels its wait gets the same turn at the same time.
Rule 3: the time of a stall passes first, and is credited as it passes. So a limit that seems to be reached
    then is moved on, as after a real stall.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from flagfall.kernel.outcomes import derive_seed
from flagfall.timing.control import PHASES
from flagfall.timing.distributions import MAX_LATENCY_NS
from flagfall.timing.timekeeper import sleep_until_ns

if TYPE_CHECKING:
    from collections.abc import Coroutine

    import numpy as np

    from flagfall.kernel.channels.turn_channel import Envelope, TurnChannel
    from flagfall.timing import Timekeeper, VirtualClock
    from flagfall.timing.control import Phase
    from flagfall.timing.latency import SeatLatency
    from flagfall.timing.rates import Rate
    from flagfall.timing.turn_clock import TurnClock


class TurnDelay:
    """Delays the turns of a seat, from now on.

    Args:
        turn_clock: the clock of its turns.
        seed: the root seed of the match. Each part of the model draws from a stream of its own.
        clock: the clock of the event loop, whose deadlines are those of the keeper.

    Attributes:
        delay_ns: the time of the turn that was taken last that passed, or passes, before the agent sees it.
        rate: the rate of the agent's work, with the factor `cpu` in it; `None` if that is not measured.
    """

    __slots__ = (
        "_channel",
        "_clock",
        "_delays",
        "_keeper",
        "_put_back",
        "_ready_ns",
        "_turn_clock",
        "delay_ns",
        "rate",
    )

    def __init__(
        self,
        turn_clock: TurnClock,
        channel: TurnChannel,
        model: SeatLatency,
        seed: int,
        keeper: Timekeeper,
        clock: VirtualClock,
    ) -> None:
        self.delay_ns: int = 0
        self.rate: Rate | None = None if model.rate is None else model.rate.slowed(model.cpu)
        self._turn_clock = turn_clock
        self._channel = channel
        self._keeper = keeper
        self._clock = clock
        self._delays = {
            phase: model.delays(phase, partial(_generator, seed, turn_clock.rank, phase))
            for phase in (PHASES if model.draws else ())
        }
        self._put_back: Envelope | None = None
        self._ready_ns = 0

    def passes_at_once(self, envelope: Envelope, own_scopes: bool) -> bool:
        """Begin the delay of an envelope that was taken just now, and return whether it is over.

        Args:
            own_scopes: see `flagfall.timing.clocks.VirtualClock.jump`.
        """
        clock = self._clock
        if not self._delays:
            return True
        if envelope is self._put_back:
            self.delay_ns = max(0, self._ready_ns - clock.now_ns)
            return False
        self.delay_ns, stall_ns = next(self._delays[envelope.phase])
        self._ready_ns = ready_ns = clock.now_ns + self.delay_ns
        if stall_ns:
            self._turn_clock.not_lost_ns -= stall_ns
        return clock.jump(ready_ns, own_scopes)

    def spend(self, time_ns: int, own_scopes: bool) -> Coroutine[Any, Any, None] | None:
        """Let a measured think time pass at once; return the wait for it where that would not be the same.

        Args:
            time_ns: at most `MAX_LATENCY_NS` of it pass.
            own_scopes: see `flagfall.timing.clocks.VirtualClock.jump`.
        """
        until_ns = self._clock.now_ns + min(time_ns, MAX_LATENCY_NS)
        return None if self._clock.jump(until_ns, own_scopes) else sleep_until_ns(self._keeper, until_ns)

    async def sleep(self, envelope: Envelope) -> None:
        """Let the delay of the envelope pass; meanwhile it cannot be answered."""
        channel = self._channel
        channel.begin_delivery()
        try:
            await sleep_until_ns(self._keeper, self._ready_ns)
        except BaseException:
            channel.put_back()
            self._put_back = envelope
            raise
        channel.deliver()


def _generator(seed: int, seat: int, phase: Phase, part: str) -> np.random.Generator:
    from numpy.random import default_rng  # noqa: PLC0415 - takes 0.1 s, and few matches have a model

    return default_rng(derive_seed(seed, "latency", seat, phase, part))
