"""Lines of the original's server, for scripts that parse them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.events import Event, MatchEnded, MatchStarted, SeatDisqualified, SeatReady, TaskEnded
from flagfall.gvgai.original_output import GAMES, OriginalOutput, game_file
from flagfall.gvgai.play_track import TrackTimes, play_track
from flagfall.tasks.vgdl.learning_track import RULES
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import S
from tests.gvgai.clients import Client
from tests.gvgai.games import write_game
from tests.ports import free_port

PAGE = Path(__file__).parents[2] / "docs/from-gvgai.md"
STARTED = MatchStarted(
    0, schema=2, flagfall="", tasks=(), scheduler="", agents=(), seed=0, time_control="", clock="wall"
)


def game(phase: str, level: int, winner: int, score: float, ticks: int, ended: str = "finished") -> TaskEnded:
    metrics = {"phase": phase, "level": level, "winner": winner, "score": score, "ticks": ticks}
    return TaskEnded(0, "id", 0, None, 0.0, ticks + 1, ended, metrics)


def printed(events: Iterable[Event], **options: Any) -> list[str]:
    lines: list[str] = []
    sink = OriginalOutput("games/aliens.txt", RULES["gvgai-2017"], lines.append, **options)
    for event in (STARTED, *events):
        sink(event)
    return lines


FIRST = [game("training", 0, 0, 62.0, 883), game("training", 1, 1, 8.0, 40), game("training", 2, 0, 3.0, 9)]
SESSION = [
    SeatReady(0, 0, 0, "process"),
    *FIRST,
    game("training", 3, -1, -2.0, 17),
    game("validation", 3, 1, 40.0, 640),
    game("validation", 4, 1, 0.0, 12345678),
    MatchEnded(368 * S, "finished", 9),
]


def test_lines_are_those_of_the_original():
    assert "\n".join(printed(SESSION)) == (
        "[GAME] Game idx:0 game name aliens\n"
        "[PHASE] Starting First Phase of Training in 3 levels.\n"
        "[TRAINING] Result (1->win; 0->lose): level:0, Player0:0, Player0-Score:62.0, timesteps:883\n"
        "[TRAINING] Result (1->win; 0->lose): level:1, Player0:1, Player0-Score:8.0, timesteps:40\n"
        "[TRAINING] Result (1->win; 0->lose): level:2, Player0:0, Player0-Score:3.0, timesteps:9\n"
        "[PHASE] Starting Second Phase of Training in 3 levels.\n"
        "[TRAINING] Result (1->win; 0->lose): level:3, Player0:-1, Player0-Score:-2.0, timesteps:17\n"
        "[PHASE] Starting Validation in 2 levels.\n"
        "[VALIDATION] Result (1->win; 0->lose): level:3, Player0:1, Player0-Score:40.0, timesteps:640\n"
        "[VALIDATION] Result (1->win; 0->lose): level:4, Player0:1, Player0-Score:1.0, timesteps:12345678\n"
        "[PHASE] End Validation in 2 levels.\n"
        "\n \t --> Real execution time: 6 minutes, 8 seconds of wall time."
    )


def test_second_phase_is_left_out_where_the_first_one_ended_the_training():
    lines = printed([*SESSION[:4], game("validation", 3, 0, 0.0, 1)])
    assert [line for line in lines if line.startswith("[PHASE]")] == [
        "[PHASE] Starting First Phase of Training in 3 levels.",
        "[PHASE] Starting Validation in 2 levels.",
    ]


def test_disqualified_client_has_the_values_of_the_original():
    fell = [
        SeatDisqualified(0, 0, "late"),
        game("validation", 3, -1, 7.5, 25, "cut"),
        MatchEnded(S, "seats", 1),
    ]
    assert printed([*SESSION[:4], *fell])[-3:] == [
        "[VALIDATION] Result (1->win; 0->lose): level:3, Player0:-100, Player0-Score:-1000.0, timesteps:25",
        "[PHASE] End Validation in 2 levels.",
        "\n \t --> Real execution time: 0 minutes, 1 seconds of wall time.",
    ]


def test_game_that_was_cut_by_the_end_of_the_match_is_left_out():
    lines = printed(
        [SeatReady(0, 0, 0, "process"), game("training", 0, -1, 0.0, 3, "cut"), MatchEnded(0, "stopped", 3)]
    )
    assert not any("Result" in line for line in lines)


def test_lines_of_a_match_stand_together_where_there_are_several():
    assert printed(SESSION[:-1], at_once=False) == []
    assert printed(SESSION, at_once=False) == printed(SESSION)


def test_scores_are_written_as_java_writes_them():
    (line,) = printed([game("training", 0, 0, 12345678.5, 1)])[1:]
    assert "Player0-Score:1.23456785E7," in line


# Numbers of games.


def test_numbers_are_those_of_the_original():
    assert len(GAMES) == len(set(GAMES)) == 92
    assert [GAMES[number] for number in (0, 11, 39, 75, 79, 90, 91)] == [
        *("aliens", "boulderdash", "frogs", "sokoban", "survivezombies", "zelda", "zenpuzzle")
    ]
    for name, number in (("games/zelda.txt", 90), ("aliens", 0), ("mine.txt", 7)):
        lines: list[str] = []
        OriginalOutput(name, RULES["gvgai-2017"], lines.append, 7)(STARTED)
        assert lines[0].startswith(f"[GAME] Game idx:{number} game name ")


def test_every_numbered_game_is_among_the_public_ones():
    folder = Path(__file__).parents[3] / "shared/data/gvgai/games"
    if not folder.is_dir():
        pytest.skip("the public games are not here")
    assert [number for number in range(92) if not Path(game_file(number, folder)).is_file()] == []


def test_number_names_a_file_below_the_folder_of_the_original(tmp_path):
    games = tmp_path / "examples/gridphysics"
    games.mkdir(parents=True)
    assert game_file(0, tmp_path) == str(games / "aliens.txt")
    assert game_file(91, games) == str(games / "zenpuzzle.txt")
    with pytest.raises(UsageError, match="from 0 to 91"):
        game_file(92, tmp_path)


def test_page_has_the_numbers_of_the_code():
    rows = re.findall(r"^\| (\d+) to \d+ \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    names = [name for _, row in rows for name in re.findall(r"`(\w+)`", row)]
    assert tuple(names) == GAMES
    assert [int(first) for first, _ in rows] == list(range(0, 92, 10))


# On the command line.


def flagfall(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flagfall", "gvgai", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_train_and_contest_print_them(tmp_path):
    write_game(tmp_path)
    options = ["-a", "random", "--games", "4", "--clock", "virtual", "--original-output"]
    with flagfall(tmp_path, "train", "corridor.txt", *options) as trained:
        lines, complained = trained.communicate(timeout=60)
    assert trained.returncode == 0, complained
    assert lines.splitlines()[:2] == [
        "[GAME] Game idx:0 game name corridor",
        "[PHASE] Starting First Phase of Training in 3 levels.",
    ]
    results = re.findall(r"^\[(\w+)\] Result .*level:(\d), Player0:-?\d, ", lines, re.MULTILINE)
    assert [phase for phase, _ in results] == ["TRAINING"] * 4 + ["VALIDATION"] * 2
    with flagfall(tmp_path, "contest", "corridor.txt", *options, "-a", "q-learning") as held:
        both, complained = held.communicate(timeout=60)
    assert held.returncode == 0, complained
    assert both.startswith(lines), "the first match of a contest is that one"
    assert both.count("[GAME]") == both.count("--> Real execution time") == 2


def test_match_goes_on_when_the_reader_of_its_lines_has_gone(tmp_path):
    write_game(tmp_path)
    options = ["-a", "random", "--games", "400", "--clock", "virtual", "--think", "1ms", "--original-output"]
    with flagfall(tmp_path, "train", "corridor.txt", *options, "--results", "r.json") as trained:
        assert trained.stdout is not None
        assert trained.stdout.readline().startswith("[GAME]")
        trained.stdout.close()
        assert trained.stderr is not None
        assert trained.stderr.read() == ""
    assert trained.returncode == 0
    assert len(json.loads((tmp_path / "r.json").read_text())["games"]) == 402


def test_serve_prints_them_for_a_game_by_its_number(tmp_path):
    write_game(tmp_path, "aliens")
    port = str(free_port())
    options = ["--games-dir", str(tmp_path), "--port", port, "--games", "3", "--original-output"]
    with flagfall(tmp_path, "serve", "--game-id", "0", *options) as server:
        assert server.stderr is not None
        assert "waiting for clients" in server.stderr.readline()
        with Client(tmp_path, "start()\nplay()").connected(int(port)):
            lines, complained = server.communicate(timeout=60)
    assert server.returncode == 0, complained
    assert lines.startswith("[GAME] Game idx:0 game name aliens\n[PHASE] Starting First")
    assert lines.endswith("0 seconds of wall time.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serve"], "--game FILE or with --game-id NUMBER"),
        (["serve", "--game-id", "92"], "from 0 to 91"),
        (["train", "cinders", "-a", "random", "--original-output", "--json"], "leave one of them out"),
        (["train", "cinders", "-a", "random", "--host", "task", "--limits", "memory=1GB"], "leave --host"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path, words, message):
    with flagfall(tmp_path, *words) as refused:
        _, complained = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert message in " ".join(complained.split())


def test_result_of_an_agent_that_breaks_down(tmp_path):
    class Broken:
        def act(self, _state: Any) -> str:
            raise ValueError

    lines: list[str] = []
    rules = attrs.evolve(RULES["gvgai-document"], games=3)
    times, rules = TrackTimes.of(rules, "untimed")
    path = write_game(tmp_path)
    sink = OriginalOutput(path, rules, lines.append)
    trio.run(partial(play_track, TrackSetup(path, rules), Broken(), times, sinks=[sink]))
    assert "level:0, Player0:-100, Player0-Score:-1000.0, timesteps:" in lines[2]
