"""Playing a track: a match of one agent on one game, with the rules and the clock of the learning track."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.hosts.registry import Player
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, NO_ISOLATION, Isolation
from flagfall.agents.spec import split_command
from flagfall.errors import UsageError
from flagfall.gvgai.clients.host import ClientHost, ready
from flagfall.gvgai.hosts import ProgramHost, control_of_client
from flagfall.gvgai.sample_players import PLAYERS
from flagfall.gvgai.track_statistics import TrackSink, TrackStatistics
from flagfall.kernel.hosting import AgentHost, LocalHostKind
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import MatchRequest, play_request
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import TimeControl, VirtualClock
from flagfall.timing.durations import S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagfall.kernel.dispatcher import Sink
    from flagfall.tasks.vgdl.learning_track import Track, TrackRules
    from flagfall.timing.latency import SeatLatency

LOADING_NS: Final = 10 * S
"""Additional time for `start` of programs: the rules' second is for the constructor, not for loading before
it."""


@attrs.frozen
class TrackTimes:
    """Time settings of a track. An agent in a process has `LOADING_NS` more for its `start`.

    Attributes:
        control: time control of the match, without a total, which is the time for training alone.
        think: the time that turns take on the virtual clock, on which computing takes none.
    """

    control: TimeControl
    think: SeatLatency | None = None

    @classmethod
    def of(
        cls,
        rules: TrackRules,
        text: str | None = None,
        training_ns: int | None = None,
        think: SeatLatency | None = None,
    ) -> tuple[TrackTimes, TrackRules]:
        """Return the times, and the rules with the time for training.

        Args:
            rules: rules of the track; their name is that of the default time control.
            text: text of another time control; its `total` is the time for training.
            training_ns: time for training, overriding both.
        """
        control = TimeControl.parse(text or rules.name)
        if text is not None and control.total is not None:
            rules = attrs.evolve(rules, training_ns=control.total)
        if training_ns is not None:
            rules = attrs.evolve(rules, training_ns=training_ns)
        return cls(attrs.evolve(control, total=None, grace=None), think), rules


@attrs.frozen
class PlayedTrack:
    """A track that was played."""

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
        agent: see `track_player`.
        stop: setting it ends the match before its next turn.

    Raises:
        UsageError: an argument is invalid; nothing was played.
        HostFault: the game, a sink or the disk failed.
    """
    virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
    sink = TrackSink()
    player = track_player(agent, setup.rules, times, host, isolation, virtual=virtual, name=name)
    request = MatchRequest(
        tasks=setup,
        agents=(player,),
        time_control=times.control,
        clock="virtual" if virtual else "wall",
        seed=seed,
        journal=journal,
        sinks=(sink, *sinks),
    )
    request.check()
    result = await play_track_request(request, stop)
    return PlayedTrack(result, sink.statistics)


def track_player(
    agent: Any,
    rules: TrackRules,
    times: TrackTimes,
    host: LocalHostKind | None = None,
    isolation: Isolation | None = None,
    *,
    virtual: bool = False,
    name: str | None = None,
) -> Player:
    """Return an agent of the learning track.

    Args:
        agent: name of a sample (`flagfall.gvgai.sample_players.PLAYERS`), `gvgai:COMMAND` for a client of the
            original that connects to a port, `program:COMMAND` for one over its standard input and output, or
            any agent that `flagfall.playing.play` takes.
        host: where it runs; by default samples and objects run in the event loop, and on the virtual clock
            all agents do.
        isolation: isolation of an agent in a process; by default that of agents in processes, and none for
            `program:`.

    Raises:
        UsageError: there is no such agent or program, or no time would pass.
    """
    player = Player(agent, host, name)
    name, spec = player.label, player.spec
    if spec is not None and spec.form.plays_tracks:
        split_command(spec.target)
        kept = NO_ISOLATION if spec.scheme == "program" else DEFAULT_ISOLATION
        return Player(agent, host, name, isolation or kept)
    if virtual and rules.games is None and not (times.think and times.think.delays_turns):
        raise UsageError(
            "on the virtual clock only thinking takes time: set the thinking time, or the number of games of"
            " training"
        )
    if spec is not None and spec.scheme == "sample":
        host = host or "task"
        found = PLAYERS.get(agent)
        agent = agent if found is None else f"{found.__module__}:{found.__name__}"
    return Player(agent, host, name, isolation or DEFAULT_ISOLATION, think=times.think)


@attrs.frozen
class BuiltTrack:
    """Setup of a track that is built already: the host of a client needs it before the match begins."""

    track: Track
    setup: TrackSetup

    def build(self) -> Track:
        """Return the track."""
        return self.track

    def header(self) -> dict[str, Any]:
        """Return the header of the setup."""
        return self.setup.header()


async def play_track_request(request: MatchRequest, stop: trio.Event | None = None) -> MatchResult:
    """Play a request whose tasks are a track; see `flagfall.playing.play_request`.

    An agent in a process has additional time to load; a client of the original measures its time itself (see
    `control_of_client`).

    Args:
        request: the match, checked, of one agent.
        stop: set it to end the match before its next turn.
    """
    setup, (player,) = request.tasks, request.agents
    assert isinstance(setup, TrackSetup)
    track = setup.build()
    host = _seated(player, track, virtual=request.clock == "virtual")
    control = request.time_control
    if isinstance(host, ClientHost | ProgramHost):
        control = control_of_client(control)
    if host.kind == "process" and control.start is not None:
        control = attrs.evolve(control, start=control.start + LOADING_NS)
    seated = attrs.evolve(
        request,
        tasks=BuiltTrack(track, setup),
        agents=(Player(host, think=player.think),),
        time_control=control,
    )
    async with ready(host):
        return await play_request(seated, stop)


def _seated(player: Player, track: Track, *, virtual: bool) -> AgentHost:
    spec = player.spec
    if spec is None or not spec.form.plays_tracks:
        return player.seated(virtual=virtual)
    made = ProgramHost if spec.scheme == "program" else ClientHost
    return made(spec.target, track, player.label, player.isolation)
