"""The table of hosts: which one runs which agent, and what may be asked of each.

To add a host, write its class in a file of its own and add a row to `HOSTS`; a text of a new form that names
its agents is a row of `flagfall.agents.spec.SCHEMES`. Everything else reads these two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from flagfall.agents.hosts.this_process import HumanHost, LoopHost
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.registry import load_agent, make_human
from flagfall.agents.spec import NETWORK, AgentSpec
from flagfall.errors import UsageError
from flagfall.kernel.hosting import AgentHost, HostKind, LocalHostKind

if TYPE_CHECKING:
    from flagfall.agents.wire.admission import JoinPolicy
    from flagfall.timing.latency import SeatLatency

OBJECT: Final = "object"
"""Form of agents that are given as Python objects; the form of a text is its scheme."""

Named: TypeAlias = Callable[[str], str]
"""Returns a field of a request as the caller's user writes it: `steps` in Python, `--steps` as an option."""


@attrs.frozen(eq=False)
class Player:
    """An agent of a match: who plays, and where and how it runs. Each host takes what concerns it.

    Attributes:
        agent: an object of any kind described in `flagfall.agents.agent`, a text (`flagfall.agents.spec`), or
            a host.
        host: where it is to run; `None` for where the table says. Agents that connect are remote, also where
            processes are asked for.
        name: for tables and records; `None` for a short form of the text, or the name of the object.
        join_policy: the agents that may connect over a network; `None` for any client on this machine.
        learner_command: the program to start as the learner of round 1; `None` to wait for one.
        think: the time that its turns take on the virtual clock, on which computing takes none; `None` for no
            time but that of its own waiting.
        apart: without `host`, run it in a process of its own wherever it can.
    """

    agent: Any
    host: LocalHostKind | None = None
    name: str | None = None
    isolation: Isolation = DEFAULT_ISOLATION
    join_policy: JoinPolicy | None = None
    learner_command: str | None = None
    think: SeatLatency | None = None
    apart: bool = False

    @cached_property
    def spec(self) -> AgentSpec | None:
        """The parsed text; `None` for an object. Raises `UsageError` for a text of no known form."""
        return AgentSpec.parse(self.agent) if isinstance(self.agent, str) else None

    @property
    def label(self) -> str:
        """The name for tables."""
        if self.name or _is_host(self.agent):
            return self.name or str(self.agent.name)
        if (spec := self.spec) is not None:
            return spec.name
        return getattr(self.agent, "__name__", None) or type(self.agent).__name__

    def check(self, named: Named = str, *, virtual: bool = False) -> None:
        """Check that the agent can run as asked, without importing or starting anything.

        Raises:
            UsageError: it cannot.
        """
        if self.think is not None and not virtual:
            raise UsageError(
                f"{named('think')}: a model of latency needs the virtual clock ({named('clock')} virtual), on"
                " which nothing else takes time"
            )
        if _is_host(self.agent):
            return
        if virtual and self.spec is not None and self.spec.form.plays_tracks:
            raise UsageError(
                f"{self.spec.text}: it is a program of its own and plays in real time: leave"
                f" {named('clock')} out"
            )
        found = self._entry(virtual=virtual, field=named("host"))
        self._check_rate(self._known_agent(found), named)
        kind = found.kind if virtual and self.apart else self.host  # else another agent may need them
        if self.isolation != DEFAULT_ISOLATION and not any(
            entry.isolates for entry in HOSTS if kind in {None, entry.kind}
        ):
            fix = f"write {named('host')} process" if virtual else f"leave {named('host')} out"
            what = f"the settings of isolation ({named('isolation')})"
            raise UsageError(f"{what} apply only to agents in processes: {fix}")

    def seated(self, *, virtual: bool = False) -> AgentHost:
        """Return a host for the agent.

        Raises:
            UsageError: there is no such agent, or it cannot run there.
        """
        if _is_host(self.agent):
            self._check_rate(self.agent)
            return self.agent  # type: ignore[no-any-return]
        spec, isolation = self.spec, self.isolation
        if spec is not None and spec.scheme == "sample":
            isolation = _prepared(load_agent(spec), isolation)  # mistakes are reported before any start
        entry = self._entry(virtual=virtual)
        player = attrs.evolve(self, name=self.label, isolation=isolation)
        host = entry.make(self.agent if spec is None else spec, player)
        self._check_rate(host)
        return host

    def _known_agent(self, entry: HostEntry) -> Any:
        """Return what names the measure of its work: the host's row, or in the event loop the agent.

        `None` if it is not known yet, as the agent has to be imported for it.
        """
        if entry.kind != "task":
            return entry
        spec = self.spec
        if spec is not None and spec.scheme == "sample":
            return load_agent(spec)
        return self.agent if spec is None else None

    def _check_rate(self, agent: Any, named: Named = str) -> None:
        """Refuse a rate of work for an agent whose work is not measured in that.

        Args:
            agent: the agent, its host or the row of that; `None` if it is not known yet.
        """
        rate = None if self.think is None else self.think.rate
        if rate is not None and agent is not None and getattr(agent, "measures", "") != rate.measures:
            raise UsageError(f"{named('think')}: {rate} is not for {self.label}: it counts {rate.whose}")

    def isolates(self, *, virtual: bool) -> bool:
        """Return whether the agent, which has been checked, runs where an `Isolation` is applied."""
        return not _is_host(self.agent) and self._entry(virtual=virtual).isolates

    def _entry(self, *, virtual: bool, field: str = "host") -> HostEntry:
        """Return the row that runs the agent; raises `UsageError` if no row does.

        On the virtual clock that is the event loop, unless another host is asked for, or none but another can
        run it.
        """
        spec = self.spec
        kind: HostKind | None = self.host
        form = OBJECT if spec is None else spec.scheme
        rows = [entry for entry in HOSTS if entry.can_run(form)]
        found = {entry.kind: entry for entry in rows}
        default = next((entry for entry in rows if form in entry.default_for), None)
        if kind is None and virtual and "task" in found:
            kind = "task"
        if kind == "process" and default is not None and default.kind == "remote":
            kind = "remote"
        if kind is None and self.apart and "process" in found:
            kind = "process"
        entry = default if kind is None else found.get(kind)
        if entry is None:
            raise UsageError(_no_host(self.agent, spec, found, field))
        return entry


def _frozen(forms: Iterable[str]) -> frozenset[str]:
    return frozenset(forms)


@attrs.frozen
class HostEntry:
    """A row of the table of hosts.

    Attributes:
        kind: where the host runs its agents: how their time is counted, and what a user asks for by name.
        make: makes the host of an agent, which is given as an `AgentSpec` or as an object, with its `Player`.
        default_for: the forms of agents that it runs unless another host is asked for.
        isolates: it applies an `Isolation`.
        measures: the rate by which the work of its agents takes time: `fuel`, or none.
    """

    kind: HostKind
    make: Callable[[Any, Player], AgentHost]
    default_for: frozenset[str] = attrs.field(default=(), converter=_frozen)
    on_request: frozenset[str] = attrs.field(default=(), converter=_frozen)
    isolates: bool = False
    measures: str = ""

    def can_run(self, form: str) -> bool:
        """Return whether the host can run agents of a form, by default or on request."""
        return form in self.default_for or form in self.on_request


def _refuse_elsewhere(spec: AgentSpec, _player: Player) -> AgentHost:
    raise UsageError(
        f"{spec.text}: a GVGAI client plays the learning track only: use `flagfall gvgai train` or `contest`,"
        " or a tournament plan with `track`"
    )


def _imported(module: str, name: str) -> Callable[..., AgentHost]:
    """Return a class of a module of `flagfall.agents` that only a match with such an agent imports."""
    host: Callable[..., AgentHost] = getattr(import_module(f"flagfall.agents.{module}"), name)
    return host


HOSTS: Final[list[HostEntry]] = [
    HostEntry(
        "task",
        lambda agent, player: LoopHost(_for_trio(_loaded(agent), player), player.label),
        default_for={"object", "sample"},
        on_request={"python"},
    ),
    HostEntry(
        "task", lambda spec, player: HumanHost(make_human(spec.target), player.label), default_for={"human"}
    ),
    HostEntry(
        "thread",
        lambda agent, player: _imported("hosts.thread", "ThreadHost")(_loaded(agent), player.label),
        on_request={"object", "sample", "python"},
    ),
    HostEntry(
        "process",
        lambda spec, player: _imported("hosts.process", "ProcessHost")(
            spec.text, player.label, player.isolation
        ),
        default_for={"python"},
        on_request={"sample"},
        isolates=True,
    ),
    HostEntry(
        "process",
        lambda spec, player: _imported("hosts.process", "CommandHost")(
            spec.target, player.label, player.isolation
        ),
        default_for={"cmd"},
        isolates=True,
    ),
    HostEntry(
        "wasm",
        lambda spec, player: _imported("wasm.host", "WasmHost")(
            spec, player.label, player.isolation.limits.memory
        ),
        default_for={"wasm"},
        on_request={"python"},
        isolates=True,
        measures="fuel",
    ),
    HostEntry(
        "remote",
        lambda spec, player: _imported("hosts.network", "NetworkHost")(
            spec.scheme, spec.port, spec.target, player.join_policy, player.label
        ),
        default_for=NETWORK,
    ),
    HostEntry(
        "remote",
        lambda spec, player: _imported("zmq.host", "RemoteLearnerHost")(
            spec.port,
            spec.target,
            player.learner_command,
            player.label,
            player.join_policy.token if player.join_policy else "",
        ),
        default_for={"zmq"},
    ),
    HostEntry("process", _refuse_elsewhere, default_for={"gvgai", "program"}, isolates=True),
]
"""All hosts. Of the rows that can run an agent the one that names its form in `default_for` is taken, or the
one of the kind that is asked for. `flagfall.gvgai` runs clients of the learning track, with their track."""


def host_agent(
    agent: Any,
    kind: LocalHostKind | None = None,
    name: str | None = None,
    isolation: Isolation = DEFAULT_ISOLATION,
    join_policy: JoinPolicy | None = None,
    learner_command: str | None = None,
) -> AgentHost:
    """Return a host for an agent: `Player(...).seated()`, whose fields the arguments are."""
    return Player(agent, kind, name, isolation, join_policy, learner_command).seated()


def _is_host(agent: Any) -> bool:
    return hasattr(agent, "kind") and hasattr(agent, "run") and hasattr(agent, "name")


def _prepared(sample: Any, isolation: Isolation) -> Isolation:
    """Return the isolation of a sample with its environment variables.

    Raises `UsageError` where the sample needs something that is missing here.
    """
    if hasattr(sample, "check"):
        sample.check()
    wanted = [name for name in getattr(sample, "environment", ()) if name in os.environ]
    passed = tuple(name for name in wanted if name not in isolation.env)
    return attrs.evolve(isolation, env=(*isolation.env, *passed)) if passed else isolation


def _loaded(agent: Any) -> Any:
    return load_agent(agent) if isinstance(agent, AgentSpec) else agent


def _for_trio(agent: Any, player: Player) -> Any:
    """Return an agent that can run in trio's event loop; raises `UsageError` if it is written for asyncio."""
    if getattr(agent, "loop", None) == "asyncio":
        raise UsageError(
            f"{player.label} is written for asyncio (its loop), and the event loop here is trio's: use host"
            " process or thread"
        )
    return agent


def _no_host(agent: Any, spec: AgentSpec | None, found: Iterable[HostKind], field: str) -> str:
    """Return the message that explains why no row of the table fits."""
    kinds = list(found)
    if spec is None:
        return f"a process needs an agent named by file or module, not {agent!r}"
    if not kinds:
        return f"{spec.text}: no host runs {spec.form.what}"
    if spec.form.is_person:
        return f"{spec.text}: a human plays in the event loop, with host task"
    if not {"task", "thread"}.intersection(kinds):
        return f"{spec.text}: it is a program of its own: leave {field} out"
    return f"{spec.text}: this agent runs with host {' or '.join(kinds)}: leave {field} out"
