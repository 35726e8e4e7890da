"""The kinds of agents, and the adapter that calls them all alike.

- a function of the observation, `async def act(observation)` or a plain one;
- an object (or a class) with `act(observation)`, and any of `start`, `init`, `result`, `close`;
- an object (or a class) with `reply(observation, reward)`; in byte tasks, it may answer with a character;
- a learner of round 1: an object (or a class) with `next(token)` and `reward(reward)`;
- a full actor: an object (or a class) with `async run(seat)`, or an async function whose only parameter
  is called `seat`. It may go on thinking while the environment waits.

Every method may be plain or async. Behind its observation a method or function gets what its arguments are
called: `reward` is the reward of the last action, `timer` the timer of the turn
(`flagfall.timing.ElapsedTimer`) with the time left, and the verdict of a turn that was late. A part of the
name is enough, as in `elapsedTimer`. Arguments of other names keep their default values, or are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from flagfall.agents.round1 import is_round1_learner, learner_answer
from flagfall.errors import UsageError
from flagfall.kernel.tracebacks import hide_frames

if TYPE_CHECKING:
    from flagfall.kernel.channels.turn_channel import Envelope
    from flagfall.kernel.hosting import Briefing
    from flagfall.timing.elapsed_timer import ElapsedTimer

hide_frames(__file__)

_ACTS: Final = frozenset({"act"})
_OBSERVATION: Final = ("observation",)
_OBSERVATION_AND_REWARD: Final = ("observation", "reward")
_FIRST_ARGUMENTS: Final = {
    "act": _OBSERVATION,
    "init": _OBSERVATION,
    "reply": _OBSERVATION_AND_REWARD,
    "result": _OBSERVATION_AND_REWARD,
}
"""Values of the first arguments of each method, whatever their names."""

Answer: TypeAlias = "Callable[[Envelope], Any]"
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

    Only `act` is required. Each method may be `async`, and may take `reward` and `timer` as more arguments.
    """

    def start(self, briefing: Briefing) -> None:
        """Prepare for the match: load what is needed, within the time control's `start`.

        Args:
            briefing: seat, seed, time control and spaces.
        """

    def init(self, observation: Any) -> None:
        """Prepare for a task, within `init`. Not called in a byte stream."""

    def act(self, observation: Any) -> Any:
        """Choose an action within `act`; after that time the task's NIL action is played instead."""
        raise NotImplementedError

    def result(self, observation: Any, reward: Any) -> Any:
        """Take note of the end of a task, within `result`; the value returned goes to the task scheduler."""

    def close(self) -> None:
        """Release resources: the match is over."""


@attrs.frozen
class AdaptedAgent:
    """An agent of any kind with a uniform interface.

    Attributes:
        wants: the phases in which it wants to be asked, `act` among them.
        texts: it reads observations as text, too (`flagfall.kernel.hosting.Briefing.text`).
        phases: answers to `init` and `result`, for the phases that it wants.
        run: plays the whole seat, for a full actor; else `None`.
    """

    wants: frozenset[str]
    texts: bool
    answer: Answer
    answers_async: bool
    phases: dict[str, Answer]
    start: Callable[[Briefing], Any]
    run: Callable[[Any], Awaitable[None]] | None
    close: Callable[[], Any]


def adapt(agent: Any, timer: ElapsedTimer) -> AdaptedAgent:
    """Return an agent of any kind with a uniform interface; a class is instantiated.

    Raises:
        UsageError: it is of another kind, and the message lists the kinds; or one of its methods has an
            argument that no agent gets.
    """
    if inspect.isclass(agent):
        agent = agent()
    if inspect.iscoroutine(agent):
        agent.close()
        raise UsageError("an agent is an async function, not its coroutine: give `act`, not `act(...)`")
    if (run := _actor(agent)) is not None:
        return _played(agent, timer, _nothing, run)
    if callable(getattr(agent, "act", None)):
        return _played(agent, timer, _caller(agent.act, timer, _OBSERVATION), None)
    if callable(getattr(agent, "reply", None)):
        return _played(agent, timer, _byte_answer(agent.reply, timer), None)
    if is_round1_learner(agent):
        return _played(agent, timer, learner_answer(agent), None)
    if callable(agent):
        return _played(agent, timer, _caller(agent, timer, _OBSERVATION), None)
    raise UsageError(
        f"{agent!r} is not an agent: it has none of act(observation), reply(observation, reward), next(token)"
        " with reward(reward), run(seat), and cannot be called"
    )


def check_arguments(agent: type) -> None:
    """Raise `UsageError` if a method of an agent's class has an argument that no agent gets."""
    for name, first in _FIRST_ARGUMENTS.items():
        method = inspect.getattr_static(agent, name, None)
        if isinstance(method, FunctionType):
            _arguments(MethodType(method, agent), first)


def _played(agent: Any, timer: ElapsedTimer, answer: Answer, run: Any) -> AdaptedAgent:
    phases = {
        name: _caller(getattr(agent, name), timer, _FIRST_ARGUMENTS[name])
        for name in ("init", "result")
        if callable(getattr(agent, name, None))
    }
    named = (*getattr(agent, "wants", ()), *phases)
    return AdaptedAgent(
        wants=_ACTS.union(named) if named else _ACTS,
        texts=getattr(agent, "texts", False) is True,
        answer=answer,
        answers_async=_is_async(getattr(agent, "act", None) or getattr(agent, "reply", None) or agent),
        phases=phases,
        start=getattr(agent, "start", None) or _nothing,
        run=run,
        close=getattr(agent, "close", None) or _nothing,
    )


def _actor(agent: Any) -> Any:
    """Return what plays the whole seat: the agent's `run`, or the agent itself; else `None`."""
    run = getattr(agent, "run", None)
    if callable(run):
        return run
    is_actor = inspect.iscoroutinefunction(agent) and [*inspect.signature(agent).parameters] == ["seat"]
    return agent if is_actor else None


def _caller(method: Callable[..., Any], timer: ElapsedTimer, first: tuple[str, ...]) -> Answer:
    """Return a function that calls a method with the arguments that it takes."""
    given, named = _arguments(method, first)
    if named:
        return lambda envelope: method(
            *(_value(kind, envelope, timer) for kind in given),
            **{name: _value(kind, envelope, timer) for name, kind in named.items()},
        )
    match given:  # one of these in each turn
        case ("observation",):
            return lambda envelope: method(envelope.observation)
        case ("observation", "timer"):
            return lambda envelope: method(envelope.observation, timer)
        case ("observation", "reward"):
            return lambda envelope: method(envelope.observation, envelope.reward)
    return lambda envelope: method(*(_value(kind, envelope, timer) for kind in given))


def _value(kind: str, envelope: Envelope, timer: ElapsedTimer) -> Any:
    return timer if kind == "timer" else getattr(envelope, kind)


def _arguments(method: Callable[..., Any], first: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return what a method gets, each `observation`, `reward` or `timer`: by position, and by name.

    Args:
        first: what its first arguments are where their names do not tell.

    Raises:
        UsageError: it needs an argument that is none of them.
    """
    given: list[str] = []
    named: dict[str, str] = {}
    by_position = True
    parameters = _parameters(method)
    if parameters is None:
        return first, named
    for place, (name, needed, positional) in enumerate(parameters):
        by_position = by_position and positional
        kind = next((kind for kind in ("timer", "reward") if place and kind in name.lower()), None)
        if kind is None and place < len(first):
            kind = first[place]
        if kind is None and needed:
            shown = f"{getattr(method, '__name__', method)}({', '.join(name for name, _, _ in parameters)})"
            raise UsageError(
                f"{shown}: no agent gets {name!r}; the arguments behind the observation are called `reward`"
                " and `timer`"
            )
        if kind is None:
            by_position = False  # it keeps its default value
        elif by_position:
            given.append(kind)
        else:
            named[name] = kind
    return tuple(given), named


def _byte_answer(reply: Callable[..., Any], timer: ElapsedTimer) -> Answer:
    call = _caller(reply, timer, _OBSERVATION_AND_REWARD)
    if not _is_async(reply):
        if _arguments(reply, _OBSERVATION_AND_REWARD) == (
            _OBSERVATION_AND_REWARD,
            {},
        ):  # a call less a turn
            return lambda envelope: _as_byte(reply(envelope.observation, envelope.reward))
        return lambda envelope: _as_byte(call(envelope))

    async def answer(envelope: Envelope) -> Any:
        return _as_byte(await call(envelope))

    return answer


def _as_byte(reply: Any) -> Any:
    """Return the number of a byte given as a number, a character or a byte; other values unchanged."""
    if type(reply) is int:
        return reply
    if isinstance(reply, str | bytes) and len(reply) == 1:
        return ord(reply)
    return reply


def _parameters(method: Callable[..., Any]) -> list[tuple[str, bool, bool]] | None:
    """Return for each parameter its name, whether it is needed, and whether it is given by its position.

    `None` if they are not known, or the method takes any number of arguments.
    """
    function = _plain_function(method)
    if function is not None and not function.__kwdefaults__:
        # The same as below, without the 50 us that a signature takes.
        code, bound = function.__code__, function is not method
        plain = not code.co_flags & inspect.CO_VARARGS and not code.co_kwonlyargcount
        if plain and code.co_argcount >= bound:
            names = code.co_varnames[bound : code.co_argcount]
            needed = len(names) - len(function.__defaults__ or ())
            return [(name, place < needed, True) for place, name in enumerate(names)]
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):  # a built-in without a signature
        return None
    known = [
        (p.name, p.default is p.empty, p.kind is not p.KEYWORD_ONLY)
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return None if open_ended and not any(by_place for *_, by_place in known) else known


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


async def play_seat(agent: AdaptedAgent, seat: AgentSeat) -> None:
    """Answer every turn until there are no more.

    Raises:
        trio.EndOfChannel: the match is over (from the seat).
    """
    if agent.run is not None:
        await agent.run(seat)
        return
    turn, reply, answer = seat.turn, seat.reply, agent.answer
    if agent.answers_async:
        while True:
            envelope = await turn()
            if envelope.phase == "act":
                reply(await answer(envelope), envelope.number)
            else:
                reply(await resolve(agent.phases[envelope.phase](envelope)), envelope.number)
    while True:
        envelope = await turn()
        if envelope.phase == "act":
            reply(answer(envelope), envelope.number)
        else:
            reply(await resolve(agent.phases[envelope.phase](envelope)), envelope.number)


async def resolve(value: Any) -> Any:
    """Return a value, after waiting for it if it is awaitable."""
    return await value if value is not None and inspect.isawaitable(value) else value
