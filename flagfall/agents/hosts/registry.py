"""The table of hosts: which one runs which agent.

To add a host, write its class in a file of its own and add a row to `HOSTS`. A text of a new form that names
its agents is a row of the parser's table in `flagfall.agents.spec`.
"""

from __future__ import annotations

__all__ = ["HOSTS", "AgentForm", "HostEntry", "HostOptions", "host_agent"]

import os
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

import attrs

from flagfall.agents.hosts.command import CommandHost
from flagfall.agents.hosts.human import HumanHost
from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.hosts.network import NetworkHost
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.registry import load_agent, make_human
from flagfall.agents.spec import NETWORK, REMOTE, STARTED_PROGRAMS, TRACK_CLIENTS, AgentSpec, Scheme
from flagfall.agents.wire.admission import JoinPolicy
from flagfall.agents.zmq.host import RemoteLearnerHost
from flagfall.errors import UsageError
from flagfall.kernel.hosting import AgentHost, HostKind

AgentForm: TypeAlias = Scheme | Literal["object"]
"""Form in which an agent is given: the scheme of its text, or a Python object."""


@attrs.frozen
class HostOptions:
    """Options of hosts; each host takes those that concern it.

    Attributes:
        name: the name of the agent, for tables and records.
        isolation: how an agent is isolated in a process.
        join_policy: which agents may connect.
        learner_command: the program to start as the learner of round 1; `None` to wait for one.
    """

    name: str
    isolation: Isolation = DEFAULT_ISOLATION
    join_policy: JoinPolicy = attrs.field(factory=JoinPolicy)
    learner_command: str | None = None


def _frozen(forms: Iterable[AgentForm]) -> frozenset[AgentForm]:
    return frozenset(forms)


@attrs.frozen
class HostEntry:
    """A row of the table of hosts.

    Attributes:
        kind: where the host runs its agents, as a user may ask for it.
        make: makes the host of an agent, which is given as an `AgentSpec` or as an object.
        default_for: the forms of agents that it runs unless another host is asked for.
        on_request: further forms of agents that it can run.
    """

    kind: HostKind
    make: Callable[[Any, HostOptions], AgentHost]
    default_for: frozenset[AgentForm] = attrs.field(default=frozenset(), converter=_frozen)
    on_request: frozenset[AgentForm] = attrs.field(default=frozenset(), converter=_frozen)

    def can_run(self, form: AgentForm) -> bool:
        """Return whether the host can run agents of a form, by default or on request."""
        return form in self.default_for or form in self.on_request


_ANY_CLIENT_HERE: Final = JoinPolicy()

HOSTS: Final[tuple[HostEntry, ...]] = (
    HostEntry(
        "task",
        lambda agent, options: LoopHost(_for_trio(_loaded(agent), options.name), options.name),
        default_for={"object", "sample"},
        on_request={"python"},
    ),
    HostEntry(
        "task",
        lambda spec, options: HumanHost(make_human(spec.target), options.name),
        default_for={"human"},
    ),
    HostEntry(
        "thread",
        lambda agent, options: ThreadHost(_loaded(agent), options.name),
        on_request={"object", "sample", "python"},
    ),
    HostEntry(
        "process",
        lambda spec, options: ProcessHost(spec.text, options.name, options.isolation),
        default_for={"python"},
        on_request={"sample"},
    ),
    HostEntry(
        "process",
        lambda spec, options: CommandHost(spec.target, options.name, options.isolation),
        default_for={"cmd"},
    ),
    HostEntry(
        "remote",
        lambda spec, options: NetworkHost(
            spec.scheme, spec.port, spec.target, options.join_policy, options.name
        ),
        default_for=NETWORK,
    ),
    HostEntry(
        "remote",
        lambda spec, options: RemoteLearnerHost(
            spec.port, spec.target, options.learner_command, options.name, options.join_policy.token
        ),
        default_for={"zmq"},
    ),
)
"""All hosts. Of the rows that can run an agent the one that names its form in `default_for` is taken, or the
one of the kind that is asked for. Clients of GVGAI's learning track have other hosts, which need the track
(`flagfall.gvgai`)."""


def host_agent(
    agent: Any,
    kind: HostKind | None = None,
    name: str | None = None,
    isolation: Isolation = DEFAULT_ISOLATION,
    join_policy: JoinPolicy | None = None,
    learner_command: str | None = None,
) -> AgentHost:
    """Return a host for an agent.

    Args:
        agent: an object of any kind described in `flagfall.agents.agent`, a text (`flagfall.agents.spec`), or
            a host, which is returned as it is.
        kind: where it is to run; by default where the table says. Agents that connect are remote, also where
            processes are asked for.
        name: for tables and records; by default a short form of the text, or the name of the object.
        isolation: how it is isolated in a process.
        join_policy: the agents that may connect over a network; by default any client on this machine.
        learner_command: the program to start as the learner of round 1.

    Raises:
        UsageError: there is no such agent, or it cannot run there.
    """
    if hasattr(agent, "kind") and hasattr(agent, "run") and hasattr(agent, "name"):
        return agent  # type: ignore[no-any-return]  # a host already
    form: AgentForm = "object"
    if isinstance(agent, str):
        agent = AgentSpec.parse(agent)
        form = agent.scheme
        if form == "sample":
            isolation = _prepared(load_agent(agent), isolation)  # mistakes are reported before any start
    name = name or (agent.name if isinstance(agent, AgentSpec) else _object_name(agent))
    options = HostOptions(name, isolation, join_policy or _ANY_CLIENT_HERE, learner_command)
    if kind == "process" and form in REMOTE:
        kind = "remote"
    for entry in HOSTS:
        if form in entry.default_for if kind is None else entry.kind == kind and entry.can_run(form):
            return entry.make(agent, options)
    raise UsageError(_no_host(agent, form, kind))


def _prepared(sample: Any, isolation: Isolation) -> Isolation:
    """Check that a sample can play on this machine; return the isolation with its environment variables.

    Raises:
        UsageError: it needs something that is missing here.
    """
    if hasattr(sample, "check"):
        sample.check()
    wanted = [name for name in getattr(sample, "environment", ()) if name in os.environ]
    passed = tuple(name for name in wanted if name not in isolation.env)
    return attrs.evolve(isolation, env=(*isolation.env, *passed)) if passed else isolation


def _loaded(agent: Any) -> Any:
    return load_agent(agent) if isinstance(agent, AgentSpec) else agent


def _for_trio(agent: Any, name: str) -> Any:
    """Return an agent that can run in trio's event loop.

    Raises:
        UsageError: it is written for asyncio.
    """
    if getattr(agent, "loop", None) == "asyncio":
        raise UsageError(
            f"{name} is written for asyncio (its loop), and the event loop here is trio's: use host process"
            " or thread, and not the virtual clock"
        )
    return agent


def _object_name(agent: Any) -> str:
    return getattr(agent, "__name__", None) or type(agent).__name__


def _no_host(agent: Any, form: AgentForm, kind: HostKind | None) -> str:
    """Return the message that explains why no row of the table fits."""
    if form == "object":
        return f"a process needs an agent named by file or module, not {agent!r}"
    text = agent.text
    if form in TRACK_CLIENTS:
        return (
            f"{text}: a GVGAI client plays the learning track only: use `flagfall gvgai train` or `contest`,"
            " or a tournament plan with `track`"
        )
    if form == "human":
        return f"{text}: a human plays in the event loop, with host task"
    if form in STARTED_PROGRAMS | REMOTE:
        what = "a program" if form in STARTED_PROGRAMS else "an agent that connects"
        return (
            f"{text}: {what} is a process of its own and plays in real time: leave host {kind} and"
            " the virtual clock out"
        )
    return f"{text}: this agent does not connect: leave host {kind} out"
