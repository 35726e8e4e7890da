"""Matrix of misbehaving agents and hosts: every agent on every host where its behaviour applies.

Each plays beside `HONEST` honest agents, on a task in which all move at once. Their turns must be, to the
last verdict and reward, the same as without the misbehaving agent. After the match no process, file,
descriptor or control group may be left. Agents in WebAssembly play on the virtual clock, at `RATE`.
"""

from __future__ import annotations

import math
import os
import socket
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs
import trio

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.limits import Limits, usable_cores
from flagfall.agents.spec import AgentSpec
from flagfall.agents.wasm.host import WasmHost
from flagfall.events import Event, ReplyDropped, SeatDisqualified, TurnPlayed
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.schedulers import parse_policy
from flagfall.testing.adversarial import plain_agents
from flagfall.testing.adversarial.agents import HOSTS_PORT
from flagfall.testing.adversarial.escapes import RECORDS_FOLDER
from flagfall.testing.adversarial.plain_agents import DONE, OPPONENTS_FILE, REFUSED, TURN
from flagfall.testing.adversarial.wasm_agents import MODULES, module_file
from flagfall.timing import TimeControl, VirtualClock
from flagfall.timing.durations import S
from flagfall.timing.latency import SeatLatency

Place: TypeAlias = Literal["task", "thread", "process", "sandbox", "wasm"]

PLACES: Final[tuple[Place, ...]] = get_args(Place)
"""Places where agents run: the hosts, and the process host with a sandbox."""


@attrs.frozen
class Row:
    """A misbehaving agent, and its expected verdicts.

    Attributes:
        agent: its name in `plain_agents`, else in `agents`; in WebAssembly in `wasm_agents`, else in
            `plain_agents`.
        verdicts: the possible verdicts, by place; at other places the behaviour does not apply.
        stays: its thread may run on for a while, or forever: a thread cannot be stopped.
        pinned: it may run on one processor core only.
        beside_records: its code is a file beside the records of a match, a common layout.
    """

    does: str
    agent: str
    verdicts: Mapping[Place, Sequence[str]]
    stays: bool = False
    pinned: bool = False
    beside_records: bool = False


_NATIVE: Final[Sequence[Place]] = PLACES[:-1]


def _in_native_code(*verdicts: str) -> dict[Place, Sequence[str]]:
    return dict.fromkeys(_NATIVE, verdicts)


def _in_wasm(reason: str) -> dict[Place, Sequence[str]]:
    return {"wasm": (f"disqualified: {reason}",)}


def _out(
    *reasons: str, places: Sequence[Place] = ("process", "sandbox"), wasm: str = ""
) -> dict[Place, Sequence[str]]:
    """Return disqualification for one of these reasons at some places, and for one in WebAssembly."""
    verdicts: dict[Place, Sequence[str]] = {at: [f"disqualified: {one}" for one in reasons] for at in places}
    return verdicts | _in_wasm(wasm) if wasm else verdicts


def _by_rights() -> dict[Place, Sequence[str]]:
    """Return the verdicts of an attempt that the rights of the host's user decide, without a sandbox."""
    return {"process": ("could", "could not"), "sandbox": ("could not",)}


ROWS: Final = (
    Row("is late by a little", "late_by_a_little", _in_native_code("late")),
    Row("is late by a lot", "late_by_a_lot", _out("late", places=_NATIVE)),
    Row("never answers", "never_answers", _out("late", places=_NATIVE), stays=True),
    Row("answers twice", "answers_twice", _in_native_code("dropped: double")),
    Row("answers an old turn", "AnswersAnOldTurn", _in_native_code("dropped: stale", "dropped: double")),
    Row("writes garbage bytes", "garbage", _out("garbage", wasm="garbage")),
    Row("writes half a message", "half_a_message", _out("late")),
    Row("writes a message of 100 MB", "huge_message", _out("garbage", wasm="garbage")),
    Row("answers with a text of 10 MB", "answers_at_length", _out("crashed", wasm="late")),
    Row("floods its standard output", "floods_stdout", _out("late", wasm="late")),
    Row("floods its standard error", "floods_stderr", _out("late", wasm="late")),
    Row("floods the wire with answers", "floods_the_wire", _out("late")),
    Row("spins", "spins", _out("late", wasm="late")),
    Row("blocks its loop", "blocks", _out("late", places=PLACES)),
    Row("sleeps in C", "sleeps_in_c", _out("late", wasm="late")),
    Row("ignores SIGTERM", "ignores_sigterm", _out("late")),
    Row("stops itself", "stops_itself", _out("late")),
    Row("leaves children in sessions of their own", "leaves_children", _out("gone")),
    Row("forks without end", "fork_bomb", _out("gone", "crashed", "late")),
    Row("eats memory", "eats_memory", _out("crashed", "gone", "late", wasm="crashed")),
    Row("recurses without end", "recurses", _out("crashed", places=_NATIVE, wasm="late")),
    Row("fills its disk", "fills_the_disk", _out("gone", "crashed", "late")),
    Row("writes a huge file", "writes_a_huge_file", _out("crashed", "gone")),
    Row("opens ten thousand files", "opens_many_files", _out("crashed")),
    # The program that makes the sandbox has the pipes open, too.
    Row(
        "closes its pipes",
        "closes_its_pipes",
        {"process": ("disqualified: gone",), "sandbox": ("disqualified: late",)},
    ),
    Row("exits with 0", "exits_with_0", _out("gone", wasm="crashed")),
    Row("raises SystemExit", "raises_system_exit", _out("crashed", places=PLACES)),
    Row("segfaults", "segfaults", _out("gone", wasm="crashed")),
    Row(
        "kills its parent",
        "kills_its_parent",
        {
            "process": ("disqualified: gone", "disqualified: late"),
            "sandbox": ("disqualified: crashed", "disqualified: late"),
        },
    ),
    Row("raises in start", "RaisesInStart", _out("not started", places=PLACES)),
    Row("raises in init", "RaisesInInit", _out("crashed", places=PLACES)),
    Row("raises in act", "RaisesInAct", _out("crashed", places=PLACES)),
    Row("raises in result", "RaisesInResult", _out("crashed", places=PLACES)),
    Row("raises in close", "RaisesInClose", _out("crashed", places=_NATIVE)),
    Row("swallows its cancellation", "swallows_cancellation", {"task": ("disqualified: late",)}),
    Row(
        "reads its opponent's files",
        "reads_its_opponents_files",
        {"process": ("could",), "sandbox": ("could not",), "wasm": ("could not",)},
    ),
    Row("opens a socket", "opens_a_socket", {"process": ("could",), "sandbox": ("could not",)}),
    Row("opens files of the kernel for writing", "writes_kernel_files", _by_rights()),
    Row(
        "uses interfaces of the kernel for debuggers and administrators",
        "uses_kernel_interfaces",
        _by_rights(),
    ),
    Row(
        "reaches the records and the control socket beside it",
        "reaches_records",
        _by_rights(),
        beside_records=True,
    ),
    Row("stops its parent", "stops_its_parent", _out("late")),
    Row("traces its parent", "traces_its_parent", _out("late")),
    Row(
        "leaves its processor cores",
        "leaves_its_cores",
        {"process": ("could not",), "sandbox": ("could not",)},
        pinned=True,
    ),
    Row("eats shared memory", "eats_shared_memory", _out("gone", "late")),
    Row("computes for longer than its limit", "computes_too_long", {"wasm": ("late",)}),
    Row("loops without end", "loops", _in_wasm("late")),
    Row("loops without end in start", "loops_in_start", _in_wasm("late")),
    Row("loops without end as its instance is made", "loops_as_it_is_made", _in_wasm("late")),
    Row("fills 10 MB of memory again and again", "fills_memory", _in_wasm("late")),
    Row("asks its host for random bytes without end", "asks_the_host", _in_wasm("late")),
    Row("prints 10 MB at once, without end", "prints_at_length", _in_wasm("late")),
    Row("reads the clock of the machine", "reads_the_clock", {"wasm": ("could not",)}),
    Row("traps", "traps", _in_wasm("crashed")),
    Row("divides by zero", "divides_by_zero", _in_wasm("crashed")),
    Row("overflows its stack", "overflows_its_stack", _in_wasm("crashed")),
    Row("calls a function that is not there", "calls_what_is_not_there", _in_wasm("crashed")),
    Row("grows its memory without end", "grows_memory", _in_wasm("late")),
    Row("grows a table without end", "grows_a_table", _in_wasm("late")),
    Row("begins with 4 GB of memory", "begins_with_too_much_memory", _in_wasm("not started")),
    Row("has 51 memories", "has_many_memories", _in_wasm("not started")),
    Row("sends a message of another type", "sends_another_message", _in_wasm("garbage")),
    Row("answers another turn", "answers_another_turn", _in_wasm("garbage")),
    Row("has its answer outside of its memory", "answers_at_a_bad_address", _in_wasm("garbage")),
    Row("has an answer of negative length", "answers_with_a_bad_length", _in_wasm("garbage")),
    Row("returns a negative address", "answers_nowhere", _in_wasm("garbage")),
    Row("has no room for messages", "gives_no_room", _in_wasm("not started")),
    Row(
        "gives its host an address that it does not have", "gives_the_host_bad_addresses", _in_wasm("crashed")
    ),
)
"""All rows of the matrix. On a slow machine the time limit of a turn may come before another limit. In
WebAssembly there is one verdict, whatever the machine does."""


HONEST: Final = 16
"""Number of honest agents beside the misbehaving one."""

CONTROL: Final = TimeControl.parse("start=20s init=2s act=50ms/400ms result=2s")
LIMITS: Final = Limits.parse("memory=300MB processes=64 files=128 file_size=20MB disk=8MB")
RATE: Final = SeatLatency.parse("fuel(1G/s)")
"""Think time of agents in WebAssembly, on the virtual clock."""

RATE_CONTROL: Final = attrs.evolve(CONTROL, start=1 * S)
"""A second is ample for a start without a machine's delays, and the most that one without end computes."""

STEPS: Final = 60
"""Enough turns for an agent without an answer to reach the hard limit: honest agents answer at once."""

PATIENCE_SECONDS: Final = 60.0
"""Time after which a match counts as hanging."""

ENDED_SECONDS: Final = 3.0
"""Maximum time that an agent in a process may run on after its disqualification: a supervisor takes
milliseconds, a host whose supervisor does not answer a tenth of a second, and a busy machine more."""

GONE_SECONDS: Final = 1.0
"""Time after which a remaining object counts as left: a thread that is to end takes a moment."""

GAME: Final = "game"
"""Folder with the records of a match, and with an agent beside them."""

_MARK: Final = "FLAGFALL_MATRIX"
_AGENTS: Final = "flagfall.testing.adversarial"


@attrs.frozen
class Finding:
    """Outcome of a row at a place.

    Attributes:
        verdict: `disqualified: REASON`, `late`, `dropped: WHY`, `could`, `could not` or `played on`.
        after_ns: time from the beginning of its turn to the verdict.
        lost: a turn of an honest agent that differed; empty where none did.
        left: objects that were left; empty where there were none.
    """

    row: Row
    place: Place
    verdict: str
    detail: str
    after_ns: int
    lost: str
    left: str

    @property
    def as_expected(self) -> bool:
        """True where the verdict is expected, no honest agent lost, and nothing is left."""
        clean = not self.left or (self.row.stays and self.place == "thread")
        return self.verdict in self.row.verdicts[self.place] and not self.lost and clean


def matrix_rows(places: Sequence[Place] = PLACES, only: Sequence[str] = ()) -> Iterator[tuple[Row, Place]]:
    """Yield every row at each of the places where it applies.

    Args:
        only: texts; a row counts if its name, or what it does, contains one of them. Without any, all count.
    """
    for row in ROWS:
        if not only or any(text.lower() in f"{row.agent} {row.does}".lower() for text in only):
            yield from ((row, place) for place in places if place in row.verdicts)


class _Turns:
    """Task in which all move at once: it shows the turn, and rewards each player with its action."""

    id = "turns"
    continuous = False
    nil_action = -1

    def __init__(self, players: int) -> None:
        self.players = [f"player_{number}" for number in range(players)]
        self._turn = 0

    def is_legal(self, action: Any) -> bool:
        return type(action) is int

    def reset(self, seed: int) -> dict[str, int]:
        del seed
        self._turn = 0
        return self._shown()

    def step(self, action: dict[str, int]) -> StepResult:
        self._turn += 1
        return StepResult(self._shown(), dict(action), terminated=self._turn == STEPS)

    def _shown(self) -> dict[str, int]:
        return dict.fromkeys(self.players, self._turn)

    def result(self) -> None:
        return None

    def metrics(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


class _Honest:
    """Agent that answers at once."""

    def act(self, observation: int) -> int:
        return observation


class _DisqualificationTime:
    """Sink that notes when the first seat is disqualified."""

    def __init__(self) -> None:
        self._at = math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, SeatDisqualified) and event.seat == 0:
            self._at = time.monotonic()

    def seconds_ago(self) -> float:
        """Return the seconds since then; a negative number where the seat played to the end."""
        return time.monotonic() - self._at


async def _play(
    *bad: AgentHost, think: Sequence[SeatLatency | None] = (), sinks: Sequence[Sink] = ()
) -> list[Event]:
    hosts = [*bad, *(LoopHost(_Honest, f"honest {number}") for number in range(HONEST))]
    events: list[Event] = []
    with trio.fail_after(PATIENCE_SECONDS):
        scheduler = parse_policy("sequential:1", [_Turns(len(hosts))])  # type: ignore[list-item]  # a role will do
        control = RATE_CONTROL if any(think) else CONTROL
        await play_match(scheduler, hosts, control=control, think=think, sinks=[events.append, *sinks])
    return events


def _turns_from(events: Sequence[Event], first: int) -> list[tuple[int, int, str, Any, Any]]:
    """Return turn, seat, verdict, action and reward of all turns of the seats from `first` on."""
    return sorted(
        (e.turn, e.seat - first, e.verdict, e.action, e.reward)
        for e in events
        if isinstance(e, TurnPlayed) and e.seat >= first
    )


def run_row(row: Row, place: Place) -> Finding:
    """Play one misbehaving agent at one place, in an event loop of its own.

    Raises:
        UsageError: the place is `sandbox`, and there are no sandboxes here; or it is `wasm`, and a library
            is missing.
        trio.TooSlowError: the match hangs.
    """
    return trio.run(partial(_run_row, row, place), clock=VirtualClock() if place == "wasm" else None)


async def _run_row(row: Row, place: Place) -> Finding:
    expected = _turns_from(await _play(), 0)
    with _surroundings() as names:
        host = _host(row, place, names)
        before = _Left.now()
        disqualification = _DisqualificationTime()
        think = [RATE, *[None] * HONEST] if place == "wasm" else []
        events = await _play(host, think=think, sinks=[disqualification])
        ran_on = disqualification.seconds_ago()
        left = await _what_is_left(before)
        if ran_on > ENDED_SECONDS and place in {"process", "sandbox"}:
            left = f"{left} the agent itself, for {ran_on:.1f} s".lstrip()
    lost = Counter(expected)
    lost.subtract(_turns_from(events, 1))
    missing = [what for what, count in lost.items() if count]
    verdict, detail, after_ns = _judge(events)
    return Finding(row, place, verdict, detail, after_ns, str(missing[0]) if missing else "", left)


def _host(row: Row, place: Place, names: tuple[str, ...]) -> AgentHost:
    agent = row.agent
    if place == "wasm":
        in_python = f"{plain_agents.__file__}:{agent}"
        text = str(module_file(agent, Path(tempfile.gettempdir()))) if agent in MODULES else in_python
        host = WasmHost(AgentSpec.parse(text), agent, LIMITS.memory)
        host.prepare()  # the compiled program stays open for later matches
        return host
    spec = f"{_AGENTS}.{'plain_agents' if hasattr(plain_agents, agent) else 'agents'}:{agent}"
    if place == "task" or place == "thread":  # noqa: PLR1714 - a test for types, too
        return host_agent(spec, place, agent)
    if row.beside_records:
        file = Path(tempfile.gettempdir()) / GAME / "bot.py"
        file.write_text(f"from {_AGENTS}.agents import {agent}\n")
        spec = f"{file}:{agent}"
    cores = (min(usable_cores()),) if row.pinned else None
    return host_agent(spec, "process", agent, Isolation(place, attrs.evolve(LIMITS, cores=cores), env=names))


def _judge(events: Sequence[Event]) -> tuple[str, str, int]:
    """Return the verdict of seat 0, its detail, and the nanoseconds from the beginning of its turn."""
    began_ns = 0
    verdict, detail, after_ns = "played on", "", 0
    for event in events:
        if isinstance(event, SeatDisqualified) and event.seat == 0:
            return f"disqualified: {event.reason}", event.detail, event.at_ns - began_ns
        if isinstance(event, ReplyDropped) and verdict == "played on":
            verdict = f"dropped: {event.why}"
        if not isinstance(event, TurnPlayed) or event.seat != 0:
            continue
        if event.verdict == "late" and event.turn == TURN:
            verdict, after_ns = "late", event.spent_ns
        if event.turn == TURN and event.action in {DONE, REFUSED}:
            verdict = "could" if event.action == DONE else "could not"
        began_ns = event.at_ns if event.verdict == "on time" else began_ns
    return verdict, detail, after_ns


@contextmanager
def _surroundings() -> Iterator[tuple[str, ...]]:
    """Set up a file of an opponent, a listener, and a mark on all processes; yield their variables.

    Temporary files go to a folder of their own meanwhile.
    """
    before = tempfile.gettempdir()
    with (
        tempfile.TemporaryDirectory(prefix="flagfall-matrix-") as folder,
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX) as control,
    ):
        records = Path(folder) / GAME / "cup-results"
        records.mkdir(parents=True)
        (records / "match.jsonl").write_text("the seed of the match")
        control.bind(str(records / "control.sock"))
        control.listen()
        file = Path(folder) / "opponents-plans.txt"
        file.write_text("how to win")
        variables = {
            OPPONENTS_FILE: str(file),
            RECORDS_FOLDER: str(records),
            HOSTS_PORT: str(listening.getsockname()[1]),
            _MARK: uuid.uuid4().hex,
        }
        os.environ.update(variables)
        tempfile.tempdir = folder
        try:
            yield tuple(variables)
        finally:
            tempfile.tempdir = before
            for name in variables:
                del os.environ[name]


@attrs.frozen
class _Left:
    """Objects that a match may leave, by name.

    Attributes:
        processes: those that have the mark.
        files: temporary files and control groups of agents.
    """

    processes: frozenset[str]
    files: frozenset[str]
    descriptors: int

    @classmethod
    def now(cls) -> _Left:
        temporary = Path(tempfile.gettempdir()).iterdir()
        ours = f"flagfall-{os.getpid()}-"
        groups = [  # those of others may go meanwhile: `os.walk` passes over them
            Path(folder, name)
            for folder, names, _ in os.walk("/sys/fs/cgroup")
            for name in names
            if name.startswith(ours)
        ]
        return cls(
            frozenset(_marked(os.environ[_MARK])),
            frozenset(map(str, (*temporary, *groups))),
            len(list(Path("/proc/self/fd").iterdir())),
        )

    def beyond(self, before: _Left) -> str:
        """Describe what there is beyond an earlier state."""
        found = [
            *(f"process {name}" for name in sorted(self.processes - before.processes)),
            *sorted(self.files - before.files),
        ]
        if self.descriptors > before.descriptors:
            found.append(f"{self.descriptors - before.descriptors} descriptors")
        return ", ".join(found)


def _marked(mark: str) -> Iterator[str]:
    """Yield the ids of processes, other than this one, that have the mark in their environment."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if environment.parent.name != str(os.getpid()) and mark.encode() in environment.read_bytes():
                yield environment.parent.name


async def _what_is_left(before: _Left) -> str:
    end = time.monotonic() + GONE_SECONDS
    while (left := _Left.now().beyond(before)) and time.monotonic() < end:  # noqa: ASYNC110 - there is no event for it
        await trio.sleep(0.01)
    return left
