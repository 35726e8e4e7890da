"""Parts of playing in the browser: controls, contents of turns, the score, the stored plan, bad input."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing
from gymnasium import spaces

from flagfall.agents.hosts.registry import Player
from flagfall.errors import UsageError
from flagfall.events import SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS
from flagfall.kernel.outcomes import SeatStats
from flagfall.playing import MatchRequest
from flagfall.recording.journal.format import encode
from flagfall.tasks.catalog import make_task
from flagfall.tasks.task import Task, with_pictures
from flagfall.timing import TimeControl
from flagfall.viewer.play.controls import (
    MAX_BUTTONS,
    MAX_PICTURE_PIXELS,
    MAX_TEXT_CHARS,
    TAPE_STEPS,
    Score,
    choices_of,
    controls_of,
    encode_png,
    facts_of_task,
    moves_of,
    shown_of,
)
from flagfall.viewer.play.host import MOVED, QUEUED_MESSAGES, Desk, Page
from flagfall.viewer.play.session import LEFT_SECONDS, PERSON, PlaySession, check_folder, play_plan
from tests.command_line import call_main


@pytest.fixture
def call(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(call_main, capfd)


def buttons(task_id: str) -> list[dict[str, Any]]:
    task = make_task(task_id)
    found = controls_of(task, 0)
    task.close()
    return [button for group in found["groups"] for button in group["buttons"]]


# Controls.


def test_every_legal_action_of_a_numbered_task_has_one_button():
    for task_id in ("vgdl:windfall#0", "langroom", "gym:Taxi-v4", "gym:Blackjack-v1"):
        task, made = make_task(task_id), buttons(task_id)
        assert all(task.is_legal(button["action"]) for button in made)
        keys = [key for button in made for key in button["keys"]]
        assert len(keys) == len(set(keys))
        task.close()


def test_keys_of_games_are_those_of_a_terminal():
    keys = {button["name"]: button["keys"] for button in buttons("vgdl:windfall#0")}
    assert keys["left"] == ["ArrowLeft", "a"]
    assert keys["use"] == [" "]
    assert [button["name"] for button in buttons("duel:heaps")][7] == "take 1 of heap 1"
    assert {button["name"]: button["keys"] for button in buttons("gym:FrozenLake-v1")}["down"] == [
        "ArrowDown"
    ]


def test_keys_of_actions_are_the_digits_with_which_only_their_names_end():
    pytest.importorskip("pettingzoo")
    made = buttons("pettingzoo:classic/connect_four_v3")
    assert [(button["name"], button["keys"]) for button in made][2] == ("column 3", ["3"])
    assert not buttons("pettingzoo:classic/tictactoe_v3")[8]["keys"], "row 3, column 3"


@pytest.mark.parametrize(("task_id", "kind"), [("micro1", "bytes"), ("gym:Pendulum-v1", "json")])
def test_other_actions_are_typed(task_id, kind):
    assert controls_of(make_task(task_id), 0)["kind"] == kind


# Boards and descriptions.


class Ladder(Task):
    """Two players climb a ladder of 300 rungs, each action a rung."""

    players = ("player_0", "player_1")
    action_space = spaces.Discrete(300)
    observation_space = spaces.Dict({"action_mask": spaces.MultiBinary(300)})
    nil_action = 0
    instructions = "Climb. " * 2_000

    def _reset(self, _seed):
        raise NotImplementedError

    def _step(self, action):
        raise NotImplementedError

    def reached_terminal_state(self):
        return False

    def describe_player(self, player):
        return {"player_0": "left", "player_1": player}[player]

    def describe_action(self, action, _player=None):
        return f"rung {action}"

    def describe_observation(self, _observation, player=None):
        return f"seen by {player}"

    def layout_of_actions(self, _player):
        return {action: [(0.0, 0.0, 1.0, 0.5), (0.0, 0.0, 1.0, 0.5)] for action in range(299)}


def test_a_page_gets_goal_players_and_board_of_a_task():
    facts = facts_of_task(Ladder(), 0)
    assert len(facts["goal"]) == MAX_INSTRUCTIONS_CHARS
    assert facts["players"] == ["left", "player_1"]
    assert facts["board"]["areas"] == [(0.0, 0.0, 1.0, 0.5)]  # each once
    assert facts["board"]["actions"][298] == [298, [0, 0]]
    assert facts["controls"]["groups"] == [{"name": "Action", "buttons": []}]  # they come with each turn
    assert facts_of_task(make_task("vgdl:windfall#0"), 0)["board"] is None


def test_of_many_actions_those_that_are_allowed_have_buttons():
    made = choices_of(Ladder(), 0, [0, 1] * 150)
    assert [(button["action"], button["name"]) for button in made][:2] == [(1, "rung 1"), (3, "rung 3")]
    assert len(choices_of(Ladder(), 0, [1] * 300)) == MAX_BUTTONS


@pytest.mark.parametrize(("start", "mask"), [(0, [0, 1, 1]), (2, [0, 0, 0, 1, 1]), (-1, [1, 1])])
def test_a_mask_begins_with_the_first_action(start: int, mask: list[int]):
    class Shifted(Ladder):
        action_space = spaces.Discrete(3, start=start)

    shown = shown_of(Shifted(), {"action_mask": np.array([0, 1, 1], np.int8)})
    assert shown.mask == mask
    actions = [one["action"] for one in choices_of(Shifted(), 0, mask)]
    assert actions == [action for action, is_allowed in enumerate(mask) if is_allowed]


def test_moves_of_others_are_shown_on_boards_alone():
    """What another seat has played may be a secret where no board shows it."""
    score = Score(0, ["me", "other"])
    score(TurnPlayed(0, 0, None, 0, 5, seat=0))
    score(TurnPlayed(1, 1, None, 0, 7, seat=1))
    assert moves_of(Ladder(), score.moves) == [
        {"seat": 1, "name": "rung 7", "areas": [(0.0, 0.0, 1.0, 0.5), (0.0, 0.0, 1.0, 0.5)]}
    ]
    assert moves_of(make_task("duel:lamps"), score.moves) == []
    score(TurnPlayed(2, 2, None, 0, 9, seat=0))
    assert score.moves == {}


def test_a_task_that_cannot_be_described_is_named():
    class Broken(Ladder):
        def layout_of_actions(self, player):
            return {0: [player.area]}

    with pytest.raises(UsageError, match=r"task Broken cannot be described: AttributeError"):
        facts_of_task(Broken(), 0)


def test_words_that_no_message_holds_are_escaped():
    class Odd(Ladder):
        instructions = "up \ud800"

        def describe_player(self, player):
            return "\ud800" + "ab"[self.players.index(player)]

        def describe_action(self, _action, _player=None):
            return "\ud800"

        def describe_observation(self, _observation, _player=None):
            return "\ud800"

    class Listed(Ladder):
        def describe_observation(self, _observation, _player=None):
            return ["not", "a", "text"]

    facts = facts_of_task(Odd(), 0)
    assert (facts["goal"], facts["players"]) == ("up \\ud800", ["\\ud800a", "\\ud800b"])
    moves = moves_of(Odd(), {1: 7})
    encode([facts, moves, choices_of(Odd(), 0, [1]), shown_of(Odd(), {"value": 1}).text])
    assert shown_of(Listed(), {"value": 1}).text == "{'value': 1}"


def test_an_observation_without_a_picture_is_described_by_its_task():
    assert shown_of(Ladder(), {"value": 1}, seat=1).text == "seen by player_1"


# What is shown.


def test_a_picture_in_the_observation_comes_before_that_of_the_task():
    seen, drawn = np.zeros((4, 5, 3), np.uint8), np.ones((6, 7, 3), np.uint8)
    task = SimpleNamespace(render=lambda _mode: drawn)
    assert shown_of(task, {"image": seen}).picture is seen
    assert shown_of(task, seen).picture is seen
    assert shown_of(task, {"state": 1}).picture is drawn
    assert shown_of(task, "a text view").text == "a text view"
    assert shown_of(task, 97).heard == 97


def test_environments_draw_themselves_when_they_are_made_for_pictures():
    with with_pictures():
        task = make_task("gym:CartPole-v1")
    assert shown_of(task, task.reset(0)).picture.shape == (400, 600, 3)
    task.close()


def test_what_cannot_be_drawn_is_a_bounded_text():
    def fail(_mode):
        raise RuntimeError("no picture")

    shown = shown_of(SimpleNamespace(render=fail), {"value": "x" * 100_000, "action_mask": np.array([0, 1])})
    assert shown.picture is None
    assert len(shown.text) == MAX_TEXT_CHARS
    assert shown.mask == [0, 1]
    assert shown_of(None, np.zeros((1, 0, 3), np.uint8)).picture is None


def test_pictures_are_encoded_whole_and_large_ones_reduced():
    from io import BytesIO  # noqa: PLC0415

    from PIL import Image  # noqa: PLC0415

    small = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    assert (np.asarray(Image.open(BytesIO(encode_png(small)))) == small).all()
    large = Image.open(BytesIO(encode_png(np.zeros((3000, 3000, 3), np.uint8))))
    assert large.width * large.height <= MAX_PICTURE_PIXELS


# The score.


def test_the_score_follows_one_seat():
    score = Score(1, ["other", "me"])
    score(TaskStarted(0, "t", 0, 0))
    score(TurnPlayed(1, 0, 97, 0, 98, seat=0))
    score(TurnPlayed(1, 0, 97, -1, 32, seat=1, verdict="late"))
    score.pay(0, -1)
    score.pay(0, -1)
    score(SeatDisqualified(2, 0, "late"))
    score(SeatDisqualified(2, 7, "no such seat"))
    score(TaskEnded(3, "t", 0, True, 1, 5))
    data = score.as_data(SeatStats(reward=-1, turns=1, late=1))
    assert (data["reward"], data["rewards"], data["late"], data["solved"]) == (-1, [-1], 1, 1)
    assert data["out"] == [{"seat": 0, "agent": "other", "reason": "late"}]
    assert score.tape_since(0) == (1, [[97, 32, -1, 1]])
    assert score.tape_since(1) == (1, [])


def test_the_tape_is_bounded_and_goes_on_where_a_page_left_off():
    score = Score(0, ["me"])
    for number in range(TAPE_STEPS + 10):
        score(TurnPlayed(0, number, number % 256, 0, 32))
    steps, tape = score.tape_since(TAPE_STEPS)
    assert (steps, [row[0] for row in tape]) == (TAPE_STEPS + 10, [n % 256 for n in range(TAPE_STEPS, steps)])
    assert len(score.tape_since(0)[1]) == TAPE_STEPS


def test_words_of_a_room_are_a_dialogue():
    score = Score(0, ["me"])
    room = {"image": np.zeros((2, 2, 3), np.uint8), "text": 5}
    score(TurnPlayed(0, 0, room, 0.5, {"move": 0, "talk": 1}))
    assert score.tape_since(0)[1] == [["ball", "red", 0.5, 0]]


# The place of the person.


class Wire:
    """A connection of a page, in memory."""

    def __init__(self, tab="a"):
        self.sent: list[Any] = []
        self.inbox, self._outbox = trio.open_memory_channel[bytes | None](1000)
        self.page = Page(self._send, tab)

    async def _send(self, message):
        await trio.lowlevel.checkpoint()
        self.sent.append(message)

    async def receive(self):
        return await self._outbox.receive()


async def test_one_tab_has_the_place_and_the_same_tab_takes_over():
    desk, first, second, same = Desk(), Wire(), Wire("b"), Wire()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.seat, first.page, first.receive)
        assert await desk.next_page() is first.page
        assert not await desk.seat(second.page, second.receive)
        nursery.start_soon(desk.seat, same.page, same.receive)
        assert await desk.next_page() is same.page
        assert first.page.close_code == MOVED
        same.inbox.send_nowait(None)
    assert desk.page is None


async def test_a_page_that_floods_is_held_up_and_its_controls_are_heard():
    desk, wire = Desk(), Wire()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.seat, wire.page, wire.receive)
        wire.inbox.send_nowait(b'{"type":"answer","number":1}')  # before the start: of no use
        wire.inbox.send_nowait(b'{"type":"start"}')
        await desk.started.wait()
        for _ in range(500):
            wire.inbox.send_nowait(b"flood")
        await trio.testing.wait_all_tasks_blocked()
        assert wire.page.messages.statistics().current_buffer_used == QUEUED_MESSAGES
        assert wire.inbox.statistics().current_buffer_used >= 500 - QUEUED_MESSAGES - 1
        wire.page.messages.close()  # the seat plays no more
        wire.inbox.send_nowait(b'{"type":"seen"}')
        await desk.seen.wait()
        wire.inbox.send_nowait(None)


# After the match.


async def test_the_program_stays_until_the_pages_are_left(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
):
    request = MatchRequest(tasks=("micro1",), agents=(), steps=1)
    session = PlaySession(request, 0, "me", "micro1", tmp_path / "out")
    said: list[str] = []
    await session.stay(trio.Event(), said.append)
    assert (autojump_clock.current_time(), said) == (0, [])  # no page has shown the end
    with pytest.raises(UsageError, match="when the match is over"):
        session.find_journal("match")
    session.desk.seen.set()
    wire = Wire()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.desk.seat, wire.page, wire.receive)
        nursery.start_soon(session.stay, trio.Event(), said.append)
        await trio.sleep(5_000)
        wire.inbox.send_nowait(None)  # the page is closed
    assert 5_000 + LEFT_SECONDS - 2 <= autojump_clock.current_time() <= 5_000 + LEFT_SECONDS + 2
    assert "Ctrl-C ends" in said[0]


# Stored plans, and bad input.


def test_a_stored_plan_holds_any_name_and_the_match():
    name = 'Ä "quoted" \\ name'
    players = (Player(object(), name=name), Player("random"))
    plan = play_plan(MatchRequest(tasks=("a", "b"), agents=players, time_control=TimeControl(), seed=7), "t")
    assert [(agent.name, agent.spec) for agent in plan.agents] == [(name, PERSON), ("random", "random")]
    first = next(iter(plan.format.schedule(plan, {})))
    assert first is not None
    assert first.entrants == (name, "random")


def test_folders_that_cannot_take_results_are_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="this is a file"):
        check_folder(tmp_path / "file")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "tournament.db").write_text("")
    with pytest.raises(UsageError, match="holds results already"):
        check_folder(tmp_path / "used")


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("--task micro99", "micro99"),
        ("--task micro1 --agent random", "seat 1, you among them"),
        ("--task micro1 --seat 1", "--seat 1"),
        ("--task micro1 --seed -1", "--seed -1"),
        ("--task micro1 --steps 0", "--steps 0"),
        (f"--task micro1 --name {'n' * 81}", "at most 80 printable"),
        ("--task micro1 --tick soon", "--tick"),
        ("--task micro1 --time-control soon", "time control, column 1"),
        ("--task micro1 --scheduler sequential", "add --steps"),
        ("--task micro1 --time-control clock=cpu", "clock=cpu cannot time a person"),
        ("--task micro1 --port 70000", "70000"),
        ("--task micro1 --token-file absent", "token file absent"),
    ],
)
def test_bad_input_gets_one_line_and_writes_nothing(call, tmp_path, line, part):
    done = call(f"play --no-open {line}")
    assert done.code == 2
    assert part in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.iterdir())
