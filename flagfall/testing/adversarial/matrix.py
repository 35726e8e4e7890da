"""The matrix: every bad agent on every host where the notion applies, and what becomes of it.

Each is played beside `HONEST` honest agents, on one task with a turn for all at once. What those got must be,
to the last verdict and reward, what they get where the bad one is not. And when the match is over, no
process, file, descriptor or control group may be left of it.
"""

from __future__ import annotations

__all__ = ["HONEST", "PLACES", "ROWS", "Finding", "Place", "Row", "matrix_rows", "run_matrix", "run_row"]

import math
import os
import socket
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.limits import Limits
from flagfall.agents.registry import load_agent
from flagfall.events import Event, ReplyDropped, SeatDisqualified, TurnPlayed
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.sinks import Sink
from flagfall.tasks.scheduler_text import parse_policy
from flagfall.testing.adversarial.agents import DONE, HOSTS_PORT, OPPONENTS_FILE, REFUSED, TURN
from flagfall.testing.adversarial.escapes import RECORDS_FOLDER
from flagfall.testing.adversarial.rows import PLACES, ROWS, Place, Row
from flagfall.timing import TimeControl

HONEST: Final = 16
"""How many honest agents sit beside the bad one."""

CONTROL: Final = TimeControl.parse("start=20s init=2s act=50ms/400ms result=2s")
LIMITS: Final = Limits.parse("memory=300MB processes=64 files=128 file_size=20MB disk=8MB")
STEPS: Final = 14
"""So many that one who does not answer meets the hard limit: honest agents answer at once."""

PATIENCE_S: Final = 60.0
"""What is not over by then hangs."""

ENDED_S: Final = 3.0
"""The time that an agent in a process may run on after it is out: a supervisor takes milliseconds, a host
if its supervisor does not answer a tenth of a second, and a busy machine more."""

GONE_S: Final = 1.0
"""How long to look before something counts as left: a thread that was told to end takes a moment."""

GAME: Final = "game"
"""Folder with the records of a match, and with an agent beside them."""

_MARK: Final = "FLAGFALL_MATRIX"
_AGENTS: Final = "flagfall.testing.adversarial.agents"


@attrs.frozen
class Finding:
    """What became of a bad agent.

    Attributes:
        row: which it was.
        place: where it ran.
        verdict: `out: REASON`, `late`, `dropped: WHY`, `could`, `could not` or `played on`.
        detail: what its author is shown.
        after_ns: how long after its turn began it was judged.
        lost: what the honest ones lost by it; empty where that is nothing.
        left: what is left of it; empty where that is nothing.
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
        """Whether it is as it ought to be."""
        clean = not self.left or (self.row.stays and self.place == "thread")
        return self.verdict in self.row.verdicts[self.place] and not self.lost and clean


def matrix_rows(places: Sequence[Place] = PLACES, only: Sequence[str] = ()) -> Iterator[tuple[Row, Place]]:
    """Yield every row at every of these places where it applies.

    Args:
        places: where the agents run.
        only: texts; a row counts if its name, or what it does, contains one of them. Without any, all count.
    """
    for row in ROWS:
        if not only or any(text.lower() in f"{row.agent} {row.does}".lower() for text in only):
            yield from ((row, place) for place in places if place in row.verdicts)


class _Turns:
    """A task with a turn for all at once: shows its number, and pays each player what it answered."""

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
    """Answers at once."""

    def act(self, observation: int) -> int:
        return observation


class _FallTime:
    """Sink that notes when the first seat is out."""

    def __init__(self) -> None:
        self._fell_at = math.inf

    def __call__(self, event: Event) -> None:
        if isinstance(event, SeatDisqualified) and event.seat == 0:
            self._fell_at = time.monotonic()

    def seconds_ago(self) -> float:
        """Return the seconds since then; a negative number where the seat played to the end."""
        return time.monotonic() - self._fell_at


async def _play(*bad: AgentHost, sinks: Sequence[Sink] = ()) -> list[Event]:
    hosts = [*bad, *(LoopHost(_Honest, f"honest {number}") for number in range(HONEST))]
    events: list[Event] = []
    with trio.fail_after(PATIENCE_S):
        scheduler = parse_policy("sequential:1", [_Turns(len(hosts))])  # type: ignore[list-item]  # a role will do
        await play_match(scheduler, hosts, control=CONTROL, sinks=[events.append, *sinks])
    return events


def _got(events: Sequence[Event], first: int) -> list[tuple[int, int, str, Any, Any]]:
    """What the seats from this one on got: turn, seat, verdict, action and reward."""
    return sorted(
        (e.turn, e.seat - first, e.verdict, e.action, e.reward)
        for e in events
        if isinstance(e, TurnPlayed) and e.seat >= first
    )


async def run_row(row: Row, place: Place) -> Finding:
    """Play one bad agent at one place.

    Raises:
        UsageError: there are no sandboxes here, and one is asked for.
        trio.TooSlowError: the match hangs.
    """
    usual = _got(await _play(), 0)
    with _surroundings() as names:
        host = _host(row, place, names)
        before = _Left.now()
        fell = _FallTime()
        events = await _play(host, sinks=[fell])
        after_fall = fell.seconds_ago()
        left = await _what_is_left(before)
        if after_fall > ENDED_S and place in {"process", "sandbox"}:
            left = f"{left} the agent itself, for {after_fall:.1f} s".lstrip()
    lost = Counter(usual)
    lost.subtract(_got(events, 1))
    missing = [what for what, count in lost.items() if count]
    verdict, detail, after_ns = _judge(events)
    return Finding(row, place, verdict, detail, after_ns, str(missing[0]) if missing else "", left)


def _host(row: Row, place: Place, names: tuple[str, ...]) -> AgentHost:
    agent = row.agent
    spec = f"{_AGENTS}:{agent}"
    if place == "task":
        return LoopHost(load_agent(spec), agent)
    if place == "thread":
        return ThreadHost(load_agent(spec), agent)
    if row.beside_records:
        file = Path(tempfile.gettempdir()) / GAME / "bot.py"
        file.write_text(f"from {_AGENTS} import {agent}\n")
        spec = f"{file}:{agent}"
    cores = (min(os.sched_getaffinity(0)),) if row.pinned else None
    return ProcessHost(spec, agent, Isolation(place, attrs.evolve(LIMITS, cores=cores), env=names))


def _judge(events: Sequence[Event]) -> tuple[str, str, int]:
    """What became of seat 0: the verdict, its detail, and how long after its turn began."""
    began_ns = 0
    verdict, detail, after_ns = "played on", "", 0
    for event in events:
        if isinstance(event, SeatDisqualified) and event.seat == 0:
            return f"out: {event.reason}", event.detail, event.at_ns - began_ns
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


# What is left.


@contextmanager
def _surroundings() -> Iterator[tuple[str, ...]]:
    """A file of an opponent, a port at which somebody listens, a mark on all processes; their variables.

    Temporary files go to a folder of their own meanwhile, where nobody else's are.
    """
    usual = tempfile.gettempdir()
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
            tempfile.tempdir = usual
            for name in variables:
                del os.environ[name]


@attrs.frozen
class _Left:
    """What there is now, as names.

    Attributes:
        processes: those that have the mark.
        files: temporary files and control groups of agents.
        descriptors: how many this process has.
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
        """What there is more than before, in words."""
        said = [
            *(f"process {name}" for name in sorted(self.processes - before.processes)),
            *sorted(self.files - before.files),
        ]
        if self.descriptors > before.descriptors:
            said.append(f"{self.descriptors - before.descriptors} descriptors")
        return ", ".join(said)


def _marked(mark: str) -> Iterator[str]:
    """The processes of this machine that have the mark in their environment, but not this one."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if environment.parent.name != str(os.getpid()) and mark.encode() in environment.read_bytes():
                yield environment.parent.name


async def _what_is_left(before: _Left) -> str:
    end = time.monotonic() + GONE_S
    while (left := _Left.now().beyond(before)) and time.monotonic() < end:  # noqa: ASYNC110 - no event tells
        await trio.sleep(0.01)
    return left


def run_matrix(places: Sequence[Place] = PLACES, only: Sequence[str] = ()) -> Iterator[Finding]:
    """Play these rows (see `matrix_rows`) one after another, each in an event loop of its own."""
    for row, place in matrix_rows(places, only):
        yield trio.run(partial(run_row, row, place))
