"""Clients in processes of their own at our server: every phase, and the verdict on every fault."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from PIL import Image

from flagfall.errors import UsageError
from flagfall.events import TurnPlayed
from flagfall.gvgai.play_track import TrackTimes, play_track
from flagfall.gvgai.server import TrackServer, TrackSession
from flagfall.kernel.outcomes import SeatReport
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.vgdl.learning_track import RULES, TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import MS, TimeControl
from tests.children import children, open_descriptors
from tests.gvgai.clients import Client, numbers
from tests.gvgai.games import CORRIDOR, write_game

GENEROUS = TimeControl.parse("start=20s init=20s act=10s/10s result=20s")
FEW = attrs.evolve(RULES["gvgai-document"], games=4)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No descriptor and no process stays when the matches are over."""
    before, processes = open_descriptors(), children()
    yield
    assert open_descriptors() <= before
    assert children() <= processes


class Served:
    """What was served."""

    def __init__(self, sessions: list[TrackSession], events: list[Any]) -> None:
        self.sessions = sessions
        self.events = events
        self.session = sessions[0]

    @property
    def seat(self) -> SeatReport:
        assert self.session.result is not None, self.session.fault
        return self.session.result.seats[0]

    @property
    def disqualified(self) -> str | None:
        return self.seat.disqualified

    @property
    def turns(self) -> list[TurnPlayed]:
        return [event for event in self.events if isinstance(event, TurnPlayed)]

    @property
    def games(self) -> list[tuple[str, int, int]]:
        return [(game.phase[0], game.level, game.winner) for game in self.session.sink.statistics.games]


def serve(
    folder: Path,
    *clients: Client,
    rules: TrackRules = FEW,
    control: TimeControl = GENEROUS,
    game: str = "",
    sprites: Path | None = None,
    seconds_to_end: float = 1,
    **options: Any,
) -> Served:
    """Let the clients play; both sides must end by themselves, but for clients that sleep at the end."""
    setup = TrackSetup(game or write_game(folder), rules)
    if sprites is not None:
        setup = attrs.evolve(setup, sprites=sprites)
    events: list[Any] = []
    server = TrackServer(
        setup,
        control,
        port=0,
        sessions=len(clients),
        sinks=lambda number: [events.append] if number == 0 else [],
        **options,
    )

    async def main() -> None:
        with trio.fail_after(60):
            async with trio.open_nursery() as programs:
                async with trio.open_nursery() as nursery:
                    port = await nursery.start(server.run)
                    for client in clients:
                        programs.start_soon(run, client, port)
                programs.cancel_scope.deadline = trio.current_time() + seconds_to_end

    async def run(client: Client, port: int) -> None:
        ended = await trio.run_process(client.words(port), check=False, capture_stderr=True)
        assert ended.returncode == 0, ended.stderr.decode()

    trio.run(main)
    return Served(server.sessions, events)


# The order of messages.


def test_session_has_the_order_of_the_specification(tmp_path):
    client = Client(tmp_path, "start()\nplay(end=lambda n, s: say(n, '0'))")
    served = serve(tmp_path, client, rules=attrs.evolve(FEW, games=3))
    assert served.disqualified is None
    assert served.games == [("t", 0, 1), ("t", 1, 0), ("t", 2, 0), ("v", 3, 1), ("v", 4, 0)]
    expected = ["S 0#START", "C 0#START_DONE"]
    number = 1
    for ticks in (5, 31, 31, 5, 31):
        expected += [f"S {number}#INIT", f"C {number}#INIT_DONE"]
        for at in range(number + 1, number + 1 + ticks):
            expected += [f"S {at}#ACT", f"C {at}#ACTION_RIGHT"]
        number += ticks + 1
        expected += [f"S {number}#END", f"C {number}#0"]
        number += 1
    assert client.told == [*expected, f"S {number}#FINISH"]
    assert numbers(client.told, "S") == list(range(number + 1))


def test_states_say_what_the_protocol_has_them_say(tmp_path):
    client = Client(tmp_path, "start()\nplay()")
    serve(tmp_path, client)
    inits = [state for _, state in client.states if state["phase"] == "INIT"]
    assert [(state["gameTick"], state["isValidation"]) for state in inits] == [
        (0, False),
        (-1, True),
        (-1, True),
    ]
    others = [state for _, state in client.states if state["phase"] != "INIT"]
    assert not any(state["isValidation"] for state in others)
    ticks = [state["gameTick"] for _, state in client.states[1:7]]
    assert ticks == [0, 1, 2, 3, 4, 4], "five ticks, and the end says the last one played"
    first, end = client.states[1][1], client.states[6][1]
    assert first["avatarPosition"] == [10.0, 10.0]
    assert first["availableActions"] == ["ACTION_LEFT", "ACTION_RIGHT", "ACTION_DOWN", "ACTION_UP"]
    assert (end["gameWinner"], end["isGameOver"], end["gameScore"]) == ("PLAYER_WINS", True, 6.0)
    assert (end["avatarPosition"], end["availableActions"], end["avatarSpeed"]) == ([-1.0, -1.0], [], 0.0)
    assert [state["avatarLastAction"] for _, state in client.states[1:4]] == [
        "ACTION_NIL",
        "ACTION_RIGHT",
        "ACTION_RIGHT",
    ]


def test_level_answers_choose_the_levels(tmp_path):
    answers = "a = list('0012100')\nstart()\nplay(end=lambda n, s: say(n, a.pop(0) if a else '0'))"
    served = serve(tmp_path, Client(tmp_path, answers), rules=attrs.evolve(FEW, games=6))
    assert [level for phase, level, _ in served.games if phase == "t"] == [0, 1, 2, 1, 2, 1]


def test_round_over_answer_ends_training_and_changes_nothing_in_validation(tmp_path):
    client = Client(tmp_path, "start()\nplay(end=lambda n, s: say(n, 'END_VALIDATION'))")
    served = serve(tmp_path, client, rules=attrs.evolve(FEW, rounds=2))
    assert [game[:2] for game in served.games] == [("t", 0), *[("v", 3), ("v", 4)] * 2]


@pytest.mark.parametrize("word", ["ACTION_ESCAPE", "action_escape", "ABORT", "END_OVERSPENT"])
def test_level_can_be_aborted(tmp_path, word):
    client = Client(tmp_path, f"start()\nplay(act=lambda n, s: say(n, '{word}'))")
    served = serve(tmp_path, client)
    assert client.told[4:7] == ["S 2#ACT", f"C 2#{word}", "S 3#ABORT"]
    assert served.games == [("t", 0, -1), ("v", 3, -1), ("v", 4, -1)]
    _, aborted = client.states[2]
    assert (aborted["gameWinner"], aborted["isGameOver"]) == ("NO_WINNER", False)


def test_level_that_the_clock_ends_is_told_as_an_aborted_one(tmp_path):
    act = "def act(n, s):\n    time.sleep(0.02)\n    say(n, 'ACTION_NIL')\n"
    client = Client(tmp_path, f"{act}start()\nplay(act)")
    served = serve(tmp_path, client, rules=attrs.evolve(FEW, training_ns=300 * MS, rounds=0))
    assert served.games == [("t", 0, -1)]
    before, last = [state for _, state in client.states][-2:]
    assert (before["phase"], last["phase"]) == ("ACT", "ABORT")
    assert last["gameTick"] == before["gameTick"], "the last one that was played"
    assert (last["avatarPosition"], last["avatarOrientation"]) == ([-1.0, -1.0], [-1.0, -1.0])
    assert (last["avatarSpeed"], last["availableActions"]) == (0.0, [])


@pytest.mark.parametrize("word", ["ACTION_JUMP", "", "null", "ERROR", "ACTION_USE"])
def test_anything_else_is_nil(tmp_path, word):
    client = Client(
        tmp_path, f"start()\nplay(act=lambda n, s: say(n, '{word}' if n == 2 else 'ACTION_RIGHT'))"
    )
    served = serve(tmp_path, client)
    assert served.disqualified is None
    assert [state["avatarPosition"] for _, state in client.states[1:4]] == [
        [10.0, 10.0],
        [10.0, 10.0],
        [20.0, 10.0],
    ]
    assert client.states[2][1]["avatarLastAction"] == "ACTION_NIL"


# Observations.


def test_kind_of_observation_can_be_changed_with_any_reply(tmp_path):
    client = Client(
        tmp_path,
        """
kinds = ["JSON", "IMAGE", "BOTH", "IMAGE", "JSON"]
start()
play(act=lambda n, s: say(n, "ACTION_NIL", kinds[n % 5]))
""",
    )
    serve(tmp_path, client)
    seen = {
        (number - 1) % 5: (state.get("imageArray", "")[:8], "observationGrid" in state)
        for number, state in client.states
        if state["phase"] == "ACT" and number > 6
    }
    png = [
        byte - 256 if byte > 127 else byte
        for byte in b"\\x89PNG\\r\\n\\x1a\\n".decode("unicode_escape").encode("latin-1")
    ]
    assert seen == {0: ("", True), 1: (png, False), 2: (png, True), 3: (png, False), 4: ("", True)}
    ends = [state for _, state in client.states if state["phase"] != "ACT"]
    assert all("observationGrid" in state and "imageArray" not in state for state in ends)


def picture_of(state: dict[str, Any]) -> Image.Image:
    return Image.open(BytesIO(bytes(byte & 255 for byte in state["imageArray"])))


def test_picture_is_rgba_and_opaque(tmp_path):
    client = Client(tmp_path, "start()\nplay(init=lambda n, s: say(n, 'INIT_DONE', 'IMAGE'))")
    serve(tmp_path, client)
    picture = picture_of(client.states[1][1])
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGBA", (80, 30))
    assert picture.getchannel("A").getextrema() == (255, 255)


def test_picture_is_made_of_the_images_of_a_folder(tmp_path):
    (tmp_path / "sprites" / "set").mkdir(parents=True)
    Image.new("RGB", (24, 24), (1, 2, 3)).save(tmp_path / "sprites" / "set" / "gold.png")
    text = CORRIDOR.replace("goal > Door", "goal > Door img=set/gold")
    client = Client(tmp_path, "start()\nplay(init=lambda n, s: say(n, 'INIT_DONE', 'BOTH'))")
    serve(tmp_path, client, game=write_game(tmp_path, "gold", text), sprites=tmp_path / "sprites")
    picture = picture_of(client.states[1][1])
    assert picture.crop((60, 10, 70, 20)).getcolors() == [(100, (1, 2, 3, 255))]


def test_picture_alone_leaves_out_what_the_protocol_leaves_out(tmp_path):
    client = Client(tmp_path, "start()\nplay(init=lambda n, s: say(n, 'INIT_DONE', 'IMAGE'))")
    serve(tmp_path, client)
    number, state = client.states[1]
    assert number == 2
    assert list(state) == [
        "imageArray", "isValidation", "gameScore", "gameTick", "gameWinner", "isGameOver", "blockSize",
        "noOfPlayers", "avatarSpeed", "avatarType", "avatarHealthPoints", "avatarMaxHealthPoints",
        "avatarLimitHealthPoints", "isAvatarAlive", "phase", "availableActions", "observationGridNum",
        "observationGridMaxRow", "observationGridMaxCol", "NPCPositionsNum", "NPCPositionsMaxRow",
        "immovablePositionsNum", "immovablePositionsMaxRow", "movablePositionsNum", "movablePositionsMaxRow",
        "resourcesPositionsNum", "resourcesPositionsMaxRow", "portalsPositionsNum", "portalsPositionsMaxRow",
        "fromAvatarSpritesPositionsNum", "fromAvatarSpritesPositionsMaxRow",
    ]  # fmt: skip
    assert state["isAvatarAlive"] is False


# Lines that answer nothing.


STRAY = {
    "stale": b"-1#null\n",
    "future": b"99999#ACTION_LEFT#JSON\n",
    "blank": b"\n\r\n",
    "no number": b"ACTION_LEFT\n",
    "no plain number": b"two#ACTION_LEFT#JSON\n",
    "no second field": b"2#\n",
    "many": b"-1#null\n" * 500,
    "no text": b"\xff\xfe\x00\n",
}


@pytest.mark.parametrize("what", STRAY)
@pytest.mark.parametrize("phase", ["START", "INIT", "ACT", "END"])
def test_stray_lines_change_nothing_in_any_phase(tmp_path, what, phase):
    client = Client(
        tmp_path,
        f"""
def stray(phase, word):
    def answer(n, s):
        if phase == {phase!r}:
            raw({STRAY[what]!r})
        say(n, word)
    return answer
number, _, _ = hear()
stray("START", "START_DONE")(number, None)
play(stray("ACT", "ACTION_RIGHT"), stray("END", "END_TRAINING"), stray("INIT", "INIT_DONE"))
""",
    )
    served = serve(tmp_path, client)
    assert served.disqualified is None, served.seat.detail
    assert served.games == [("t", 0, 1), ("v", 3, 1), ("v", 4, 0)]
    assert served.seat.stats.dropped > 0


def test_stray_line_of_the_java_client_after_its_start(tmp_path):
    client = Client(tmp_path, "hear()\nraw(b'0#START_DONE#JSON\\n0#null\\n')\nplay()")
    served = serve(tmp_path, client)
    assert served.disqualified is None
    assert served.seat.stats.dropped == 1


def test_crlf_and_bytes_that_trickle_in(tmp_path):
    client = Client(
        tmp_path,
        """
def trickle(number, word):
    for byte in ("%d#%s\\r\\n" % (number, word)).encode():
        raw(bytes([byte]))
number, _, _ = hear()
trickle(number, "START_DONE")
play(lambda n, s: trickle(n, "ACTION_RIGHT"), lambda n, s: trickle(n, "END_TRAINING"),
     lambda n, s: trickle(n, "INIT_DONE"))
""",
    )
    assert serve(tmp_path, client).disqualified is None


def test_reply_in_two_writes_does_not_wait_for_an_acknowledgement(tmp_path):
    # The second write stays in the client until the first is acknowledged, and the kernel delays that by
    # 40 ms: then every turn is late. A busy machine makes single turns late, not most of them.
    client = Client(
        tmp_path,
        """
link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
def in_two_writes(number, state):
    raw(b"%d#" % number)
    raw(b"ACTION_NIL#JSON\\n")
start()
play(act=in_two_writes)
""",
    )
    served = serve(tmp_path, client, control=attrs.evolve(GENEROUS, act=30 * MS))
    late = [turn.verdict for turn in served.turns].count("late")
    assert late < len(served.turns) / 2, f"{late} of {len(served.turns)} turns are late"


# Faults, each in every phase where it can come.


FAULTS = {
    "oversize line": ("raw(b'x' * 100000)", "garbage"),
    "oversize line with an end": ("raw(b'2#' + b'x' * 5000 + b'\\n')", "garbage"),
    "flood": ("raw(b'-1#null\\n' * 2000)", "garbage"),
    "half a line and the end": ("raw(b'%d#START_DO' % n); sys.exit(0)", "gone"),
    "the end": ("sys.exit(0)", "gone"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("phase", ["START", "INIT", "ACT", "END", "validation"])
def test_faults_disqualify_in_every_phase(tmp_path, fault, phase):
    act, reason = FAULTS[fault]
    client = Client(
        tmp_path,
        f"""
validates = False
def faulty(phase, word):
    def answer(n, s):
        global validates
        validates = validates or bool(s and s["isValidation"])
        if phase == {phase!r} or (validates and {phase!r} == "validation" and phase == "ACT"):
            try:
                {act}
                hear()
            except (BrokenPipeError, ConnectionResetError):
                sys.exit(0)
        say(n, word)
    return answer
number, _, _ = hear()
faulty("START", "START_DONE")(number, None)
play(faulty("ACT", "ACTION_RIGHT"), faulty("END", "END_TRAINING"), faulty("INIT", "INIT_DONE"))
""",
    )
    served = serve(tmp_path, client)
    assert served.disqualified == reason
    played = {"START": 0, "INIT": 0, "ACT": 0, "END": 1, "validation": 1}[phase]
    assert len(served.games) == played
    if fault.startswith("half"):
        assert "in the middle of a line" in served.seat.detail


@pytest.mark.parametrize(
    ("behaviour", "games", "reason", "detail"),
    [
        ("hear()\nsay(0, 'START_FAILED')\nhear()", 0, "not started", "START_FAILED"),
        ("hear()\nsay(0, 'HELLO')\nhear()", 0, "not started", "it answered START with 'HELLO'"),
        ("start()\nplay(init=lambda n, s: say(n, 'INIT_FAILED'))", 0, "not started", "INIT_FAILED"),
        ("start()\nplay(end=lambda n, s: say(n, 'END_OVERSPENT'))", 1, "late", "END_OVERSPENT"),
    ],
)
def test_client_that_gives_up_is_out(tmp_path, behaviour, games, reason, detail):
    served = serve(tmp_path, Client(tmp_path, behaviour))
    assert served.disqualified == reason
    assert detail in served.seat.detail
    assert len(served.games) == games


# The clock.


def test_late_by_a_little_is_nil_in_exactly_those_turns_and_is_told(tmp_path):
    client = Client(
        tmp_path,
        """
turn = -1
def act(n, s):
    global turn
    turn += 1
    if turn % 3 == 2:
        time.sleep(0.45)
    say(n, "ACTION_LEFT" if turn < 12 else "ACTION_ESCAPE")
start()
play(act=act, end=lambda n, s: say(n, "END_TRAINING"))
""",
    )
    control = TimeControl.parse("start=20s init=20s act=400ms/10s result=20s")
    served = serve(tmp_path, client, control=control, rules=attrs.evolve(FEW, rounds=0, games=1))
    verdicts = [turn.verdict for turn in served.turns]
    late = [number for number, verdict in enumerate(verdicts) if verdict == "late"]
    # A busy machine may lose the 50 ms by which they are late, and credits that.
    credited = [n for n in (2, 5, 8, 11) if verdicts[n] != "late" and served.turns[n].credit_ns > 40 * MS]
    assert sorted(late + credited) == [2, 5, 8, 11]
    assert late
    assert len(verdicts) == 13
    acts = [state for _, state in client.states if state["phase"] == "ACT"]
    told = [number - 1 for number, state in enumerate(acts) if state["avatarLastAction"] == "ACTION_NIL"]
    assert told == [-1, *late]
    assert served.seat.stats.dropped == len(late)


def test_client_that_comes_to_the_hard_limit_is_out_and_the_others_play_on(tmp_path):
    sleeper = Client(tmp_path, "start()\nplay(act=lambda n, s: time.sleep(20))", "sleeper")
    good = Client(tmp_path, "start()\nplay()", "good")
    control = TimeControl.parse("start=20s init=20s act=100ms/700ms result=20s")
    served = serve(tmp_path, sleeper, good, control=control)
    fallen = [s.result.seats[0].disqualified for s in served.sessions if s.result is not None]
    assert sorted(fallen, key=str) == [None, "late"]


def test_program_of_2017_aborts_the_level_of_an_overlong_tick_and_the_session_goes_on(tmp_path):
    # A busy machine may abort further levels, never the session.
    rules = attrs.evolve(RULES["gvgai-2017"], games=3, rounds=2)
    control = TimeControl.parse("gvgai-2017 start=20s init=20s result=20s total=none")
    behaviour = """
slept = []
def slow(number, state):
    if state["gameTick"] == 2 and not slept:
        slept.append(1)
        time.sleep(0.3)
    say(number, "ACTION_NIL")
start()
play(act=slow, end=lambda n, s: say(n, "0"))
"""
    client = Client(tmp_path, behaviour)
    served = serve(tmp_path, client, rules=rules, control=control, journal=tmp_path / "track.jsonl")
    assert served.disqualified is None, served.seat.detail
    assert [game[:2] for game in served.games] == [("t", 0), ("t", 1), ("t", 2), *[("v", 3), ("v", 4)] * 2]
    assert served.games[0][2] == -1, "aborted"
    assert client.told[10:12] == ["S 5#ABORT", "C 5#0"], "START, INIT, three ticks, the last of them overlong"
    assert client.told[-1].endswith("#FINISH")
    assert verify(tmp_path / "track.jsonl", partial(rebuild, journal=tmp_path / "track.jsonl")).ok


def test_program_of_2017_plays_every_answer_that_comes_before_its_limit(tmp_path):
    # The original's clients begin to measure when they have read the state: a pause before that is not
    # theirs, and the action that they send is played.
    control = TimeControl.parse("gvgai-2017 start=20s init=20s act=40ms/30s act_abort=20s result=20s")
    rules = attrs.evolve(RULES["gvgai-2017"], games=3, rounds=1)
    heard = []
    for name, pause in (("prompt", ""), ("pausing", "time.sleep(0.1 if n % 7 == 4 else 0); ")):
        act = f"def act(n, s):\n    {pause}say(n, ['ACTION_RIGHT', 'ACTION_LEFT'][n % 5 == 0])\n"
        client = Client(tmp_path, f"{act}start()\nplay(act=act)", name)
        journal = tmp_path / f"{name}.jsonl"
        served = serve(tmp_path, client, rules=rules, control=control, seed=3, journal=journal)
        assert {turn.verdict for turn in served.turns} == {"on time"}
        assert verify(journal, partial(rebuild, journal=journal)).ok
        heard.append(client.lines)
    assert any(line.startswith("S 4#") for line in heard[0])
    assert heard[0] == heard[1], "the same actions make the same messages"


def test_program_of_2017_plays_late_answers_of_a_client_that_is_started_too(tmp_path):
    control = "gvgai-2017 start=20s init=20s act=40ms/30s act_abort=20s result=20s"
    times, rules = TrackTimes.of(attrs.evolve(RULES["gvgai-2017"], games=3, rounds=0), control)
    client = Client(
        tmp_path, "start()\nplay(act=lambda n, s: (time.sleep(n == 3) or say(n, 'ACTION_RIGHT')))"
    )
    agent = f"program:{shlex.join(client.words('pipe'))}"
    events: list[Any] = []
    setup = TrackSetup(write_game(tmp_path), rules)
    played = trio.run(partial(play_track, setup, agent, times, sinks=[events.append]))
    assert played.result.seats[0].disqualified is None
    turns = [event for event in events if isinstance(event, TurnPlayed)]
    assert {(turn.verdict, turn.action) for turn in turns} == {("on time", "RIGHT")}


@pytest.mark.parametrize(
    "gives_up",
    [
        "init=lambda n, s: say(n, 'INIT_FAILED' if once.append(1) or len(once) == 4 else 'INIT_DONE')",
        "end=lambda n, s: say(n, 'END_OVERSPENT' if once.append(1) or len(once) == 4 else '0')",
    ],
    ids=["init", "result"],
)
def test_program_of_2017_breaks_off_only_the_round_of_a_client_that_gives_up_in_validation(
    tmp_path, gives_up
):
    rules = attrs.evolve(RULES["gvgai-2017"], games=3, rounds=2)
    client = Client(
        tmp_path,
        f"once = []\nagain = lambda n, s: say(n, '0')\nstart()\nplay(**dict(end=again) | dict({gives_up}))",
    )
    served = serve(tmp_path, client, rules=rules, journal=tmp_path / "track.jsonl")
    assert served.disqualified is None, served.seat.detail
    assert [game[:2] for game in served.games[3:]] == [("v", 3), ("v", 3), ("v", 4)]
    assert client.told[-1].endswith("#FINISH")
    assert verify(tmp_path / "track.jsonl", partial(rebuild, journal=tmp_path / "track.jsonl")).ok


def test_client_that_is_late_for_good_is_told_finish_after_the_answer_that_it_owes(tmp_path):
    client = Client(tmp_path, "start()\nplay(act=lambda n, s: time.sleep(1) or say(n, 'ACTION_NIL'))")
    control = attrs.evolve(GENEROUS, act=50 * MS, act_hard=100 * MS)
    served = serve(tmp_path, client, control=control, seconds_to_end=20)
    assert served.disqualified == "late"
    assert client.told[-3:] == ["S 2#ACT", "C 2#ACTION_NIL", "S 3#FINISH"]


def test_result_that_comes_too_late_disqualifies(tmp_path):
    client = Client(tmp_path, "start()\nplay(end=lambda n, s: time.sleep(20))")
    control = TimeControl.parse("start=20s init=20s act=10s result=300ms")
    rules = attrs.evolve(FEW, training_ns=1 * MS)
    served = serve(tmp_path, client, control=control, rules=rules)
    assert (served.disqualified, len(served.games)) == ("late", 1)


def test_client_that_connects_and_says_nothing_is_out(tmp_path):
    served = serve(tmp_path, Client(tmp_path, "hear()\nhear()"), control=TimeControl.parse("start=300ms"))
    assert served.disqualified == "late"


# Several at once.


def test_several_clients_play_at_once_each_its_own_match(tmp_path):
    clients = [Client(tmp_path, "start()\nplay(end=lambda n, s: say(n, '5'))", f"c{n}") for n in range(3)]
    served = serve(tmp_path, *clients, rules=attrs.evolve(FEW, games=8), journal=tmp_path / "run.jsonl")
    assert [session.number for session in served.sessions] == [0, 1, 2]
    assert len({session.seed for session in served.sessions}) == 3
    assert all(
        session.result is not None and session.result.reason == "finished" for session in served.sessions
    )
    chosen = {tuple(game.level for game in s.sink.statistics.games) for s in served.sessions}
    assert len(chosen) > 1, "each draws its levels from a seed of its own"
    for number in range(3):
        assert verify(
            tmp_path / f"run-{number}.jsonl", partial(rebuild, journal=tmp_path / f"run-{number}.jsonl")
        ).ok


def test_mistakes_are_told_before_anybody_connects(tmp_path):
    with pytest.raises(UsageError, match="no file"):
        TrackServer(TrackSetup(str(tmp_path / "nothing.txt")), GENEROUS)
    game = write_game(tmp_path)
    Path(game.replace(".txt", "_lvl4.txt")).unlink()
    with pytest.raises(UsageError, match="corridor has no level 4"):
        TrackServer(TrackSetup(game), GENEROUS)
    with pytest.raises(UsageError, match="clock=cpu cannot time clients"):
        TrackServer(TrackSetup("cinders"), TimeControl.parse("act=40ms clock=cpu"))


def test_port_that_is_taken_is_told(tmp_path):
    with subprocess.Popen(["sleep", "0"]) as nobody:
        nobody.wait()
    setup = TrackSetup(write_game(tmp_path))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            port = await nursery.start(partial(TrackServer(setup, GENEROUS, port=0).run))
            with pytest.raises(UsageError, match=f"port {port} at 127.0.0.1 cannot be bound"):
                await TrackServer(setup, GENEROUS, port=port).run()
            nursery.cancel_scope.cancel()

    trio.run(main)
