"""Client for one of our agents at a server of the original, whose clients keep the clock.

That server measures only its own time, and relies on clients to report their lateness. This client does so,
by the limits of a time control: a late action is withheld (`ACTION_NIL`), one beyond the hard limit ends the
level (`END_OVERSPENT`), and when the time for training is used up, the next answer at the end of a level ends
the training (`END_TRAINING`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.agent import AdaptedAgent, adapt, resolve
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.gvgai.protocol import (
    END_OVERSPENT,
    FINISH,
    INIT_FAILED,
    START,
    START_DONE,
    START_FAILED,
    ClientProtocol,
    Message,
    action_word,
    choice_word,
)
from flagfall.gvgai.states import StateMessage, read_state
from flagfall.kernel.channels.framing import LineError
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.tracebacks import agent_traceback
from flagfall.recording.match_logs import PlainEvents
from flagfall.tasks.vgdl.learning_track import END_OF_ROUND
from flagfall.timing import NEVER_NS, ElapsedTimer, TimeControl
from flagfall.timing.budget import is_late
from flagfall.timing.control import Phase

if TYPE_CHECKING:
    from flagfall.events import Verdict
    from flagfall.kernel.dispatcher import Sink
    from flagfall.tasks.vgdl.views.observer import StateObservation

CONNECT_RETRY_SECONDS: Final = 0.1
"""Time between attempts to connect: clients may be started before their server, as with the original."""

_INIT_DONE: Final = "INIT_DONE"


@attrs.define(eq=False)
class ClientReport:
    """Report of a session by the client.

    Attributes:
        games: (validation, winner, score, last tick) of each level that ended.
        late: of these, withheld ones.
        overspent: levels given up for an action beyond the hard limit.
        finished: the server has sent `FINISH`.
        fault: error of the agent that ended the session before that.
    """

    games: list[tuple[bool, str, float, int]] = attrs.Factory(list)
    ticks: int = 0
    late: int = 0
    overspent: int = 0
    finished: bool = False
    fault: str = ""

    @property
    def winners(self) -> Counter[str]:
        """Count of each outcome."""
        return Counter(winner for _, winner, _, _ in self.games)


async def play_remote(
    agent: Any,
    host: str,
    port: int,
    control: TimeControl,
    *,
    seed: int = 0,
    wait_seconds: float = 10.0,
    now: Callable[[], int] = time.perf_counter_ns,
    report: ClientReport | None = None,
    sinks: Sequence[Sink] = (),
) -> ClientReport:
    """Play a session at a server of the original.

    Args:
        agent: any agent that is asked turn by turn, see `flagfall.agents.agent`.
        control: time control; its `total` is the time for training.
        now: clock that times the agent, in nanoseconds.
        report: is updated during the session and returned; a new one by default.
        sinks: take events as those of a match; a task is a level.

    Raises:
        UsageError: no server listens there, or the agent has no supported interface.
        HostFault: the server sends an invalid message, or closes the connection within a line.
    """
    stream = await _connect(host, port, wait_seconds)
    async with stream:
        name = f"{host}:{port}"
        label = getattr(agent, "__name__", None) or type(agent).__name__
        events = PlainEvents(
            sinks, [name], label, seed, scheduler="server", time_control=str(control), now=now
        )
        game = _RemoteGame(agent, control, seed, now, report or ClientReport(), name, events)
        played = await game.play(stream)
        events.end("finished" if played.finished else "seats" if played.fault else "stopped", played.fault)
        return played


async def _connect(host: str, port: int, wait_seconds: float) -> trio.SocketStream:
    with trio.move_on_after(wait_seconds):
        while True:
            try:
                return await trio.open_tcp_stream(host, port)
            except OSError:
                await trio.sleep(CONNECT_RETRY_SECONDS)
    raise UsageError(f"no server listens at {host}:{port}: start it first, or use another port")


@attrs.define(eq=False)
class _RemoteGame:
    """One session; see `play_remote` for the arguments."""

    _agent: Any
    _control: TimeControl
    _seed: int
    _now: Callable[[], int]
    _report: ClientReport
    _name: str
    _events: PlainEvents
    _turn: tuple[int, int, object] = 0, NEVER_NS, None
    _played: AdaptedAgent | None = None
    _level_reward: float = 0.0
    _level_ticks: int = 0
    _began_ns: int = 0
    _score: float = 0.0
    _validates: bool = False
    _timer: ElapsedTimer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._set_timer(NEVER_NS)
        self._timer = ElapsedTimer(self._now, lambda: self._turn)

    async def play(self, stream: trio.SocketStream) -> ClientReport:
        protocol = ClientProtocol()
        try:
            while not self._report.finished:
                message = protocol.next_message()
                if message is None:
                    data = await stream.receive_some()
                    if not data:
                        return self._report
                    protocol.feed(data)
                elif message.payload == FINISH.encode():
                    self._report.finished = True
                else:
                    word = await self._answer(message)
                    await stream.send_all(protocol.reply(message.number, word))
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
            raise LineError("the first message of the server is not START")
        state_message = read_state(message.payload)
        answers = {"INIT": self._init, "ACT": self._act}
        return await answers.get(state_message.phase, self._end)(self._played, state_message)

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

    async def _init(self, played: AdaptedAgent, message: StateMessage) -> str:
        self._validates = message.is_validation
        self._score = self._level_reward = 0.0
        self._level_ticks = 0
        self._events.begin_task(self._name, len(self._report.games), self._seed)
        if "init" not in played.phases:
            return _INIT_DONE
        self._set_timer(self._limit(self._control.init))
        await self._ask(played.phases["init"], "init", message.state)
        return INIT_FAILED if self._is_late() else _INIT_DONE

    async def _act(self, played: AdaptedAgent, message: StateMessage) -> str:
        self._report.ticks += 1
        self._set_timer(self._limit(self._control.act))
        reward = message.state.game_score - self._score
        action = await self._ask(played.answer, "act", message.state)
        word, verdict = self._judge(action)
        self._level_reward += reward
        self._level_ticks += 1
        self._events.turn(message.state, reward, word, self._timer.elapsed_ns, verdict)
        return word

    def _judge(self, action: Any) -> tuple[str, Verdict]:
        """Return the word to send for an action, and the verdict of the clock."""
        control = self._control
        aborts_ns = control.act_hard if control.act_abort is None else control.act_abort
        if is_late(self._timer.elapsed_ns, self._limit(aborts_ns)):
            self._report.overspent += 1
            return END_OVERSPENT, "overrun"
        if self._is_late():
            self._report.late += 1
            return action_word("NIL"), "late"
        return action_word(action), "on time"

    async def _end(self, played: AdaptedAgent, message: StateMessage) -> str:
        state = message.state
        self._level_reward += state.game_score - self._score
        won = {"PLAYER_WINS": True, "PLAYER_LOSES": False}.get(state.game_winner)
        index = len(self._report.games)
        self._events.end_task(Outcome(self._name, index, won, self._level_reward, self._level_ticks))
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

    @staticmethod
    def _limit(limit_ns: int | None) -> int:
        return NEVER_NS if limit_ns is None else limit_ns

    def _set_timer(self, limit_ns: int) -> None:
        self._turn = self._now(), limit_ns, None

    def _is_late(self) -> bool:
        return is_late(self._timer.elapsed_ns, self._timer.limit_ns)

    def _left_ns(self) -> int:
        """Return the remaining time for training."""
        total = self._control.total
        return NEVER_NS if total is None else total - (self._now() - self._began_ns)
