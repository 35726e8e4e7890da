"""The think time of language models by their tokens, whatever their servers do."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
from gymnasium import spaces

from flagfall import Journal, read_journal
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.llm.settings import ModelOptions
from flagfall.errors import HostFault
from flagfall.events import TurnPlayed
from flagfall.kernel.hosting import Briefing
from flagfall.timing import MS, ElapsedTimer, S, VirtualClock
from flagfall.timing.latency import SeatLatency
from tests.fakes import CountTask, InTurnTask, Played, TogetherTask, play_here
from tests.model_server import SECRET, Answer, Server, completes, model, status

RATE = "tokens(30/s, prompt=2000/s, first=300ms)"
CONTROL = "act=3s/30s start=20s"


def game(kind: type[CountTask], *arguments: Any) -> Any:
    """A task in which a model may play: its actions have numbers."""
    space = spaces.Discrete(5)
    return type(kind.__name__, (kind,), {"nil_action": 0, "action_space": space, "observation_space": space})(
        *arguments
    )


def answer_to(asked: Any) -> tuple[Any, int, int]:
    """What the model says to some messages, and its tokens: as it follows from the messages alone."""
    digest = sha256(json.dumps(asked["messages"]).encode()).digest()
    question = asked["messages"][-1]["content"]
    said = {"action": digest[0] % 5} if digest[1] > 25 or "could not be played" in question else "no"
    return said, len(question) // 4, digest[2] // 2


def scripted(seed: int, seconds: float, share: float) -> Answer:
    """Answers after a random time, and fails at random in all ways that pass."""
    dice = random.Random(seed)
    troubles: list[Answer] = [
        status(429, b"", Retry_After="0"),
        status(429),
        status(500),
        status(503, b"busy"),
        status(200, b"no json"),
        lambda server, _asked: server.connection.close(),
    ]

    def answer(server: Server, asked: Any) -> None:
        trouble = dice.choice(troubles) if dice.random() < share else None
        wait = dice.random() * seconds
        time.sleep(wait)
        if trouble is not None:
            server.close_connection = True
            trouble(server, asked)
            return
        said, prompt, tokens = answer_to(asked)
        completes(said, prompt_tokens=prompt, completion_tokens=tokens)(server, asked)

    return answer


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flagfall.agents.samples.language_model.FIRST_PAUSE_SECONDS", 0.001)


def play(task: Any, *hosts: Any, think: str | None = RATE, control: str = CONTROL, **options: Any) -> Played:
    models = [None if think is None else SeatLatency.parse(think)] * len(hosts)
    playing = partial(play_here, task, *hosts, control=control, think=models if think else (), **options)
    return trio.run(playing, clock=VirtualClock())


def recorded(journal: Path, make: Callable[[], Any], *hosts: Any, **options: Any) -> bytes:
    play(make(), *hosts, sinks=[Journal(journal)], **options)
    return journal.read_bytes()


SPEEDS = [(0.0, 0.0), (0.01, 0.4), (0.05, 0.1)]


@pytest.mark.parametrize("seats", [1, 2, 3])
@pytest.mark.parametrize("think", [RATE, None])
def test_the_journal_is_the_same_at_any_speed_of_the_server(
    server: Any, tmp_path: Path, seats: int, think: str | None
):
    def task() -> Any:
        if seats == 1:
            return game(CountTask, 12)
        return game(InTurnTask, [0, 1] * 6) if seats == 2 else game(TogetherTask, 3, 6)

    found = []
    for number, (seconds, share) in enumerate(SPEEDS):
        hosts = [
            model(server(scripted(7 * number + seat, seconds, share)), memory=2) for seat in range(seats)
        ]
        found.append(recorded(tmp_path / f"{number}.jsonl", task, *hosts, think=think))
    assert found[0] == found[1] == found[2]
    turns = [event for event in read_journal(tmp_path / "0.jsonl") if isinstance(event, TurnPlayed)]
    if think is None:
        assert {turn.verdict for turn in turns} == {"on time"}
        assert {turn.spent_ns for turn in turns} == {0}
        return
    assert {turn.verdict for turn in turns} >= {"on time", "late"}
    for turn in turns:
        if turn.note and turn.verdict == "on time" and turn.turn > 0:
            note = turn.note
            requests = note["answers"] + note.get("invalid_answers", 0)
            exact = requests * 300 * MS + round(
                (note["answer_tokens"] / 30 + note["prompt_tokens"] / 2000) * S
            )
            assert turn.spent_ns >= exact  # more, if an older turn was late
            assert not {"seconds", "rate_limited", "server_errors", "broken_answers"} & note.keys()


@pytest.mark.filterwarnings("ignore:Async generator 'httpx:ResourceWarning")  # where the server hangs up
def test_no_turn_of_2000_is_lost_to_a_server_that_answers_in_the_end(server: Any, tmp_path: Path):
    def task() -> Any:
        return game(CountTask, 2_000)

    options = {"think": "tokens(100/s)", "control": "untimed"}
    tired = model(server(scripted(1, 0.002, 0.3)), memory=0)
    journal = tmp_path / "tired.jsonl"
    found = recorded(journal, task, tired, **options)
    turns = [event for event in read_journal(journal) if isinstance(event, TurnPlayed)]
    assert len(turns) == 2_000
    assert all(turn.verdict == "on time" and turn.note["answers"] == 1 for turn in turns)
    again = LoopHost(LanguageModel(options=ModelOptions(answers=str(journal), memory=0)), "model")
    assert recorded(tmp_path / "again.jsonl", task, again, **options) == found


def test_a_server_that_stays_away_ends_the_match_as_unavailable(server: Any, monkeypatch: pytest.MonkeyPatch):
    patience = "flagfall.agents.samples.language_model.MAX_AWAY_SECONDS"
    good = completes({"action": 3}, prompt_tokens=10, completion_tokens=3)

    def once(running: Server, asked: Any) -> None:
        monkeypatch.setattr(patience, 0.3)  # for what follows: a busy machine takes longer for an answer
        good(running, asked)

    def hangs(_server: Server, _asked: Any) -> None:
        time.sleep(2)

    for trouble in (status(500), hangs, status(404)):
        for on_failure in ("auto", "end"):
            monkeypatch.setattr(patience, 60)
            played = play(game(CountTask, 5), model(server(once, trouble), on_failure=on_failure))
            (out,) = played.disqualified
            assert (out.reason, played.verdicts()) == ("unavailable", ["on time", "disqualified"])
            assert out.at_ns == played.turns[0].at_ns  # real time alone has passed
    monkeypatch.setattr(patience, 60)
    played = play(game(CountTask, 3), model(server(good, status(404)), on_failure="nil"))
    assert (played.disqualified, played.actions()) == ([], [3, 0, 0])


def test_what_failed_is_in_the_log_alone(server: Any):
    structlog.configure()
    try:
        with structlog.testing.capture_logs() as entries:
            good = completes({"action": 3}, prompt_tokens=10, completion_tokens=3)
            played = play(game(CountTask, 2), model(server(status(429), status(503, SECRET.encode()), good)))
    finally:
        structlog.reset_defaults()
    assert [(one["event"], one["seat"], one["kind"]) for one in entries] == [
        ("endpoint failed", 0, "rate_limited"),
        ("endpoint failed", 0, "server_errors"),
    ]
    assert "***" in entries[1]["problem"]
    assert SECRET not in str(entries)
    assert played.turns[0].note.keys().isdisjoint({"rate_limited", "server_errors", "problem", "seconds"})


def test_tokens_over_the_limit_are_a_late_turn_with_its_note(server: Any):
    answers = [completes({"action": 3}, prompt_tokens=0, completion_tokens=tokens) for tokens in (89, 90, 3)]
    played = play(game(CountTask, 3), model(server(*answers)), think="tokens(30/s)")
    assert played.verdicts() == ["on time", "late", "on time"]
    assert [turn.note["answer_tokens"] for turn in played.turns] == [89, 90, 3]
    assert [turn.spent_ns for turn in played.turns] == [round(89 / 30 * S), 3 * S, S // 10]


def test_an_invalid_answer_costs_its_tokens_and_ends_where_no_time_is_left(server: Any):
    bad = completes("no", prompt_tokens=0, completion_tokens=30)
    good = completes({"action": 3}, prompt_tokens=0, completion_tokens=30)
    played = play(game(CountTask, 2), model(server(bad, good, bad)), think="tokens(30/s, first=100ms)")
    assert played.turns[0].spent_ns == 2_200 * MS
    assert played.verdicts() == ["on time", "late"]
    assert played.turns[1].note["invalid_answers"] == 3  # after 3.3 s nobody asks again
    played = play(game(CountTask, 1), model(server(bad)), think=None)
    assert (played.verdicts(), played.turns[0].note["invalid_answers"]) == (["on time"], 10)


def test_a_hard_limit_and_a_bank_are_those_of_any_think_time(server: Any):
    slow = completes({"action": 3}, prompt_tokens=0, completion_tokens=100)
    played = play(game(CountTask, 9), model(server(slow)), think="tokens(10/s)", control="act=1s/5s start=1s")
    assert [(out.reason, out.at_ns) for out in played.disqualified] == [("late", 5 * S)]
    played = play(game(CountTask, 9), model(server(slow)), think="tokens(10/s)", control="bank=25s start=1s")
    assert [(out.reason, out.at_ns) for out in played.disqualified] == [("late", 25 * S)]


def test_without_usage_the_match_is_void_and_nobody_is_blamed(server: Any):
    bad = completes("no", prompt_tokens=10, completion_tokens=3)
    with pytest.raises(HostFault, match="tokens of each answer"):  # of one of two it is not known
        play(game(CountTask, 2), model(server(bad, completes({"action": 3}))), think="tokens(30/s)")
    into = Played()
    with pytest.raises(
        HostFault, match=r"seat 0: tokens\(30/s\) needs the tokens of each answer.*tokenizer=FILE"
    ):
        play(game(CountTask, 2), model(server(completes({"action": 3}))), think="tokens(30/s)", into=into)
    assert into.disqualified == []


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer of words, of which it knows two."""
    words = {"type": "WordLevel", "vocab": {"action": 0, "[UNK]": 1}, "unk_token": "[UNK]"}
    split = {"type": "Whitespace"}
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps({"version": "1.0", "pre_tokenizer": split, "model": words, "added_tokens": []})
    )
    return path


def test_a_tokenizer_counts_what_the_server_does_not_report(server: Any, tokenizer: Path):
    running = server(completes({"action": 3}))
    played = play(
        game(CountTask, 1), model(running, tokenizer=str(tokenizer)), think="tokens(1/s)", control="untimed"
    )
    (turn,) = played.turns
    assert turn.note["answer_tokens"] == 5  # {" action ": 3 }
    assert turn.spent_ns == 5 * S
    assert turn.note["prompt_tokens"] > 20
    reported = server(completes({"action": 3}, prompt_tokens=7, completion_tokens=2))
    played = play(
        game(CountTask, 1), model(reported, tokenizer=str(tokenizer)), think="tokens(1/s)", control="untimed"
    )
    assert [played.turns[0].note[name] for name in ("prompt_tokens", "answer_tokens")] == [7, 2]


# Budgets of tokens and of cost.


class Frugal:
    """Uses 40 tokens a turn, as long as there are some, and remembers what it was told."""

    measures = "tokens"

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, briefing: Briefing) -> None:
        self.briefing = briefing

    async def act(self, _observation: Any, timer: ElapsedTimer) -> int:
        self.told.append((timer.tokens_left, timer.cost_left))
        if 0 not in self.told[-1]:
            await self.briefing.think(prompt_tokens=30, answer_tokens=10, cost=0.5)
        return 3


def test_a_spent_budget_makes_every_further_turn_late_at_once(server: Any):
    running = server(completes({"action": 3}, prompt_tokens=30, completion_tokens=10))
    control = "act=3s/30s budget=100tokens"
    played = play(game(CountTask, 6), model(running), think="tokens(10/s)", control=control)
    assert played.verdicts() == ["on time"] * 3 + ["late"] * 3
    assert [turn.spent_ns for turn in played.turns] == [S, S, S, 0, 0, 0]
    asked = [one["messages"][-1]["content"] for one in running.asked]
    assert [
        f"Left for the match: {left} tokens" in text for left, text in zip((100, 60, 20), asked, strict=True)
    ] == [True] * 3
    played = play(game(CountTask, 6), model(running), think="tokens(10/s)", control=f"{control} late=out")
    assert played.verdicts() == ["on time"] * 3 + ["disqualified"]


def test_a_budget_of_cost_and_what_an_agent_is_told():
    agent = Frugal()
    played = play(game(CountTask, 4), agent, think="tokens(10/s)", control="act=3s/30s budget=1ktokens/1USD")
    assert played.verdicts() == ["on time", "on time", "late", "late"]
    assert agent.told == [(1000, 1.0), (960, 0.5), (920, 0.0), (920, 0.0)]
    noted = {"prompt_tokens": 30, "answer_tokens": 10, "cost": 0.5}
    assert [turn.note for turn in played.turns] == [noted, noted, None, None]
    assert played.stats().noted == {"prompt_tokens": 60, "answer_tokens": 20, "cost": 1.0}


@pytest.mark.parametrize("host", ["task", "thread"])
async def test_on_the_wall_clock_budgets_are_charged_by_the_same_report(host: Any):
    agent = Frugal()
    played = await play_here(
        game(CountTask, 4), host_agent(agent, host), control="act=20s start=20s budget=80tokens/9USD"
    )
    assert played.verdicts() == ["on time", "on time", "late", "late"]
    assert agent.told[:3] == [(80, 9.0), (40, 8.5), (0, 8.0)]


def test_a_note_with_these_numbers_is_a_report_and_others_keep_their_place():
    class Noting(Frugal):
        async def act(self, _observation: Any, timer: ElapsedTimer) -> int:
            self.told.append(timer.tokens_left)
            self.briefing.note({"prompt_tokens": 50, "why": "because"})
            return 3

    class Both(Frugal):
        async def act(self, _observation: Any, _timer: ElapsedTimer) -> int:
            await self.briefing.think(prompt_tokens=1, answer_tokens=2)
            self.briefing.note("because")
            await self.briefing.think(prompt_tokens=1, answer_tokens=2)
            return 3

    agent = Noting()
    played = play(game(CountTask, 3), agent, think=None, control="act=3s budget=100tokens")
    assert (played.verdicts(), agent.told) == (["on time", "on time", "late"], [100, 50, 0])
    played = play(game(CountTask, 1), Both(), think="tokens(4/s)")
    (turn,) = played.turns
    assert turn.note == {"prompt_tokens": 2, "answer_tokens": 4, "requests": 2, "note": "because"}
    assert turn.spent_ns == S


@pytest.mark.parametrize(
    "numbers", [{"prompt_tokens": -1, "answer_tokens": 0}, {"prompt_tokens": 0, "answer_tokens": 1.5}]
)
def test_a_report_that_cannot_be_is_the_fault_of_its_agent(numbers: Any):
    class Wrong(Frugal):
        async def act(self, _observation: Any, _timer: ElapsedTimer) -> int:
            await self.briefing.think(**numbers)
            return 3

    played = play(game(CountTask, 2), Wrong(), think="tokens(10/s)")
    assert [out.reason for out in played.disqualified] == ["crashed"]
    assert "write a whole number from 0" in played.disqualified[0].detail
