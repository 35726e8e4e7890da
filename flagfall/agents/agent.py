"""The kinds of agents, and the adapter that calls them all alike.

- a function of the observation, `async def act(observation)` or a plain one;
- an object (or a class) with `act(observation)`, and any of `start`, `init`, `result`, `close`;
- a byte agent: an object (or a class) with `reply(byte, reward)`;
- a learner of round 1: an object (or a class) with `next(token)` and `reward(reward)`;
- a full actor: an object (or a class) with `async run(seat)`, or an async function whose only parameter
  is called `seat`. It may go on thinking while the environment waits.

Every method may be plain or async. A method or function that takes one argument more than its
observation gets the timer of the turn (`flagfall.timing.ElapsedTimer`): the time left, and the verdict of a
turn that was late. A `result` whose second argument has `timer` in its name gets the timer instead of the
reward, as agents of GVGAI do.
"""

from __future__ import annotations

__all__ = ["AdaptedAgent", "Agent", "adapt"]

import inspect
from collections.abc import Awaitable, Callable
from types import FunctionType, MethodType
from typing import Any, Final, Protocol, TypeAlias

import attrs

from flagfall.agents.round1.learner import is_round1_learner, learner_answer
from flagfall.errors import UsageError
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.tracebacks import hide_frames
from flagfall.timing import ElapsedTimer

hide_frames(__file__)

_ACTS: Final = frozenset({"act"})

Answer: TypeAlias = Callable[[Envelope], Any]
"""Returns the answer to an envelope, or an awaitable of it."""


class AgentSeat(Protocol):
    """The seat as an agent sees it, in the event loop or at the other end of a connection."""

    timer: ElapsedTimer
    wants: frozenset[str]

    async def turn(self) -> Envelope:
        """Return the newest turn; raises `trio.EndOfChannel` (in the loop and under trio) at the end."""

    def reply(self, action: Any = None, number: int | None = None) -> Any:
        """Answer a turn; by default the newest."""

    def note(self, value: Any) -> None:
        """Attach a note to the turn that is answered next."""


class Agent:
    """A base class with all methods of an agent; agents need not derive from it.

    Only `act` is required. Each method may be `async`, and may take `timer` as one more argument.
    """

    def start(self, briefing: Briefing) -> None:
        """Prepare for the match: load what is needed, within the time control's `start`.

        Args:
            briefing: seat, seed, time control and spaces.
        """

    def init(self, observation: Any) -> None:
        """Prepare for a task, within `init`. Not called in a byte stream.

        Args:
            observation: the first observation of the task.
        """

    def act(self, observation: Any) -> Any:
        """Choose an action within `act`; after that time the task's NIL action is played instead.

        Args:
            observation: the newest observation.
        """
        raise NotImplementedError

    def result(self, observation: Any, reward: Any) -> Any:
        """Take note of the end of a task, within `result`; the value returned goes to the task scheduler.

        Args:
            observation: the last observation.
            reward: the last reward.
        """

    def close(self) -> None:
        """Release resources: the match is over."""


@attrs.frozen
class AdaptedAgent:
    """An agent of any kind with a uniform interface.

    Attributes:
        wants: the phases in which it wants to be asked, `act` among them.
        answer: answers an envelope of phase `act`.
        answers_async: `answer` returns an awaitable.
        phases: answers to `init` and `result`, for the phases that it wants.
        start: prepares it for the match.
        run: plays the whole seat, for a full actor; else `None`.
        close: called at the end.
    """

    wants: frozenset[str]
    answer: Answer
    answers_async: bool
    phases: dict[str, Answer]
    start: Callable[[Briefing], Any]
    run: Callable[[Any], Awaitable[None]] | None
    close: Callable[[], Any]


def adapt(agent: Any, timer: ElapsedTimer) -> AdaptedAgent:
    """Return an agent of any kind with a uniform interface; a class is instantiated.

    Args:
        agent: an agent of any kind described above.
        timer: the timer of its turns.

    Raises:
        UsageError: it is of another kind; the message lists the kinds.
    """
    if inspect.isclass(agent):
        agent = agent()
    if inspect.iscoroutine(agent):
        agent.close()
        raise UsageError("an agent is an async function, not its coroutine: give `act`, not `act(...)`")
    if (run := _actor(agent)) is not None:
        return _played(agent, timer, _unasked, run)
    if callable(getattr(agent, "act", None)):
        return _played(agent, timer, _with_timer(agent.act, 1, timer, _observation), None)
    if callable(getattr(agent, "reply", None)):
        return _played(agent, timer, _byte_answer(agent.reply, timer), None)
    if is_round1_learner(agent):
        return _played(agent, timer, learner_answer(agent), None)
    if callable(agent):
        return _played(agent, timer, _with_timer(agent, 1, timer, _observation), None)
    raise UsageError(
        f"{agent!r} is not an agent: it has none of act(observation), reply(byte, reward), next(token) with"
        " reward(reward), run(seat), and cannot be called"
    )


def _played(agent: Any, timer: ElapsedTimer, answer: Answer, run: Any) -> AdaptedAgent:
    phases: dict[str, Answer] = {}
    if callable(getattr(agent, "init", None)):
        phases["init"] = _with_timer(agent.init, 1, timer, _observation)
    if callable(getattr(agent, "result", None)):
        shown = (1, _observation) if _wants_timer_only(agent.result) else (2, _observation_and_reward)
        phases["result"] = _with_timer(agent.result, shown[0], timer, shown[1])
    named = frozenset(getattr(agent, "wants", ())) | phases.keys()
    wants = _ACTS | named if named else _ACTS
    asked = getattr(agent, "act", None) or getattr(agent, "reply", None) or agent
    return AdaptedAgent(
        wants=wants,
        answer=answer,
        answers_async=_is_async(asked),
        phases=phases,
        start=getattr(agent, "start", None) or _nothing,
        run=run,
        close=getattr(agent, "close", None) or _nothing,
    )


def _actor(agent: Any) -> Callable[[Any], Awaitable[None]] | None:
    run: Callable[[Any], Awaitable[None]] | None = getattr(agent, "run", None)
    if callable(run):
        return run
    if not callable(agent) or not inspect.iscoroutinefunction(agent):
        return None
    if list(inspect.signature(agent).parameters) == ["seat"]:
        actor: Callable[[Any], Awaitable[None]] = agent
        return actor
    return None


def _observation(envelope: Envelope) -> tuple[Any, ...]:
    return (envelope.observation,)


def _observation_and_reward(envelope: Envelope) -> tuple[Any, ...]:
    return (envelope.observation, envelope.reward)


def _with_timer(
    method: Callable[..., Any],
    arguments: int,
    timer: ElapsedTimer,
    pick: Callable[[Envelope], tuple[Any, ...]],
) -> Answer:
    takes = _positional(method)
    if takes > arguments:
        return lambda envelope: method(*pick(envelope), timer)
    if arguments == 1 and takes == 1:
        return lambda envelope: method(envelope.observation)
    if takes < arguments:
        return lambda envelope: method(*pick(envelope)[:takes])
    return lambda envelope: method(*pick(envelope))


def _byte_answer(reply: Callable[..., Any], timer: ElapsedTimer) -> Answer:
    if _is_async(reply):
        call = _with_timer(reply, 2, timer, _observation_and_reward)

        async def answer(envelope: Envelope) -> Any:
            return _as_byte(await call(envelope))

        return answer
    if _positional(reply) > 2:  # noqa: PLR2004 - byte and reward
        return lambda envelope: _as_byte(reply(envelope.observation, envelope.reward, timer))
    return lambda envelope: _as_byte(reply(envelope.observation, envelope.reward))


def _as_byte(reply: Any) -> Any:
    """Return the number of a byte given as a number, a character or a byte; other values unchanged."""
    if type(reply) is int:
        return reply
    if isinstance(reply, str | bytes) and len(reply) == 1:
        return ord(reply)
    return reply


def _wants_timer_only(result: Callable[..., Any]) -> bool:
    """Return true if the method takes its observation and the timer, and no reward."""
    try:
        names = list(inspect.signature(result).parameters)
    except (TypeError, ValueError):  # a built-in without a signature
        return False
    return len(names) == 2 and "timer" in names[1].lower()  # noqa: PLR2004 - these two


def _positional(method: Callable[..., Any]) -> int:
    """Return the most positional arguments that a method takes; 1 if that is unknown."""
    function = _plain_function(method)
    if function is not None:  # the same as below, without the 50 us that a signature takes
        code = function.__code__
        if not code.co_flags & inspect.CO_VARARGS and (function is method or code.co_argcount):
            return code.co_argcount - (function is not method)
        return 1
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):  # a built-in without a signature
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 1
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _plain_function(method: Any) -> FunctionType | None:
    """Return the function of a method or function; `None` if it is wrapped, or another kind of callable."""
    function = method.__func__ if type(method) is MethodType else method
    # A wrapper's attributes, such as `__wrapped__` and `__signature__`, stand in its dictionary.
    return function if type(function) is FunctionType and not function.__dict__ else None


def _is_async(method: Any) -> bool:
    """Return whether a call returns an awaitable."""
    function = _plain_function(method)
    if function is not None:
        return bool(function.__code__.co_flags & inspect.CO_COROUTINE)
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(
        getattr(method, "__call__", None)  # noqa: B004 - is it async?
    )


def _nothing(*_arguments: Any) -> None:
    return None


def _unasked(_envelope: Envelope) -> None:
    return None
