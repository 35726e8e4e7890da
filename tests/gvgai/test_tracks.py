"""Whole tracks: samples and agents in the seed's names, on both clocks, with journals."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.events import TaskEnded, TurnPlayed
from flagfall.gvgai.play_track import PlayedTrack, TrackTimes, play_track
from flagfall.gvgai.sample_players import with_state_observation
from flagfall.gvgai.track_statistics import TrackSink
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.latency import read_models
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.vgdl.learning_track import RULES, TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tasks.vgdl.views.observer import StateObservation
from flagfall.testing import check_task
from flagfall.timing import MS, S, VirtualClock
from flagfall.timing.durations import MINUTE
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.contest import contest_plan, play_contest
from flagfall.tournament.scoring import total_points
from flagfall.tournament.task_tables import rank_tasks
from tests.gvgai.games import DRUM, write_game

OWN_GAMES = ["cinders", "windfall", "underdig"]
SHORT = RULES["gvgai-document"]
FLAGFALL = [sys.executable, "-m", "flagfall"]


def on_the_virtual_clock(
    game: str,
    agent: Any,
    rules: TrackRules = SHORT,
    think: str = "10ms",
    text: str | None = None,
    **more: Any,
) -> PlayedTrack:
    times, rules = TrackTimes.of(rules, text, think=read_models([think], 1)[0])
    return trio.run(partial(play_track, TrackSetup(game, rules), agent, times, **more), clock=VirtualClock())


def wins(track: PlayedTrack, phase: str = "validation") -> int:
    return sum(game.won for game in track.statistics.of(phase))


def score(track: PlayedTrack) -> float:
    return sum(game.score for game in track.statistics.of("validation"))


# Our own games.


@pytest.mark.parametrize("game", OWN_GAMES)
def test_ten_minutes_of_training_on_our_own_games(game, tmp_path):
    for agent in ("random", "q-learning"):
        path = tmp_path / f"{agent}.jsonl"
        # Acts of 900 ms make ten minutes of 667 turns.
        track = on_the_virtual_clock(game, agent, think="900ms", text="act=1s", journal=path, seed=3)
        assert track.result.reason == "finished"
        training = track.statistics.of("training")
        assert [one.level for one in training[:3]] == [0, 1, 2]
        assert 10 * MINUTE <= training[-1].at_ns < 10 * MINUTE + 900 * MS
        assert training[-1].ended in {"time", "finished"}
        assert [one.level for one in track.statistics.of("validation")] == [3, 4]
        assert verify(path, partial(rebuild, journal=path)).ok
        sink = TrackSink()
        for event in read_journal(path):
            sink(event)
        assert sink.statistics == track.statistics, "from the journal and from the match"


def test_learner_is_better_than_random_in_validation():
    rules = attrs.evolve(SHORT, rounds=10, training_ns=1 * MINUTE)
    played = {
        agent: on_the_virtual_clock("cinders", agent, rules, seed=1) for agent in ("random", "q-learning")
    }
    assert wins(played["q-learning"]) >= wins(played["random"]) + 5
    assert score(played["q-learning"]) > score(played["random"])


@pytest.mark.parametrize(
    ("game", "agent"),
    [("cinders", "q-learning"), ("windfall", "random"), ("underdig", "q-learning")],
)
def test_on_the_wall_clock_the_budget_is_real_time(game, agent, tmp_path):
    times, rules = TrackTimes.of(SHORT, "start=20s init=20s act=10s result=20s", training_ns=300 * MS)
    path = tmp_path / "wall.jsonl"
    track = trio.run(partial(play_track, TrackSetup(game, rules), agent, times, journal=path))
    assert track.result.reason == "finished"
    training = track.statistics.of("training")
    assert training[-1].at_ns >= 300 * MS
    assert all(one.at_ns < 300 * MS for one in training[:-1])
    assert [one.level for one in track.statistics.of("validation")] == [3, 4]
    assert verify(path, partial(rebuild, journal=path)).ok


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_levels_of_a_track_keep_the_contract_of_tasks(rules, tmp_path):
    game = write_game(tmp_path)

    def level() -> Any:
        task = TrackSetup(game, rules).build().next_task()
        assert task is not None
        return task

    check_task(level, remembers=rules.remembers)


def test_samples_play_in_processes_as_well(tmp_path):
    times, rules = TrackTimes.of(attrs.evolve(SHORT, games=3), "start=20s act=10s")
    setup = TrackSetup(write_game(tmp_path), rules)
    for agent in ("random", "q-learning"):
        track = trio.run(partial(play_track, setup, agent, times, host="process"))
        assert track.result.reason == "finished", track.result.seats[0].detail
        assert len(track.statistics.games) == 5


# Agents in the seed's names.


class Seed:
    """As the competition's document has agents, in Python's spelling."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def init(self, sso: Any, elapsed_timer: Any) -> None:
        self.told.append(("init", sso.game_tick, elapsed_timer.remaining_ms))

    def act(self, sso: Any, elapsed_timer: Any) -> str:
        self.told.append(("act", sso.game_tick, elapsed_timer.remaining_ms))
        return "ACTION_RIGHT" if len(sso.available_actions) == 4 else "ACTION_NIL"

    def result(self, sso: Any, elapsed_timer: Any) -> int:
        self.told.append(("result", sso.game_winner, elapsed_timer.remaining_ms))
        return 2


@with_state_observation
class Seen:
    """Goes where the goal is, and asks for level 1."""

    def act(self, state: StateObservation, timer: Any) -> str:
        assert timer.remaining_ms > 0
        goal = state.portals_positions[0][0]
        dx, dy = goal.x - state.avatar_position[0], goal.y - state.avatar_position[1]
        return ("RIGHT" if dx > 0 else "LEFT") if dx else "DOWN" if dy > 0 else "UP"

    def result(self, state: StateObservation) -> int:
        assert state.game_winner == "PLAYER_WINS"
        return 1


@with_state_observation
class SeenAsync:
    """The same, asynchronous."""

    def __init__(self) -> None:
        self._plain = Seen()

    async def act(self, state: StateObservation, timer: Any) -> str:
        await trio.lowlevel.checkpoint()
        return self._plain.act(state, timer)

    async def result(self, state: StateObservation) -> int:
        return self._plain.result(state)


def test_agent_in_the_seeds_names(tmp_path):
    agent = Seed()
    rules = attrs.evolve(SHORT, games=4, training_ns=30 * S)
    track = on_the_virtual_clock(write_game(tmp_path), agent, rules)
    assert [(g.phase[0], g.level, g.winner) for g in track.statistics.games] == [
        *[("t", 0, 1), ("t", 1, 0), ("t", 2, 0), ("t", 2, 0)],
        *[("v", 3, 1), ("v", 4, 0)],
    ]
    assert agent.told[:3] == [("init", 0, 1000), ("act", 0, 40), ("act", 1, 40)], "after its think time"
    first = next(what for what in agent.told if what[0] == "result")
    assert first == ("result", "PLAYER_WINS", 29_950), "all the training there is left"
    assert agent.told[-1][0::2] == ("result", 1000), "in validation a second"


@pytest.mark.parametrize("name", ["Seen", "SeenAsync"])
def test_agent_that_sees_states_plays_the_same_in_a_process(name, tmp_path):
    times, rules = TrackTimes.of(attrs.evolve(SHORT, games=4), "start=20s init=20s act=10s result=20s")
    setup = TrackSetup(write_game(tmp_path), rules)
    agent = f"{__file__}:{name}"
    here, there = (
        trio.run(partial(play_track, setup, agent, times, host=host)) for host in ("task", "process")
    )
    assert there.result.seats[0].disqualified is None, there.result.seats[0].detail
    told = [
        [(g.level, g.winner, g.score, g.ticks) for g in track.statistics.games] for track in (here, there)
    ]
    assert told[0] == told[1]
    assert [game[0] for game in told[0]] == [0, 1, 2, 1, 3, 4]


class Aborting:
    """Gives up each game in its third tick."""

    def __init__(self) -> None:
        self.ends: list[Any] = []

    def act(self, sso: Any) -> str:
        return "ACTION_ESCAPE" if sso.game_tick == 2 else "ACTION_NIL"

    def result(self, sso: Any) -> int:
        self.ends.append((sso.game_winner, sso.is_game_over, sso.game_tick))
        return 0


def test_escape_aborts_a_game_and_its_result_is_heard(tmp_path):
    agent = Aborting()
    track = on_the_virtual_clock(write_game(tmp_path), agent, attrs.evolve(SHORT, games=3))
    assert [(g.winner, g.ticks, g.ended) for g in track.statistics.games] == [(-1, 2, "finished")] * 5
    assert agent.ends == [("NO_WINNER", False, 2)] * 5


class Odd:
    """Answers results with what no journal could hold, and with what is a level only here."""

    def __init__(self) -> None:
        self.answers: list[Any] = [
            object(),
            10**5000,
            "\ud800",
            {1: object()},
            np.int64(1),
            np.array(2),
            b"\xff",
        ]

    def act(self, sso: Any) -> Any:  # noqa: ARG002 - it sees nothing
        return np.str_("ESCAPE")

    def result(self, sso: Any) -> Any:  # noqa: ARG002
        self.answers.append(self.answers.pop(0))
        return self.answers[-1]


def test_no_answer_of_an_agent_breaks_the_record(tmp_path):
    journal = tmp_path / "odd.jsonl"
    rules = attrs.evolve(SHORT, games=12)
    track = on_the_virtual_clock(write_game(tmp_path), Odd(), rules, journal=journal)
    assert len(track.statistics.of("training")) == 12
    assert verify(journal, partial(rebuild, journal=journal)).ok


class Late:
    """Late by 5 ms on every third turn, and remembers what it is told of that."""

    def __init__(self) -> None:
        self.turn = -1
        self.told: list[int] = []

    async def act(self, sso: Any, timer: Any) -> str:
        self.turn += 1
        if timer.late is not None:
            self.told.append(timer.late.turn)
            assert sso.avatar_last_action == "NIL"
        await trio.sleep(0.045 if self.turn % 3 == 2 else 0.01)
        return "RIGHT"


def test_late_by_five_milliseconds_is_nil_in_exactly_those_turns_and_is_told(tmp_path):
    agent = Late()
    events: list[Any] = []
    track = on_the_virtual_clock(
        write_game(tmp_path), agent, attrs.evolve(SHORT, games=3), think="none", sinks=[events.append]
    )
    turns = [event for event in events if isinstance(event, TurnPlayed)]
    late = [turn.turn for turn in turns if turn.verdict == "late"]
    assert late == [number for number in range(len(turns)) if number % 3 == 2]
    assert all(turns[number].action == "NIL" for number in late)
    assert all(turn.action == "RIGHT" for turn in turns if turn.verdict == "on time")
    assert agent.told == [number for number in late if number + 1 < len(turns)]
    assert sum(game.late for game in track.statistics.games) == len(late)
    assert track.result.seats[0].disqualified is None


class Slow:
    """Takes 1.2 s for its fifth turn."""

    turn = 0

    async def act(self, _sso: Any) -> str:
        self.turn += 1
        await trio.sleep(1.2 if self.turn == 5 else 0.01)
        return "RIGHT"


def test_hard_limit_disqualifies_and_the_contest_goes_on(tmp_path):
    rules = attrs.evolve(SHORT, games=3)
    times, rules = TrackTimes.of(rules, think=read_models(["10ms"], 1)[0])
    game = write_game(tmp_path)
    slow = f"{__file__}:Slow"
    plan = contest_plan([game, "cinders"], ["random", slow, "q-learning"], times, rules, clock="virtual")
    stored: list[MatchRecord] = []
    contest = partial(play_contest, plan, tmp_path / "contest", on_record=stored.append)
    records = trio.run(contest, clock=VirtualClock())
    assert [record.seats[0].agent for record in stored] == ["random", "Slow", "q-learning"] * 2
    rankings = rank_tasks(plan, records)
    for ranking in rankings:
        out = ranking.placings[-1]
        assert (out.agent, out.disqualified, out.points, out.games) == ("Slow", "late", 0, 0)
        assert {placing.games for placing in ranking.placings[:-1]} == {2}
    last = total_points([agent.name for agent in plan.agents], rankings)[-1]
    assert (last.agent, last.points, last.disqualified) == ("Slow", 0, 2)


def test_a_contest_with_the_fixed_time_of_a_former_version_goes_on(tmp_path):
    """What stored plans had as `think_ns` is a model now; the contest is the same one."""
    times, rules = TrackTimes.of(attrs.evolve(SHORT, games=1), think=read_models(["10ms"], 1)[0])
    plan = contest_plan([write_game(tmp_path)], ["random"], times, rules, clock="virtual")
    contest = partial(play_contest, plan, tmp_path / "contest")
    records = trio.run(contest, clock=VirtualClock())
    with closing(sqlite3.connect(tmp_path / "contest/tournament.db")) as database, database:
        (stored,) = database.execute("SELECT value FROM about WHERE name = 'facts'").fetchone()
        facts = json.loads(stored)
        assert facts.pop("agents.random.think") == "act=10ms"
        facts["agents.random.think_ns"] = "10000000"
        database.execute("UPDATE about SET value = ? WHERE name = 'facts'", [json.dumps(facts)])
    assert trio.run(partial(contest, resume=True), clock=VirtualClock()) == records


def test_a_contest_that_is_killed_goes_on_to_the_same_result(tmp_path):
    """Its folder is a tournament's, which all commands for those can read."""
    game = write_game(tmp_path)
    options = ["-a", "random", "q-learning", "--clock", "virtual", "--think", "10ms", "--training", "20s"]
    contest = [*FLAGFALL, "gvgai", "contest", game, "cinders", *options, "--seed", "3", "--json", "--output"]
    with subprocess.Popen([*contest, tmp_path / "killed"], stderr=subprocess.PIPE, text=True) as killed:
        assert killed.stderr is not None
        assert "[1/4]" in killed.stderr.readline()
        killed.kill()
    again = run_here([*contest, tmp_path / "killed", "--resume"])
    assert "[1/4]" not in again.stderr, "what was stored is not played again"
    whole = run_here([*contest, tmp_path / "whole"])
    found, wanted = json.loads(again.stdout), json.loads(whole.stdout)
    assert found.pop("folder") != wanted.pop("folder")
    assert found == wanted
    assert len(found["matches"]) == 4
    files = [sorted(tmp_path.glob(f"{name}/journals/*")) for name in ("killed", "whole")]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    refused = run_here([*contest, tmp_path / "killed", "--resume", "--rounds", "3"], code=2)
    assert "the plan has changed since the tournament" in refused.stderr
    assert "q-learning" in run_here([*FLAGFALL, "results", tmp_path / "killed"]).stdout
    run_here([*FLAGFALL, "report", tmp_path / "killed"])
    assert "OK" in run_here([*FLAGFALL, "verify", files[0][0]]).stdout


def run_here(words: list[Any], code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    return ended


class Thoughtful:
    """Plays by a list of thinking times, in seconds; remembers what each `result` showed, and its time."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = list(seconds)
        self.ends: list[tuple[str, int, int]] = []

    async def act(self, _sso: Any) -> str:
        await trio.sleep(self.seconds.pop(0) if self.seconds else 0.01)
        return "RIGHT"

    def result(self, sso: Any, timer: Any) -> int:
        self.ends.append((sso.game_winner, sso.game_tick, timer.remaining_ms))
        return 0


def program(path: Path, agent: Any, **changes: Any) -> PlayedTrack:
    rules = attrs.evolve(RULES["gvgai-2017"], **{"games": 3, "rounds": 1, **changes})
    return on_the_virtual_clock(write_game(path), agent, rules, think="none", journal=path / "track.jsonl")


def test_program_of_2017_waits_for_a_tick_up_to_its_limit_and_then_aborts_the_level(tmp_path):
    # 45 ms: NIL, and no tick is lost. 50 ms: the level is aborted in this very tick. 2 s: the same.
    agent = Thoughtful(0.01, 0.045, 0.01, 0.05, 2.0)
    track = program(tmp_path, agent)
    assert track.result.seats[0].disqualified is None
    games = track.statistics.games
    assert [(game.level, game.winner, game.ticks) for game in games[:2]] == [(0, -1, 3), (1, -1, 0)]
    assert [game.level for game in games] == [0, 1, 2, 3, 4]
    assert [game.late for game in games] == [2, 1, 0, 0, 0]
    turns = [event for event in read_journal(tmp_path / "track.jsonl") if isinstance(event, TurnPlayed)]
    assert [(turn.action, turn.verdict) for turn in turns[:5]] == [
        ("RIGHT", "on time"),
        ("NIL", "late"),
        ("RIGHT", "on time"),
        ("ESCAPE", "overrun"),
        ("ESCAPE", "overrun"),
    ]
    assert agent.ends[0][:2] == ("NO_WINNER", 3)
    assert verify(tmp_path / "track.jsonl", partial(rebuild, journal=tmp_path / "track.jsonl")).ok


def test_time_for_a_result_begins_when_the_agent_is_back_from_its_overlong_tick(tmp_path):
    agent = Thoughtful(
        *[0.01] * (5 + 31 + 31), 30.0
    )  # three levels of training, then the first tick of level 3
    track = program(tmp_path, agent)
    assert track.result.seats[0].disqualified is None
    assert agent.ends[3] == ("NO_WINNER", 0, 1000), "in validation a second, in full"


def test_program_of_2017_puts_a_silent_agent_out_after_a_minute(tmp_path):
    assert program(tmp_path, Thoughtful(59.9)).result.seats[0].disqualified is None
    silent = program(tmp_path, Thoughtful(61.0))
    assert (silent.result.seats[0].disqualified, silent.result.elapsed_ns) == ("late", 60 * S)


# Rules.


def test_public_program_remembers_timers_from_level_to_level(tmp_path):
    game = write_game(tmp_path, "drum", DRUM)

    def scores(name: str) -> list[float]:
        rules = attrs.evolve(RULES[name], games=3, rounds=1)
        return [one.score for one in on_the_virtual_clock(game, Aborts(), rules).statistics.games]

    class Aborts:
        def act(self, _sso: Any) -> str:
            return "NIL"

    assert scores("gvgai-document") == [1.0] * 5
    assert scores("gvgai-2017")[0] == 1.0
    assert scores("gvgai-2017")[1:] == [0.0] * 4, "its next stroke is due after the level has ended"


def test_time_control_says_how_long_training_is():
    times, rules = TrackTimes.of(SHORT, "gvgai-document total=30s act=80ms/2s")
    assert rules.training_ns == 30 * S
    assert str(times.control) == "start=1s init=1s act=80ms/2s result=1s"
    assert TrackTimes.of(SHORT)[1].training_ns == 10 * MINUTE
    assert TrackTimes.of(RULES["gvgai-2017"])[1].training_ns == 5 * MINUTE
    assert str(TrackTimes.of(RULES["gvgai-2017"])[0].control) == (
        "start=1s init=1s act=40ms/1m act_abort=50ms result=1s"
    )
    assert TrackTimes.of(SHORT, "total=30s", training_ns=1 * S)[1].training_ns == 1 * S


@pytest.mark.parametrize("think", ["none", "0s", "start=1s init=1s", "mixture(1 0s) network=0s loss=0.1/0s"])
def test_time_that_never_passes_is_refused(think, tmp_path):
    with pytest.raises(UsageError, match="only thinking takes time"):
        on_the_virtual_clock(write_game(tmp_path), "random", think=think)


@pytest.mark.parametrize(
    ("games", "agents", "message"),
    [
        ([], ["random"], "name at least one game"),
        (["cinders"], [], "name at least one agent"),
        (["cinders"], ["random", "random"], "agent 'random' is named twice"),
        (["cinder"], ["random"], "no game 'cinder'; nearest: cinders"),
    ],
)
def test_mistakes_of_a_contest_are_told_before_it_begins(games, agents, message):
    with pytest.raises(UsageError, match=message):
        contest_plan(games, agents, TrackTimes.of(SHORT)[0], SHORT)


def test_damaged_header_is_told():
    with pytest.raises(UsageError, match="damaged"):
        TrackSetup.from_config('{"gvgai":{"game":"cinders","rules":{"rounds":"many"}}}')
    assert TrackSetup.from_config('{"tasks":[]}') is None
    assert TrackSetup.from_config("no JSON") is None


def test_header_builds_the_same_track(tmp_path):
    for rules in RULES.values():
        setup = TrackSetup(write_game(tmp_path), attrs.evolve(rules, games=7))
        header = setup.header()
        assert str(tmp_path) not in str(header)
        assert TrackSetup.from_config(header["config"], tmp_path) == setup


def test_end_by_time_is_recorded_as_such(tmp_path):
    events: list[Any] = []
    rules = attrs.evolve(SHORT, training_ns=100 * MS)
    on_the_virtual_clock(write_game(tmp_path), Seed(), rules, sinks=[events.append])
    ends = [event for event in events if isinstance(event, TaskEnded)]
    assert [(end.ended, end.steps) for end in ends[:2]] == [("finished", 5), ("time", 5)]
    assert ends[0].task == "vgdl:corridor.txt#0"
