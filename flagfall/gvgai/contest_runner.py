"""A contest as a series of matches: every agent on every game, one after another."""

from __future__ import annotations

__all__ = ["Fixture", "fixtures", "play_series"]

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs

from flagfall.errors import HostFault, UsageError
from flagfall.gvgai.play_track import PlayedTrack, TrackTimes, agent_label, play_track
from flagfall.kernel.seeding import derive_seed
from flagfall.recording.journal.writer import Journal
from flagfall.recording.series_names import series_path
from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup

if TYPE_CHECKING:
    from pathlib import Path

    import trio

    from flagfall.agents.process.isolation import Isolation
    from flagfall.gvgai.contest import Contest
    from flagfall.kernel.hosting import LocalHostKind
    from flagfall.kernel.sinks import Sink
    from flagfall.tasks.vgdl.learning_track import TrackRules


@attrs.frozen
class Fixture:
    """One match to be played.

    Attributes:
        number: from 0.
        setup: the game and the plan.
        agent: who plays, as text.
        name: the same, short, and unlike the others'.
        seed: of the match; all agents of one game face the same.
        journal: a file for its record.
    """

    number: int
    setup: TrackSetup
    agent: str
    name: str
    seed: int
    journal: Path | None


def fixtures(
    games: Sequence[str],
    agents: Sequence[str],
    rules: TrackRules,
    seed: int = 0,
    journal: Path | None = None,
    sprites: Path | None = None,
) -> tuple[Fixture, ...]:
    """All matches of a contest, game by game. The games are read, so that a mistake is told at once.

    Args:
        games: files or names.
        agents: see `flagfall.gvgai.play_track.seat_agent`.
        rules: of every track.
        seed: of the first game; the others derive theirs from it.
        journal: a file for each record; numbered where there are several.
        sprites: see `TrackSetup`.

    Raises:
        UsageError: there is no game or no agent, one is named twice, a game cannot be played, or a journal
            cannot be written.
    """
    for what, names in (("game", games), ("agent", agents)):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if not names or twice:
            raise UsageError(f"{what} {twice[0]!r} is named twice" if twice else f"name at least one {what}")
    labels = Counter(map(agent_label, agents))
    planned: list[Fixture] = []
    for place, game in enumerate(games):
        setup = TrackSetup(game, rules, sprites)
        setup.build().close()
        game_seed = seed if place == 0 else derive_seed(seed, "game", place)
        for agent in agents:
            label = agent_label(agent)
            name = label if labels[label] == 1 else agent
            number = len(planned)
            path = None if journal is None else series_path(journal, number, len(games) * len(agents))
            if path is not None:
                Journal.check(path)
            planned.append(Fixture(number, setup, agent, name, game_seed, path))
    return tuple(planned)


async def play_series(
    planned: Sequence[Fixture],
    times: TrackTimes,
    contest: Contest,
    *,
    host: LocalHostKind | None = None,
    isolation: Isolation | None = None,
    sinks: Callable[[Fixture], Sequence[Sink]] = lambda _fixture: (),
    stop: trio.Event | None = None,
    tell: Callable[[Fixture, PlayedTrack | HostFault], None] = lambda _fixture, _played: None,
) -> None:
    """Play them in their order. A match that is void does not end the series, nor does an agent's fall.

    Args:
        planned: from `fixtures`.
        times: how time is dealt with.
        contest: takes what the matches came to.
        host: where agents run.
        isolation: how those in processes are kept apart; see `flagfall.gvgai.play_track.seat_agent`.
        sinks: give, for a match, functions that get its events.
        stop: ends the series after the turn that is played; the match in hand does not count.
        tell: called after each match.
    """
    for fixture in planned:
        if stop is not None and stop.is_set():
            return
        try:
            played = await play_track(
                fixture.setup,
                fixture.agent,
                times,
                host=host,
                isolation=isolation,
                name=fixture.name,
                seed=fixture.seed,
                journal=fixture.journal,
                sinks=sinks(fixture),
                stop=stop,
            )
        except HostFault as fault:
            tell(fixture, fault)
            continue
        if played.result.reason != "stopped":
            contest.add(fixture.setup.game, fixture.name, played.figures)
        tell(fixture, played)
