"""The other way round: one of our agents at a server of the original, whose clients keep the clock.

That server measures nobody's time but its own, and believes what a client says of its lateness. So does this
one say it, by the limits of a time control: an action that comes too late is withheld (`ACTION_NIL`), one
beyond the hard limit ends the level (`END_OVERSPENT`), and when the time for training is used up the next
answer at the end of a level ends it (`END_TRAINING`).
"""

from __future__ import annotations

__all__ = ["VisitReport", "visit"]

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.agent import AdaptedAgent, adapt
from flagfall.agents.loop import resolve
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.gvgai.protocol.framing import Message, Replier
from flagfall.gvgai.protocol.keywords import (
    END_OVERSPENT,
    FINISH,
    INIT_FAILED,
    START,
    START_DONE,
    START_FAILED,
    action_word,
    choice_word,
)
from flagfall.gvgai.protocol.state_decoder import Arrived, read_state
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.channels.lines import LineError
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.tracebacks import agent_traceback
from flagfall.tasks.vgdl.learning_track import END_OF_ROUND
from flagfall.timing import NEVER_NS, ElapsedTimer, TimeControl
from flagfall.timing.budget import is_late
from flagfall.timing.phases import Phase

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.views.state_observation import StateObservation

KNOCK_SECONDS: Final = 0.1
"""Between two tries to connect: the clients of the original may be started before their server, too."""

_INIT_DONE: Final = "INIT_DONE"


@attrs.define(eq=False)
class VisitReport:
    """How a session went, as the client saw it.

    Attributes:
        games: (validation, winner, score, last tick) of each level that ended.
        ticks: actions sent.
        late: of these, withheld.
        overspent: levels that were given up over the hard limit.
        finished: the server said `FINISH`.
        fault: why the agent left before that, if it broke down.
    """

    games: list[tuple[bool, str, float, int]] = attrs.Factory(list)
    ticks: int = 0
    late: int = 0
    overspent: int = 0
    finished: bool = False
    fault: str = ""

    @property
    def winners(self) -> Counter[str]:
        """How often each outcome was."""
        return Counter(winner for _, winner, _, _ in self.games)


async def visit(
    agent: Any,
    host: str,
    port: int,
    control: TimeControl,
    *,
    seed: int = 0,
    wait_seconds: float = 10.0,
    now: Callable[[], int] = time.perf_counter_ns,
    report: VisitReport | None = None,
) -> VisitReport:
    """Play a session at a server of the original.

    Args:
        agent: of any kind that is asked turn by turn, see `flagfall.agents.agent`.
        host: where the server listens.
        port: likewise.
        control: its `total` is the time for training.
        seed: for the agent.
        wait_seconds: how long to try to connect.
        now: the clock that the agent is measured with, in nanoseconds.
        report: is filled in as the session goes, and given back; a new one by default.

    Raises:
        UsageError: nobody listens there, or the agent is of no such kind.
        HostFault: the server says what is no message, or leaves in the middle of a line.
    """
    stream = await _connect(host, port, wait_seconds)
    async with stream:
        return await _Visit(agent, control, seed, now, report or VisitReport()).play(stream)


async def _connect(host: str, port: int, wait_seconds: float) -> trio.SocketStream:
    with trio.move_on_after(wait_seconds):
        while True:
            try:
                return await trio.open_tcp_stream(host, port)
            except OSError:
                await trio.sleep(KNOCK_SECONDS)
    raise UsageError(f"nobody listens at {host}:{port}: start the server first, or name another port")


class _Visit:
    """One session.

    Args:
        agent: see `visit`.
        control: likewise.
        seed: likewise.
        now: likewise.
        report: likewise.
    """

    def __init__(
        self, agent: Any, control: TimeControl, seed: int, now: Callable[[], int], report: VisitReport
    ) -> None:
        self._agent = agent
        self._control = control
        self._seed = seed
        self._now = now
        self._timer = ElapsedTimer(now)
        self._played: AdaptedAgent | None = None
        self._report = report
        self._began_ns = 0
        self._score = 0.0
        self._validates = False

    async def play(self, stream: trio.SocketStream) -> VisitReport:
        replier = Replier()
        try:
            while not self._report.finished:
                message = replier.next_message()
                if message is None:
                    data = await stream.receive_some()
                    if not data:
                        return self._report
                    replier.feed(data)
                elif message.payload == FINISH.encode():
                    self._report.finished = True
                else:
                    word = await self._answer(message)
                    await stream.send_all(replier.reply(message.number, word))
        except LineError as error:
            raise HostFault(str(error)) from error
        except AgentFault as fault:
            self._report.fault = str(fault)
        except trio.BrokenResourceError:
            return self._report
        finally:
            if self._played is not None:
                await resolve(self._played.close())
        return self._report

    async def _answer(self, message: Message) -> str:
        if message.payload == START.encode():
            return await self._start()
        if self._played is None:
            raise LineError("the server begins without START")
        came = read_state(message.payload)
        answers = {"INIT": self._init, "ACT": self._act}
        return await answers.get(came.phase, self._end)(self._played, came)

    async def _start(self) -> str:
        self._began_ns = self._now()
        self._set_timer(self._limit(self._control.start))
        try:
            self._played = adapt(self._agent, self._timer)
            briefing = Briefing(0, 1, self._seed, str(self._control))
            await resolve(self._played.start(briefing))
        except Exception as error:
            raise AgentFault("not started", agent_traceback(error)) from error
        if self._played.run is not None:
            raise UsageError("an agent that plays its seat itself (`run`) cannot visit a server")
        return START_FAILED if self._is_late() else START_DONE

    async def _init(self, played: AdaptedAgent, came: Arrived) -> str:
        self._validates = came.is_validation
        self._score = 0.0
        if "init" not in played.phases:
            return _INIT_DONE
        self._set_timer(self._limit(self._control.init))
        await self._ask(played.phases["init"], "init", came.state)
        return INIT_FAILED if self._is_late() else _INIT_DONE

    async def _act(self, played: AdaptedAgent, came: Arrived) -> str:
        self._report.ticks += 1
        self._set_timer(self._limit(self._control.act))
        action = await self._ask(played.answer, "act", came.state)
        control = self._control
        aborts_ns = control.act_hard if control.act_abort is None else control.act_abort
        if is_late(self._timer.elapsed_ns, self._limit(aborts_ns)):
            self._report.overspent += 1
            return END_OVERSPENT
        if self._is_late():
            self._report.late += 1
            return action_word("NIL")
        return action_word(action)

    async def _end(self, played: AdaptedAgent, came: Arrived) -> str:
        state = came.state
        self._report.games.append((self._validates, state.game_winner, state.game_score, state.game_tick))
        answer = None
        if "result" in played.phases:
            self._set_timer(max(self._left_ns(), self._limit(self._control.result)))
            answer = await self._ask(played.phases["result"], "result", state)
            if self._is_late():
                return END_OVERSPENT
        return END_OF_ROUND if self._left_ns() <= 0 else choice_word(answer)

    async def _ask(self, how: Callable[[Envelope], Any], phase: Phase, state: StateObservation) -> Any:
        reward, self._score = state.game_score - self._score, state.game_score
        try:
            return await resolve(how(Envelope(self._report.ticks, state, reward, phase)))
        except Exception as error:
            raise AgentFault("crashed", agent_traceback(error)) from error

    # The clock.

    @staticmethod
    def _limit(limit_ns: int | None) -> int:
        return NEVER_NS if limit_ns is None else limit_ns

    def _set_timer(self, limit_ns: int) -> None:
        self._timer.limit_ns = limit_ns
        self._timer.started_ns = self._now()

    def _is_late(self) -> bool:
        return is_late(self._timer.elapsed_ns, self._timer.limit_ns)

    def _left_ns(self) -> int:
        """What is left of the time for training."""
        total = self._control.total
        return NEVER_NS if total is None else total - (self._now() - self._began_ns)
