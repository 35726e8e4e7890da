"""People who play in a real browser, by keys, touch and text; the kernel judges, and the journals verify."""

from __future__ import annotations

import base64
import http.client
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flagfall.events import (
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.recording.journal.reader import read_journal
from flagfall.tasks.catalog import make_task
from flagfall.tournament.store import Store
from tests.command_line import call_main
from tests.viewer.browser import (
    NARROW,
    WIDE,
    Complaints,
    Screenshots,
    check_accessibility,
    check_width,
)
from tests.viewer.play_program import PATIENCE_SECONDS, PlayProgram

PATIENCE_MS = 1000 * PATIENCE_SECONDS


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., PlayProgram]]:
    """Start `flagfall play` with some words; it is ended with the test."""
    started: list[PlayProgram] = []

    def play(*words: str) -> PlayProgram:
        started.append(PlayProgram.start(tmp_path / f"out{len(started)}", *words))
        return started[-1]

    yield play
    for program in started:
        program.kill()


def begin(page: Any, program: PlayProgram) -> None:
    """Open the page and begin the match."""
    page.set_default_timeout(PATIENCE_MS)
    page.goto(program.url)
    page.click("#begin")
    shows(page, "playing")


def shows(page: Any, stage: str) -> None:
    page.wait_for_function("stage => document.body.dataset.stage === stage", arg=stage)


def turn_shown(page: Any) -> int:
    return int(page.evaluate("document.body.dataset.turn ?? -1"))


def press(page: Any, *keys: str) -> None:
    """Press keys, each when a new turn is shown."""
    for key in keys:
        answered = page.evaluate("document.body.dataset.answered ?? ''")
        page.wait_for_function(
            "answered => document.body.dataset.turn !== answered && document.body.dataset.turn !== undefined",
            arg=answered,
        )
        page.keyboard.press(key)


def ends(page: Any, program: PlayProgram) -> None:
    """Wait for the end screen, and end the program, which would serve the replay."""
    shows(page, "over")
    page.wait_for_selector("#replay a")
    assert program.interrupt() == 0
    page.get_by_text("flagfall has ended").wait_for()


PIXELS = """
(y) => {
  const shown = document.querySelector("canvas");
  const copy = Object.assign(document.createElement("canvas"), { width: shown.width, height: shown.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(shown, 0, 0);
  return [shown.height, [...context.getImageData(0, y, shown.width, 1).data]];
}
"""


def row_of_pixels(page: Any, y: int) -> tuple[int, list[list[int]]]:
    """Return the height of the picture, and the colours of a row of it."""
    height, values = page.evaluate(PIXELS, y)
    return height, [values[at : at + 3] for at in range(0, len(values), 4)]


# Families of tasks.


def test_a_game_is_played_by_keys_and_stored(play, page):
    program = play("--task", "vgdl:windfall#0", "--steps", "8", "--seed", "3", "--name", "Ada")
    begin(page, program)
    page.wait_for_function("() => document.body.dataset.turn === '0'")
    height, colours = row_of_pixels(page, 15)
    press(page, "ArrowLeft", "a", " ", "ArrowRight", "ArrowUp", "s", ".", "ArrowLeft")
    ends(page, program)
    assert program.actions() == [1, 1, 5, 2, 3, 4, 0, 1]
    assert str(program.journal) in page.inner_text("#end")
    header, ready, *_ = program.events()
    assert isinstance(header, MatchStarted)
    assert isinstance(ready, SeatReady)
    assert (header.agents, header.seed, ready.host) == (["Ada"], 3, "remote")
    (start,) = [event for event in program.events() if isinstance(event, TaskStarted)]
    task = make_task("vgdl:windfall#0")
    task.reset(start.seed)
    picture: Any = task.render("rgb")
    assert height == len(picture)
    assert colours == picture[15].tolist()
    assert len({tuple(colour) for colour in colours}) > 3
    store = Store(program.out)
    (record,) = store.records()
    store.close()
    assert (record.turns, record.seats[0].agent, record.reason) == (8, "Ada", "steps")
    assert program.out / (record.journal or "") == program.journal


def test_langroom_is_played_by_moves_and_words(play, page):
    program = play("--task", "langroom", "--steps", "5")
    begin(page, program)
    press(page, "w", "ArrowLeft", "1", " ")
    page.wait_for_function("() => document.body.dataset.turn === '4'")
    page.click("button[aria-label=ball]")
    ends(page, program)
    assert program.actions() == [
        {"move": 2, "talk": 0},
        {"move": 4, "talk": 0},
        {"move": 0, "talk": 1},
        {"move": 0, "talk": 0},
        {"move": 0, "talk": 5},
    ]


def test_a_byte_task_is_played_by_typing(play, page):
    program = play("--task", "micro1", "--steps", "100")
    begin(page, program)
    page.check("#every-step")  # a turn waits while the line is typed: a reward drops what is still to be sent
    page.select_option("#speed", "50")
    page.wait_for_selector(".line.asked")
    page.fill("#line", "abc.")
    page.press("#line", "Enter")
    page.uncheck("#every-step")
    while page.evaluate("document.body.dataset.stage") == "playing":
        page.wait_for_function(
            "() => document.querySelector('.line.asked') || document.body.dataset.stage !== 'playing'"
        )
        if page.evaluate("document.body.dataset.stage") == "playing":
            page.press("#line", "Enter")
    ends(page, program)
    turns = program.turns()
    typed = bytes(turn.action for turn in turns).decode("latin-1")
    assert "a" in typed
    assert set(typed) <= set("abc. ")
    heard = page.locator(".tape .heard").all_inner_texts()
    kept = "".join(chr(turn.observation) for turn in turns)
    assert "".join(text or " " for text in heard).replace("\xa0", " ").strip() in kept or len(heard) == 1


def test_a_bit_task_is_played_by_two_keys(play, page):
    program = play("--task", "micro1", "--bit-mode", "--steps", "6")
    begin(page, program)
    press(page, "0", "1", "1", "0", "1", "1")
    ends(page, program)
    assert program.actions() == [0, 1, 1, 0, 1, 1]


def test_a_person_plays_against_another_agent(play, page, capfd):
    program = play("--task", "duel:heaps", "--agent", "random", "--seat", "1", "--seed", "4")
    begin(page, program)
    while page.evaluate("document.body.dataset.stage") == "playing":
        page.wait_for_function(
            "() => { const { stage, turn, answered } = document.body.dataset;"
            " return stage !== 'playing' || turn !== answered; }"
        )
        if page.evaluate("document.body.dataset.stage") == "playing":
            page.evaluate("document.querySelector('button.action:not(:disabled)')?.click()")
    ends(page, program)
    turns = program.turns()
    assert {turn.verdict for turn in turns} == {"on time"}
    header = program.events()[0]
    assert isinstance(header, MatchStarted)
    assert (header.agents, header.seed) == (["random", "you"], 4)
    assert {turn.seat for turn in turns} == {0, 1}
    assert page.inner_text("#end-title") in {"You have won", "You have lost", "A draw"}
    stored = call_main(capfd, "results", program.out)
    assert (stored.code, stored.err) == (0, "")
    assert "random" in stored.out


def test_the_world_moves_by_itself_at_real_time_pace(play, page):
    program = play("--task", "gym:MountainCar-v0", "--tick", "100ms", "--steps", "50")
    begin(page, program)
    page.keyboard.down("ArrowRight")
    ends(page, program)
    turns = program.turns()
    assert len(turns) == 50
    assert 2 in [turn.action for turn in turns]
    assert page.evaluate("document.querySelector('canvas').width") == 600


# Time.


def test_an_idle_person_is_late_and_plays_on(play, page):
    program = play("--task", "vgdl:windfall#0", "--steps", "12", "--time-control", "act=150ms")
    begin(page, program)
    page.wait_for_function("() => document.querySelector('.figures .late')")
    ends(page, program)
    verdicts = [turn.verdict for turn in program.turns()]
    assert verdicts.count("late") >= 3
    assert "disqualified" not in verdicts


def test_a_closed_page_is_disqualified_at_the_hard_limit(play, open_page):
    program = play("--task", "vgdl:windfall#0", "--time-control", "act=100ms/4s")
    page = open_page()
    begin(page, program)
    page.close()
    assert program.wait() == 0
    events = program.events()
    assert [event.reason for event in events if isinstance(event, SeatDisqualified)] == ["late"]
    assert [event for event in events if isinstance(event, TurnPlayed) and event.verdict == "late"]


def test_a_page_that_is_opened_again_goes_on_and_a_second_tab_is_refused(play, open_page, complaints):
    program = play("--task", "vgdl:windfall#0", "--steps", "4")
    page = open_page()
    begin(page, program)
    press(page, "ArrowLeft", "ArrowLeft")
    page.wait_for_function("() => document.body.dataset.turn === '2'")
    page.reload()
    page.wait_for_function("() => document.body.dataset.turn === '2'")
    other = page.context.new_page()
    other.goto(program.url)
    other.wait_for_function("() => document.body.dataset.stage === 'taken'")
    assert "taken" in other.inner_text(".notice")
    press(page, "ArrowRight", "ArrowRight")
    ends(page, program)
    assert program.actions() == [1, 1, 2, 2]
    assert complaints.found == []


def test_ctrl_c_ends_the_match_and_before_it_leaves_nothing(play, page):
    waiting = play("--task", "micro1")
    assert waiting.interrupt() == 130
    assert not waiting.out.exists()
    program = play("--task", "vgdl:windfall#0")
    begin(page, program)
    press(page, "ArrowLeft")
    page.wait_for_function("() => document.body.dataset.turn === '1'")
    program.process.send_signal(2)
    shows(page, "over")
    assert program.wait() == 130
    assert program.actions() == [1]


HOLD_SEEN = """
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  if (text.includes('"seen"')) window.tell = () => send.call(this, text);
  else send.call(this, text);
};
"""


def test_ctrl_c_after_the_end_is_the_normal_end_before_the_page_has_told_that_it_shows_it(play, page):
    page.add_init_script(HOLD_SEEN)
    program = play("--task", "vgdl:windfall#0", "--steps", "1")
    begin(page, program)
    press(page, "ArrowLeft")
    shows(page, "over")
    program.process.send_signal(2)
    assert any("ending the match" in line for line in program.process.stderr)
    page.evaluate("tell()")
    assert program.wait() == 0


# Boards, goals and replays.

STONES = """
from itertools import permutations

import numpy as np
from gymnasium import spaces

from flagfall.tasks import StepResult, Task

MOVES = [*permutations(range(4), 2), (0, 3)]  # the last one as a queen


class Stones(Task):
    \"\"\"A stone on a board of 2 x 2 cells, which is moved from cell to cell.\"\"\"

    nil_action = 0
    max_steps = 3
    instructions = "Move the stone to the last cell.\\n" + "Take your time. " * 60
    action_space = spaces.Discrete(len(MOVES))
    observation_space = spaces.Dict({"action_mask": spaces.MultiBinary(len(MOVES))})

    def _reset(self, seed):
        self.at = 0
        return self._seen()

    def _step(self, action):
        self.at = MOVES[action][1]
        return StepResult(self._seen(), float(action == len(MOVES) - 1), self.at == 3, False, {})

    def _seen(self):
        return {"action_mask": np.array([start == self.at for start, _ in MOVES], np.int8)}

    def reached_terminal_state(self):
        return self.at == 3

    def describe_action(self, action, player=None):
        start, goal = MOVES[action]
        return f"{'abcd'[start]} to {'abcd'[goal]}" + (" as a queen" if action == len(MOVES) - 1 else "")

    def layout_of_actions(self, player):
        cells = [(x / 2, y / 2, x / 2 + 0.5, y / 2 + 0.5) for y in range(2) for x in range(2)]
        return {action: [cells[start], cells[goal]] for action, (start, goal) in enumerate(MOVES)}

    def render(self, mode="rgb"):
        if mode != "rgb":
            raise NotImplementedError
        board = np.full((40, 40, 3), 200, np.uint8)
        x, y = self.at % 2 * 20, self.at // 2 * 20
        board[y + 5 : y + 15, x + 5 : x + 15] = 40
        return board


class Many(Stones):
    \"\"\"The same with more actions than a page has buttons; the further ones are never allowed.\"\"\"

    action_space = spaces.Discrete(300)
    observation_space = spaces.Dict({"action_mask": spaces.MultiBinary(300)})

    def _seen(self):
        return {"action_mask": np.pad(super()._seen()["action_mask"], (0, 300 - len(MOVES)))}
"""


def area(page: Any, number: int) -> Any:
    return page.locator(f".area[data-area='{number}']")


def next_turn(page: Any, turn: int) -> None:
    page.wait_for_function("turn => document.body.dataset.turn === String(turn)", arg=turn)


def test_a_piece_is_clicked_and_then_where_it_goes(play, page, tmp_path: Path, screenshot: Screenshots):
    (tmp_path / "stones.py").write_text(STONES)
    program = play("--task", f"{tmp_path / 'stones.py'}:Stones", "--time-control", "act=5m/10m")
    page.set_default_timeout(PATIENCE_MS)
    page.goto(program.url)
    start = page.locator(".start")
    start.wait_for()
    assert "Move the stone to the last cell." in start.inner_text()
    assert "more characters" in start.inner_text()  # the rest is folded
    assert "Click a piece, and then where it goes." in start.inner_text()
    look(page, screenshot, "board-start")
    page.click("#begin")
    next_turn(page, 0)
    assert not page.get_by_text("Move the stone").is_visible()
    page.click("details.goal summary")
    assert "Move the stone" in page.inner_text("details.goal")
    area(page, 3).hover()
    assert page.inner_text(".pointed") == "not allowed now"
    area(page, 3).click(force=True)  # no stone stands there
    area(page, 0).click()
    assert page.evaluate("document.body.dataset.chosen") == "0"
    page.keyboard.press("Escape")
    assert page.evaluate("document.body.dataset.chosen") == ""
    area(page, 0).click()
    area(page, 0).click()  # the same again takes it back
    assert page.evaluate("document.body.dataset.chosen") == ""
    area(page, 0).click()
    area(page, 1).hover()
    assert page.inner_text(".pointed") == "a to b"
    look(page, screenshot, "board-chosen")
    area(page, 1).click()
    next_turn(page, 1)
    page.click("summary:has-text('Actions as buttons')")
    page.click("button[aria-label='b to a']")
    next_turn(page, 2)
    area(page, 0).click()
    area(page, 3).click()
    assert page.locator(".choice button").all_inner_texts() == ["a to d", "a to d as a queen"]
    look(page, screenshot, "board-choice")
    page.click(".choice button:has-text('queen')")
    ends(page, program)
    (end,) = [event for event in read_journal(program.journal) if isinstance(event, TaskEnded)]
    assert end.reward == 1
    turns = [event for event in read_journal(program.journal) if isinstance(event, TurnPlayed)]
    assert [turn.action for turn in turns] == [0, 3, 12]


def test_of_more_actions_than_buttons_those_that_are_allowed_have_one(play, page, tmp_path: Path):
    (tmp_path / "stones.py").write_text(STONES)
    program = play("--task", f"{tmp_path / 'stones.py'}:Many", "--steps", "2")
    begin(page, program)
    next_turn(page, 0)
    area(page, 0).hover()
    assert page.inner_text(".pointed") == "a to b, a to c, a to d, a to d as a queen"
    page.click("summary:has-text('Actions as buttons')")
    assert page.locator(".action").all_inner_texts() == ["a to b", "a to c", "a to d", "a to d as a queen"]
    page.click("button[aria-label='a to c']")
    next_turn(page, 1)
    assert page.locator(".action").all_inner_texts() == ["c to a", "c to b", "c to d"]
    area(page, 2).click()
    area(page, 1).click()
    ends(page, program)
    turns = [event for event in read_journal(program.journal) if isinstance(event, TurnPlayed)]
    assert [turn.action for turn in turns] == [1, 7]


def test_tictactoe_is_clicked_and_its_replay_is_a_link(play, page, screenshot: Screenshots):
    pytest.importorskip("pettingzoo")
    program = play(
        *("--task", "pettingzoo:classic/tictactoe_v3", "--agent", "random", "--name", "Ada"),
        *("--seed", "4", "--time-control", "act=5m/10m"),
    )
    begin(page, program)
    assert page.inner_text(".bar p") == "Ada (X, you) · random (O)"
    next_turn(page, 0)
    area(page, 4).hover()
    assert page.inner_text(".pointed") == "row 2, column 2"
    area(page, 4).click()
    page.wait_for_selector(".mark")
    assert "random played row" in page.inner_text(".below")
    assert page.locator(".mark").count() == 1
    look(page, screenshot, "tictactoe")
    while page.evaluate("document.body.dataset.stage") == "playing":
        answered = page.evaluate("document.body.dataset.answered")
        page.locator(".area:not([aria-disabled='true'])").first.click()
        page.wait_for_function(
            "([answered]) => document.body.dataset.stage === 'over' || (document.querySelector('.area')"
            " && document.body.dataset.turn !== answered)",
            arg=[answered],
        )
    look(page, screenshot, "tictactoe-end")
    with page.expect_popup() as opened:
        page.click("#replay a")
    replay = opened.value
    replay.set_default_timeout(PATIENCE_MS)
    replay.locator("canvas.picture[data-turn='0']").wait_for()
    assert "Ada" in replay.inner_text("h1")
    assert program.interrupt() == 0
    assert program.actions()[0] == 4


# Hostile messages. The page's own script stands still, and others speak through its connection.

SEND = """
async ([messages, last, tab]) => {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket?tab=${tab}`);
  let turns = 0;
  const over = new Promise((resolve) => {
    socket.onclose = resolve;
    socket.onmessage = ({ data }) => {
      const { type } = typeof data === "string" ? JSON.parse(data) : {};
      if (type === "over") resolve();
      if (type !== "turn") return;
      turns += 1;
      if (turns === 1) messages.forEach((message) => socket.send(message));
      if (turns === 2 && last) socket.send(last);
    };
  });
  socket.onopen = () => socket.send(JSON.stringify({ type: "start" }));
  await over;
}
"""


@pytest.fixture
def speak(play, open_page) -> Callable[..., PlayProgram]:
    """Send messages in place of the page, and `last` after the next turn; return the ended program."""

    def speak(*messages: str, last: str = "", control: str = "act=1m/5m") -> PlayProgram:
        program = play("--task", "vgdl:windfall#0", "--time-control", control)
        page = open_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(program.url)
        page.wait_for_selector("#begin")
        tab = page.evaluate("sessionStorage.getItem('flagfall-tab')")
        page.evaluate(SEND, [list(messages), last, tab])
        page.close()
        assert program.wait() == 0
        assert isinstance(program, PlayProgram)
        return program

    return speak


def reasons(program: PlayProgram) -> list[str]:
    return [event.reason for event in program.events() if isinstance(event, SeatDisqualified)]


@pytest.mark.parametrize(
    "message",
    ['{"type":"ready"}', '{"type":"answer","number":"0"}', "[" * 60_000],
    ids=["ready", "number", "nesting"],
)
def test_what_is_no_answer_disqualifies(speak, message):
    assert reasons(speak(message)) == ["garbage"]


def test_illegal_actions_and_stale_numbers_are_judged_as_for_any_agent(speak):
    answers = [f'{{"type":"answer","number":{number},"action":99}}' for number in (77, 0)]
    program = speak(*answers, last='{"type":"stop"}')
    turns, events = program.turns(), program.events()
    assert (turns[0].verdict, turns[0].action, turns[0].refused) == ("illegal", 0, "99")
    assert [drop.why for drop in events if isinstance(drop, ReplyDropped)][:1] == ["unasked"]


def test_a_flood_disqualifies_and_holds_nothing_up(speak):
    program = speak(*['{"type":"answer","number":5,"action":1}'] * 1000)
    assert reasons(program) == ["garbage"]


def test_a_message_that_is_too_long_ends_its_connection_alone(speak):
    program = speak('{"type":"answer","number":0,"action":"' + "x" * 200_000 + '"}', control="act=1s/2s")
    assert reasons(program) == ["late"]


def handshake(program: PlayProgram, path: str, **headers: str) -> int:
    host, port = program.address
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
    key = base64.b64encode(b"0" * 16).decode()
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    connection.request("GET", path, headers={**upgrade, "Sec-WebSocket-Key": key, **headers})
    status = connection.getresponse().status
    connection.close()
    return status


def test_connections_need_the_token_and_the_origin_of_the_page(play):
    program = play("--task", "micro1")
    host, port = program.address
    own = {"Origin": f"http://{host}:{port}", "Authorization": f"Bearer {program.token}"}
    assert handshake(program, "/socket?tab=a", **own) == 101
    assert handshake(program, "/socket?tab=a", Origin=own["Origin"]) == 401
    assert handshake(program, "/socket?tab=a", **{**own, "Authorization": "Bearer no"}) == 401
    assert handshake(program, "/socket?tab=a", **{**own, "Origin": "http://evil.example"}) == 403
    assert handshake(program, "/socket?tab=a", Authorization=own["Authorization"]) == 403
    assert handshake(program, "/socket?tab=a", **own, Host="evil.example") == 403
    assert handshake(program, "/socket", **own) == 400
    assert handshake(program, "/socket?tab=" + "a" * 65, **own) == 400


# Looks.


def test_the_page_looks_right_at_every_width(play, open_page, screenshot: Screenshots):
    program = play("--task", "vgdl:windfall#0", "--time-control", "act=1m/5m")
    page = open_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(program.url)
    page.wait_for_selector("#begin")
    look(page, screenshot, "start")
    page.click("#begin")
    press(page, *["ArrowLeft", "ArrowUp", " "] * 3)
    page.wait_for_function("() => document.body.dataset.turn === '9'")
    look(page, screenshot, "game")
    page.keyboard.press("?")
    assert "Space" in page.inner_text("dialog[open]")
    page.keyboard.press("?")
    page.click("#stop")
    page.click("text=End it")
    shows(page, "over")
    look(page, screenshot, "end")
    ends(page, program)


def look(page: Any, screenshot: Screenshots, name: str) -> None:
    """Check and photograph a page at both widths, light and dark."""
    for width, scheme in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        check_width(page)
        screenshot(page, f"play-{name}-{width}-{scheme}", full_page=True)
        if (width, scheme) in {(WIDE, "dark"), (NARROW, "light")}:
            check_accessibility(page)


def test_touch_plays_a_step_and_hostile_names_are_text(play, open_page, complaints: Complaints):
    program = play("--task", "vgdl:windfall#0", "--steps", "3", "--name", "<img src=x onerror=alert(1)>")
    page = open_page(width=NARROW, height=844)
    begin(page, program)
    for turn, name in enumerate(["left", "use", "wait"]):
        page.wait_for_function("turn => document.body.dataset.turn === String(turn)", arg=turn)
        page.tap(f"button[aria-label={name}]")
    ends(page, program)
    assert program.actions() == [1, 5, 0]
    assert "<img src=x onerror=alert(1)>" in page.inner_text("#end")
    assert page.locator("#end img").count() == 0
    assert complaints.found == []


def test_the_end_of_a_task_is_shown_with_its_last_reward(play, page):
    program = play("--task", "gym:FrozenLake-v1?is_slippery=false", "--seed", "1")
    begin(page, program)
    press(page, *["ArrowDown"] * 2, *["ArrowRight"] * 2, "ArrowDown", "ArrowRight")
    ends(page, program)
    assert page.inner_text(".final").split()[0] == "1"
    (end,) = [event for event in program.events() if isinstance(event, TaskEnded)]
    assert end.reward == 1
