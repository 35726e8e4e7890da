"""Playing a track: a match of one agent on one game, with the rules and the clock of the learning track."""

from __future__ import annotations

__all__ = [
    "PlayedTrack",
    "TrackTimes",
    "agent_label",
    "control_for",
    "host_track_client",
    "play_track",
    "seat_agent",
]

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.command_line import split_command
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, NO_ISOLATION, Isolation
from flagfall.agents.registry import load_agent
from flagfall.agents.spec import TRACK_CLIENTS, AgentSpec
from flagfall.errors import UsageError
from flagfall.gvgai.clients.host import ClientHost, ready
from flagfall.gvgai.fixed_delay_host import FixedDelayHost
from flagfall.gvgai.hosts import ProgramHost, control_of_client
from flagfall.gvgai.sample_players import PLAYERS
from flagfall.gvgai.track_statistics import TrackSink, TrackStatistics
from flagfall.kernel.hosting import AgentHost, LocalHostKind
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.recording.journal.writer import Journal
from flagfall.timing import TimeControl, VirtualClock
from flagfall.timing.durations import S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagfall.kernel.sinks import Sink
    from flagfall.tasks.vgdl.learning_track import Track, TrackRules
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

LOADING_NS: Final = 10 * S
"""Additional time for `start` of programs: the rules' second is for the constructor, not for loading before
it."""


@attrs.frozen
class TrackTimes:
    """Time settings of a track. An agent in a process has `LOADING_NS` more for its `start`.

    Attributes:
        control: time control of the match, without a total, which is the time for training alone.
        think_ns: time that each action of an agent takes on the virtual clock, on which nothing else does.
    """

    control: TimeControl
    think_ns: int = 0

    @classmethod
    def of(
        cls, rules: TrackRules, text: str | None = None, training_ns: int | None = None, think_ns: int = 0
    ) -> tuple[TrackTimes, TrackRules]:
        """Return the times, and the rules with the time for training.

        Args:
            rules: rules of the track; their name is that of the default time control.
            text: text of another time control; its `total` is the time for training.
            training_ns: time for training, overriding both.
            think_ns: see the class.

        Raises:
            UsageError: the text is not a time control.
        """
        control = TimeControl.parse(text or rules.name)
        if text is not None and control.total is not None:
            rules = attrs.evolve(rules, training_ns=control.total)
        if training_ns is not None:
            rules = attrs.evolve(rules, training_ns=training_ns)
        return cls(attrs.evolve(control, total=None, grace=None), think_ns), rules


@attrs.frozen
class PlayedTrack:
    """A track that was played.

    Attributes:
        agent: name of the agent.
        game: name or file of the game.
        seed: root seed of the match.
        journal: file of the journal, if the match was recorded.
        result: result of the match.
        statistics: statistics of the track.
    """

    agent: str
    game: str
    seed: int
    journal: Path | None
    result: MatchResult
    statistics: TrackStatistics


async def play_track(
    setup: TrackSetup,
    agent: Any,
    times: TrackTimes,
    *,
    host: LocalHostKind | None = None,
    isolation: Isolation | None = None,
    name: str | None = None,
    seed: int = 0,
    journal: Path | None = None,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
) -> PlayedTrack:
    """Play a whole track in the running event loop.

    Args:
        setup: game and rules of the track.
        agent: see `seat_agent`.
        times: time settings.
        host: where the agent runs.
        isolation: isolation of an agent in a process; see `seat_agent`.
        name: name of the agent in tables.
        seed: root seed of the match.
        journal: file for the journal.
        sinks: additional sinks.
        stop: setting it ends the match before its next turn.

    Raises:
        UsageError: an argument is invalid; nothing was played.
        HostFault: the game, a sink or the disk failed.
    """
    track = setup.build()
    sink = TrackSink()
    recorder = [] if journal is None else [Journal(journal)]
    name = name or agent_label(agent)
    seated = seat_agent(agent, track, times, host, name, isolation)
    async with ready(seated):
        result = await play_match(
            track,
            [seated],
            control=control_for(seated, times.control),
            seed=seed,
            sinks=[*recorder, sink, *sinks],
            stop=stop,
            header={"flagfall": version("flagfall"), **setup.header()},
        )
    return PlayedTrack(name, setup.game, seed, journal, result, sink.statistics)


def control_for(host: AgentHost, control: TimeControl) -> TimeControl:
    """Return the time control of a host's match.

    A program has additional time to load; a client of the original measures itself (see `control_of_client`).

    Args:
        host: host of the agent.
        control: time control of the track.
    """
    if isinstance(host, ClientHost | ProgramHost):
        control = control_of_client(control)
    if host.kind != "process" or control.start is None:
        return control
    return attrs.evolve(control, start=control.start + LOADING_NS)


def agent_label(agent: Any) -> str:
    """Return a short name of an agent for tables.

    Args:
        agent: see `seat_agent`.
    """
    if not isinstance(agent, str):
        return getattr(agent, "__name__", None) or type(agent).__name__
    spec = AgentSpec.parse(agent)
    if spec.scheme in TRACK_CLIENTS:
        split_command(spec.target)
    return spec.name


def host_track_client(agent: str, track: Track, name: str, isolation: Isolation | None = None) -> AgentHost:
    """Return a host for a client of the original.

    Args:
        agent: `gvgai:COMMAND` for a client that connects to a port, `program:COMMAND` for one over its
            standard input and output.
        track: schedule of the levels.
        name: name in tables.
        isolation: isolation of its process; by default that of agents in processes for `gvgai:`, and none for
            `program:`.

    Raises:
        UsageError: there is no such program, or the isolation is not supported.
    """
    spec = AgentSpec.parse(agent)
    if spec.scheme == "program":
        return ProgramHost(spec.target, track, name, isolation or NO_ISOLATION)
    return ClientHost(spec.target, track, name, isolation or DEFAULT_ISOLATION)


def seat_agent(
    agent: Any,
    track: Track,
    times: TrackTimes,
    host: LocalHostKind | None,
    name: str,
    isolation: Isolation | None = None,
) -> AgentHost:
    """Return a host for an agent of the learning track, in the running event loop.

    Args:
        agent: name of a sample (`flagfall.gvgai.sample_players.PLAYERS`), a client of the original (see
            `host_track_client`), or any agent that `flagfall.playing.play` takes.
        track: schedule of the levels.
        times: time settings.
        host: where it runs; by default samples and objects run in the event loop, and on the virtual clock
            all agents do.
        name: name in tables.
        isolation: isolation of an agent in a process.

    Raises:
        UsageError: there is no such agent, or it cannot run there.
    """
    virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
    if isinstance(agent, str) and AgentSpec.parse(agent).scheme in TRACK_CLIENTS:
        if virtual or host not in {None, "process"}:
            raise UsageError(
                f"{agent}: a GVGAI client is a process and runs in real time: leave host and clock out"
            )
        return host_track_client(agent, track, name, isolation)
    if virtual and host is None:
        host = "task"
    if isinstance(agent, str) and agent in PLAYERS:
        player = PLAYERS[agent]
        if host == "process":
            return host_agent(
                f"{player.__module__}:{player.__name__}", host, name, isolation or DEFAULT_ISOLATION
            )
        agent = player
    if virtual and not times.think_ns and track.rules.games is None:
        raise UsageError(
            "on the virtual clock only thinking takes time: set the thinking time, or the number of games of"
            " training"
        )
    if times.think_ns and host == "task":
        return FixedDelayHost(load_agent(agent) if isinstance(agent, str) else agent, name, times.think_ns)
    return host_agent(agent, host, name, isolation or DEFAULT_ISOLATION)
