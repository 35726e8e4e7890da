"""A language model that plays, against a real HTTP server that is fine, slow, broken, or tired of us."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from flagfall import Journal, read_journal
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.registry import load_agent
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.llm.conversation import MAX_CHARS, Dialogue, Listener
from flagfall.agents.samples.llm.settings import KEY, MODEL, URL, Endpoint
from flagfall.errors import UsageError
from flagfall.events import TurnPlayed
from flagfall.kernel.notes import LEFT_OUT
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import play
from tests.fakes import CountTask, Played, play_here
from tests.model_server import SECRET, Answer, Server, calls, completes, model, status

CONTROL = "start=20s act=1s/10s"
PATIENT = "start=20s act=20s/30s"


class Choice(CountTask):
    """Shows a text and which of five actions may be taken; takes 1 and 3."""

    nil_action = 1
    action_space = spaces.Discrete(5)
    observation_space = spaces.Discrete(2)

    def is_legal(self, action: Any) -> bool:
        return action in {1, 3}

    def reset(self, seed: int) -> Any:
        super().reset(seed)
        return self._view()

    def step(self, action: Any) -> Any:
        return super().step(action)._replace(observation=self._view())

    def _view(self) -> Any:
        return {"text": f"room {len(self.taken)}", "action_mask": np.array([0, 1, 0, 1, 0], np.int8)}


def slow(server: Server, _asked: Any) -> None:
    time.sleep(3)
    server.give(200, b"{}")


def drips(server: Server, _asked: Any) -> None:
    server.send_response(200)
    server.send_header("Content-Length", "1000000")
    server.end_headers()
    for _ in range(30):
        server.wfile.write(b" ")
        time.sleep(0.1)


def endless(server: Server, _asked: Any) -> None:
    server.send_response(200)
    server.end_headers()
    for _ in range(2_000):
        server.wfile.write(b" " * 10_000)


def hangs_up(server: Server, _asked: Any) -> None:
    server.close_connection = True
    server.connection.close()


def no_http(server: Server, _asked: Any) -> None:
    server.wfile.write(b"\x00\x01garbage\r\n\r\n")
    server.close_connection = True


def tired(server: Server, _asked: Any) -> None:
    server.give(429, f"slow down, {SECRET}".encode(), Retry_After="0")


def refuses(server: Server, _asked: Any) -> None:
    server.give(401, f"the key {SECRET} is wrong".encode())


def agent(server: Any, key: str = SECRET) -> LoopHost:
    return LoopHost(LanguageModel(server.url, "small", key), "model")


async def choose(server: Any, steps: int = 2, control: str = PATIENT) -> Played:
    return await play_here(Choice(steps), agent(server), control=control)


# It plays.


async def test_a_game_with_numbered_actions(server: Any):
    running = server(completes({"action": 3}))
    played = await choose(running)
    assert (played.actions(), played.disqualified) == ([3, 3], [])
    assert running.keys == [f"Bearer {SECRET}"] * 2
    (first, second) = running.asked
    assert first["path"] == "/v1/chat/completions"
    assert first["model"] == "small"
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][1]["content"] == re.sub("You have.*\n", "", first["messages"][1]["content"])
    assert second["messages"][2]["content"] == '{"action": 3}'
    prompt = second["messages"][3]["content"]
    assert "text: room 1\n" in prompt
    assert "Choose one of these actions: 1, 3\n" in prompt
    assert re.search(r"^You have (19\.\d|20) s to answer\.$", prompt, re.MULTILINE)
    assert "Reward for your last action: 3" in prompt


async def test_a_byte_task(server: Any):
    running = server(completes({"say": "hello."}), completes({"say": ""}))
    result = await play("micro4", agent(running), steps=120, time_control=PATIENT)
    assert result.seats[0].disqualified is None
    assert (result.seats[0].stats.illegal, result.seats[0].stats.late) == (0, 0)
    assert len(running.asked) > 1
    assert running.asked[1]["messages"][2]["content"] == '{"say": "hello."}'


async def test_the_environment_tells_it(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"say": "a"}))
    for name, value in ((URL, running.url + "/"), (MODEL, "large"), (KEY, f" {SECRET}\n")):
        monkeypatch.setenv(name, value)
    result = await play("micro4", "llm", steps=150, time_control=PATIENT)
    assert result.seats[0].disqualified is None
    assert running.asked[0]["model"] == "large"
    assert running.asked[0]["path"] == "/v1/chat/completions"
    assert running.keys[0] == f"Bearer {SECRET}"


async def test_in_a_process_it_gets_what_is_passed_on(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"action": 3}))
    for name, value in ((URL, running.url), (MODEL, "small"), (KEY, SECRET)):
        monkeypatch.setenv(name, value)
    spec = "flagfall.agents.samples.language_model:LanguageModel"
    passed = host_agent(spec, isolation=Isolation(env=(URL, MODEL, KEY)))
    played = await play_here(Choice(2), passed, control=PATIENT)
    assert (played.actions(), played.disqualified) == ([3, 3], [])
    played = await play_here(Choice(2), host_agent(spec), control=PATIENT)
    assert f"set {URL}" in played.disqualified[0].detail


async def test_without_a_key_none_is_shown(server: Any):
    running = server(completes({"action": 1}))
    await play_here(Choice(1), agent(running, ""), control=PATIENT)
    assert running.keys == [""]


# It is asked again.


@pytest.mark.parametrize(
    "trouble",
    [
        tired,
        status(500),
        status(503),
        status(200, b"no json"),
        status(200, b"{}"),
        status(200, b'{"choices":[]}'),
        completes("\ud800"),
        status(200, b'{"choices":[{"message":{"content":null}}]}'),
        hangs_up,
        no_http,
        endless,
    ],
)
async def test_trouble_that_passes(server: Any, trouble: Answer):
    running = server(trouble, completes({"action": 3}))
    played = await choose(running, 1)
    assert (played.actions(), played.disqualified) == ([3], [])
    assert len(running.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        "3",
        '"3"',
        '{"action": "3"}',
        '{"action": 3.5}',
        '{"action": 3, "because": "why not"}',
        '```json\n{"action": 3}\n```',
        '{"action": 3} I hope',
        '{"action": 2}',
        '{"action": -1}',
        "",
        "[" * 100_000,
    ],
)
async def test_an_answer_that_is_none_is_told_why_and_asked_again(server: Any, answer: str):
    running = server(completes(answer), completes({"action": 3}))
    played = await choose(running, 1)
    assert (played.actions(), played.disqualified) == ([3], [])
    assert "could not be played" in running.asked[1]["messages"][1]["content"]


@pytest.mark.parametrize("answer", [{"say": "x" * 201}, {"say": "日本"}, {"says": "x"}])
async def test_a_text_that_cannot_be_said(server: Any, answer: Any):
    running = server(completes(answer), completes({"say": "ok."}))
    result = await play("micro4", agent(running), steps=150, time_control=PATIENT)
    assert (result.seats[0].disqualified, result.seats[0].stats.illegal) == (None, 0)
    assert "could not be played" in running.asked[1]["messages"][1]["content"]


# It does nothing in time.


# httpx leaves the body of a request open when it is cancelled while it sends.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object ByteStream")
@pytest.mark.parametrize("trouble", [slow, drips, tired, status(500), completes("no"), hangs_up])
async def test_nothing_is_played_in_time_where_no_answer_comes(server: Any, trouble: Answer):
    running = server(completes({"action": 3}), trouble)
    played = await choose(running, 2, CONTROL)
    assert (played.actions(), played.verdicts(), played.disqualified) == ([3, 1], ["on time"] * 2, [])


async def test_an_endpoint_needs_no_name_of_a_model(server: Any):
    running = server(completes({"action": 3}))
    assert Endpoint.from_env(running.url, "", "").model == ""


# It keeps its key.


async def test_an_endpoint_that_refuses_ends_it_and_nothing_shows_the_key(
    server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    running = server(refuses)
    journal = tmp_path / "run.jsonl"
    host = agent(running)
    result = await play("micro4", host, steps=200, time_control=PATIENT, journal=journal)
    assert result.seats[0].disqualified == result.seats[0].lost_by == "unavailable"
    assert result.seats[0].detail == (
        "no answer in 1 of 1 turn (refused): HTTP status 401 Unauthorized: the key *** is wrong"
    )
    texts = [journal.read_text(), repr(result), repr(host._agent), repr(host._agent._endpoint), caplog.text]
    assert not any(SECRET in text for text in texts)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", f"{SECRET}\x00"])
def test_a_key_that_cannot_be_is_not_shown(key: str):
    with pytest.raises(UsageError, match=KEY) as caught:
        LanguageModel("http://127.0.0.1:9/v1", "small", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x"])
def test_an_address_that_cannot_be(url: str):
    with pytest.raises(UsageError, match=URL):
        LanguageModel(url)


async def test_a_game_that_it_cannot_play(server: Any):
    played = await play_here(
        type("Pictures", (CountTask,), {"reset": lambda _self, _seed: "a picture"})(1),
        agent(server(tired)),
        control=CONTROL,
    )
    assert played.disqualified[0].reason == "crashed"
    assert "actions have numbers" in played.disqualified[0].detail


# It converses.


async def test_the_conversation_is_bounded(server: Any):
    running = server(completes({"action": 3}))
    await play_here(Choice(6), model(running, memory=2), control=PATIENT)
    assert [len(asked["messages"]) for asked in running.asked] == [2, 4, 6, 6, 6, 6]
    assert "text: room 3\n" in running.asked[5]["messages"][1]["content"]
    dialogue = Dialogue(1_000)
    for number in range(100):
        dialogue.add(f"{number} {'q' * 999}", "a")
    sent = dialogue.messages("system", "now")
    assert MAX_CHARS - 2_000 < sum(len(message["content"]) for message in sent[1:-1]) <= MAX_CHARS
    assert sent[-3]["content"].startswith("99 ")


async def test_options_are_in_the_request(server: Any):
    running = server(completes({"action": 3}))
    options = {"temperature": 0.5, "max_tokens": 50, "system": "You are a pirate.", "model": "huge"}
    await play_here(Choice(1), model(running, **options), control=PATIENT)
    (asked,) = running.asked
    assert (asked["temperature"], asked["max_tokens"], asked["model"]) == (0.5, 50, "small")
    assert asked["messages"][0] == {"role": "system", "content": "You are a pirate.\nGame: count"}
    await play_here(Choice(1), model(running, temperature="default"), control=PATIENT)
    assert "temperature" not in running.asked[1]


async def test_forms_of_answers_that_an_endpoint_may_know(server: Any):
    wanted = {
        "type": "object",
        "properties": {"action": {"type": "integer", "enum": [1, 3]}},
        "required": ["action"],
        "additionalProperties": False,
    }
    running = server(completes({"action": 3}))
    for form in ("auto", "schema", "json", "text"):
        played = await play_here(Choice(1), model(running, format=form), control=PATIENT)
        assert played.actions() == [3]
    formats = [asked.get("response_format") for asked in running.asked]
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": wanted}}
    assert formats == [schema, schema, {"type": "json_object"}, None]
    running = server(calls('{"action": 3}'))
    played = await play_here(Choice(1), model(running, format="tools"), control=PATIENT)
    assert played.actions() == [3]
    (asked,) = running.asked
    assert asked["tools"][0]["function"]["parameters"] == wanted
    assert asked["tool_choice"]["function"]["name"] == asked["tools"][0]["function"]["name"]


@pytest.mark.parametrize("refusal", [400, 422, 501])
async def test_an_endpoint_without_schemas_is_asked_without_one(server: Any, refusal: int):
    running = server(status(refusal), completes({"action": 3}))
    played = await choose(running, 3)
    assert (played.actions(), played.disqualified) == ([3, 3, 3], [])
    assert ["response_format" in asked for asked in running.asked] == [True, False, False, False]
    played = await choose(server(status(refusal)), 1)
    assert f"HTTP status {refusal}" in played.disqualified[0].detail


# It listens.


def listened(text: str, most: int = 80, rewards: Mapping[int, float] | None = None) -> list[str]:
    """Return what a model is asked about while a teacher says a text."""
    listener, questions = Listener(0x20, most), []
    for place, char in enumerate(text):
        listener.hear(ord(char), (rewards or {}).get(place, 0))
        if listener.is_due():
            questions.append(listener.take())
    return questions


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("say a word. ", ["say a word. "]),
        ("say a word.", []),
        ("say a word  ", ["say a word  "]),
        ("one two three", []),
        ("          ", []),
        ("hi.  and more; ", ["hi. ", " and more; "]),
    ],
)
def test_it_is_asked_when_the_teacher_pauses(text: str, questions: list[str]):
    assert listened(text) == questions


def test_a_teacher_who_never_pauses_or_waits_forever_is_answered():
    assert listened("x" * 170) == ["x" * 80] * 2
    assert listened("word " * 32) == ["word " * 16] * 2
    assert listened(" " * 170) == [" " * 80] * 2
    assert listened("abcd", 2, {1: -1}) == ["a\n[reward -1]\nb", "cd"]
    assert listened("abcdef", rewards={1: -1, 2: 1, 4: 1}) == ["a\n[reward -1]\nb\n[reward 1]\nc"]


async def test_a_teacher_who_never_pauses_hears_the_model(server: Any):
    running = server(completes({"say": "cab"}))
    said: list[int] = []

    class Talking(CountTask):
        id = "talking"
        nil_action = 32
        action_space = observation_space = spaces.Discrete(256)

        def reset(self, seed: int) -> Any:
            super().reset(seed)
            return ord("x")

        def step(self, action: Any) -> Any:
            said.append(action)
            return super().step(action)._replace(observation=ord("x"), reward=0)

    await play_here(Talking(90), model(running, listen=20), control=PATIENT)
    assert bytes(said).decode().split() == ["cab"] * 4
    assert len(running.asked) == 4


# It notes what happened.


async def recorded(
    host: LoopHost, journal: Path | None, steps: int = 1, control: str = PATIENT
) -> MatchResult:
    sinks = [] if journal is None else [Journal(journal)]
    result = (await play_here(Choice(steps), host, control=control, sinks=sinks)).result
    assert result is not None
    return result


def rate_limited(server: Server, _asked: Any) -> None:
    server.give(429, b"", Retry_After="1")


async def test_a_turn_has_a_note_and_a_seat_the_sums(server: Any, tmp_path: Path):
    usage = {"prompt_tokens": 70, "completion_tokens": 5, "total_tokens": 75}
    text = f'{{"action": 3}} {SECRET}'
    body = {"choices": [{"message": {"content": text}}], "usage": usage}
    echo = status(200, json.dumps(body).encode())
    journal = tmp_path / "run.jsonl"
    running = server(status(503), echo, completes({"action": 3}))
    result = await recorded(agent(running), journal, 2)
    notes = [event.note for event in read_journal(journal) if isinstance(event, TurnPlayed)]
    assert "room 0" in notes[0]["prompt"]
    assert notes[0]["answer"] == '{"action": 3}'
    assert notes[0]["problem"] == 'it is not a JSON object with the field "action" alone'
    counted = {"requests": 3, "server_errors": 1, "invalid_answers": 1, "answers": 1}
    counted |= {"prompt_tokens": 70, "answer_tokens": 5}
    assert {name: notes[0][name] for name in counted} == counted
    assert 0 < notes[0]["seconds"] < 20
    noted = result.seats[0].stats.noted
    assert noted["requests"] == len(running.asked) == 4
    assert noted["answers"] == 2
    assert noted["seconds"] == pytest.approx(sum(note["seconds"] for note in notes))
    assert SECRET not in journal.read_text()


async def test_an_answer_that_repeats_the_key_is_noted_without_it(server: Any, tmp_path: Path):
    journal = tmp_path / "run.jsonl"
    running = server(completes(SECRET))
    await recorded(agent(running), journal, control=CONTROL)
    (turn,) = [event for event in read_journal(journal) if isinstance(event, TurnPlayed)]
    assert turn.note["answer"] == "***"
    assert SECRET not in journal.read_text()


async def test_a_note_has_room_for_any_text(server: Any, tmp_path: Path):
    journal = tmp_path / "run.jsonl"
    running = server(completes('"' * 30_000), completes({"action": 3}))
    system = "\x01" * 8_000
    result = await recorded(model(running, system=system), journal)
    assert result.seats[0].stats.noted["answers"] == 1
    assert LEFT_OUT not in result.seats[0].stats.noted


async def noted(endpoint: Any, control: str = CONTROL, **options: Any) -> Any:
    return (await recorded(model(endpoint, **options), None, control=control)).seats[0]


@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object ByteStream")
@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (slow, "timed_out"),
        (drips, "timed_out"),
        (tired, "rate_limited"),
        (status(500), "server_errors"),
        (hangs_up, "broken_answers"),
        (no_http, "broken_answers"),
        (status(200, b"no json"), "broken_answers"),
    ],
)
async def test_a_failing_endpoint_is_visible_and_the_end_but_for_an_option(
    server: Any, trouble: Answer, kind: str
):
    control = CONTROL if kind == "timed_out" else "start=20s act=2s/10s"  # time for one answer at least
    seat = await noted(server(trouble), control, on_failure="nil")
    assert seat.disqualified is None
    assert seat.stats.noted[kind] > 0
    assert seat.stats.noted["turns_without_answer"] == 1
    assert "answers" not in seat.stats.noted
    seat = await noted(server(trouble), control)
    assert seat.disqualified == seat.lost_by == "unavailable"
    assert seat.detail.startswith(f"no answer in 1 of 1 turn ({kind.replace('_', ' ')}): ")
    assert seat.stats.noted[kind] > 0


async def test_a_model_that_answers_badly_is_no_failure_of_the_endpoint(server: Any):
    # It is asked again until the time is up: on a busy machine the first answer takes a while, too.
    seat = await noted(server(completes("no")), "start=20s act=2s/20s", on_failure="end")
    assert seat.disqualified is None
    assert seat.stats.noted["invalid_answers"] > 0


async def test_an_endpoint_that_is_gone(port: int):
    gone = SimpleNamespace(url=f"http://127.0.0.1:{port}/v1")
    assert (await noted(gone, on_failure="nil")).stats.noted["unreachable"] > 1
    seat = await noted(gone)
    assert seat.detail == "no answer in 1 of 1 turn (unreachable): the endpoint cannot be reached"
    assert seat.disqualified == "unavailable"


async def after(answers: list[Answer], server: Any, steps: int, **options: Any) -> tuple[list[Any], Any]:
    """Return the actions and the report of a match whose questions have these answers."""
    played = await play_here(Choice(steps), model(server(*answers), **options), control=PATIENT)
    assert played.result is not None
    return played.actions(), played.result.seats[0]


gone_model = status(404, b'{"error":{"message":"model gone"}}')


async def test_turns_are_refused_and_counted_once_the_model_has_answered(server: Any):
    answers = [completes({"action": 3}), gone_model, gone_model, completes({"action": 3}), gone_model]
    actions, seat = await after(answers, server, 5)
    assert (actions, seat.disqualified) == ([3, 1, 1, 3, 1], None)
    assert (seat.stats.noted["refused"], seat.stats.noted["turns_without_answer"]) == (3, 3)
    _, seat = await after(answers, server, 5, on_failure="end")
    assert seat.detail == "no answer in 1 of 2 turns (refused): HTTP status 404 Not Found: model gone"
    actions, seat = await after([gone_model], server, 3, on_failure="nil")
    assert (actions, seat.disqualified, seat.stats.noted["refused"]) == ([1, 1, 1], None, 3)


async def test_a_model_that_has_not_answered_yet_may_still_do_so(server: Any, monkeypatch: Any):
    async def play_two(*answers: Answer) -> Any:
        played = await play_here(Choice(2), agent(server(*answers)), control=CONTROL)
        return played.result.seats[0]  # type: ignore[union-attr]

    for answer in (completes({"action": 3}), completes("no")):
        assert (await play_two(limited, answer)).disqualified is None
    seat = await play_two(limited)
    assert seat.detail.startswith("no answer in 2 of 2 turns (rate limited): HTTP status 429 ")
    assert (seat.lost_by, seat.stats.noted["turns_without_answer"]) == ("unavailable", 2)
    monkeypatch.setattr("flagfall.agents.samples.llm.turn.MAX_FAILED_TURNS", 1)
    seat = await play_two(limited)
    assert seat.detail.startswith("no answer in 1 of 1 turn (rate limited)")
    assert (seat.lost_by, seat.stats.noted["turns_without_answer"]) == ("unavailable", 1)


def limited(server: Server, _asked: Any) -> None:
    server.give(429, b"slow down", Retry_After="100")  # longer than the turn


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (401, b'{"error":{"message":"wrong key","code":"invalid_api_key"}}', "401 Unauthorized: wrong key"),
        (404, b'{"error":"model not found"}', "404 Not Found: model not found"),
        (404, b'{"detail":"Not Found"}', "404 Not Found: Not Found"),
        (403, b'{"object":"error","message":"no"}', "403 Forbidden: no"),
        (499, b'{"errors":[1,2]}', '499: {"errors":[1,2]}'),
        (499, b"", "499"),
        (403, b"<html>\n<h1>no</h1>\n", "403 Forbidden: <html>; <h1>no</h1>"),
        (403, b"\x1b[31mred\x07\xff \xe2\x80\xae", "403 Forbidden: \\x1b[31mred\\x07\ufffd \\u202e"),
        (403, json.dumps({"error": f"key {SECRET}\x1b"}).encode(), "403 Forbidden: key ***\\x1b"),
        (403, json.dumps({"key": SECRET}).encode(), '403 Forbidden: {"key":"***"}'),
        (403, b"[" * 10_000, f"403 Forbidden: {'[' * 150} ... {'[' * 150}"),
        (403, b"x" * 16_381 + SECRET.encode() * 2, f"403 Forbidden: {'x' * 150} ... {'x' * 147}sk-"),
        (403, b"x" * 16_378 + SECRET.encode() * 2, f"403 Forbidden: {'x' * 150} ... {'x' * 147}***"),
    ],
)
async def test_what_an_endpoint_says_is_shown_in_one_bounded_line_without_the_key(
    server: Any, tmp_path: Path, code: int, body: bytes, said: str
):
    journal = tmp_path / "run.jsonl"
    result = await recorded(agent(server(status(code, body))), journal)
    detail = result.seats[0].detail
    assert detail == f"no answer in 1 of 1 turn (refused): HTTP status {said}"
    (turn,) = [event for event in read_journal(journal) if isinstance(event, TurnPlayed)]
    assert turn.note["problem"] == f"HTTP status {said}"
    assert SECRET not in journal.read_text() + detail


async def test_an_error_that_never_ends_is_judged_by_its_status(server: Any):
    def drips_error(server: Server, _asked: Any) -> None:
        server.send_response(401)
        server.send_header("Content-Length", "1000000")
        server.end_headers()
        server.wfile.write(f"key {SECRET[:9]}".encode())
        time.sleep(5)

    def breaks_off(server: Server, _asked: Any) -> None:
        server.send_response(401)
        server.send_header("Content-Length", "1000000")
        server.end_headers()
        server.wfile.write(b"no")
        server.close_connection = True

    for answer, said in ((drips_error, "key ***"), (breaks_off, "no")):
        seat = await noted(server(answer), PATIENT)
        assert seat.detail == f"no answer in 1 of 1 turn (refused): HTTP status 401 Unauthorized: {said}"


async def test_a_model_that_is_gone_at_the_end_of_its_process_has_lost(server: Any, monkeypatch: Any):
    monkeypatch.setenv(URL, server(limited).url)
    for host in ("task", "thread", "process"):
        played = await play_here(Choice(1), host_agent("llm", host), control=CONTROL)
        assert played.result is not None
        (seat,) = played.result.seats
        assert seat.lost_by == "unavailable"
        assert seat.detail.startswith("no answer in 1 of 1 turn (rate limited)")


async def test_the_pause_that_an_endpoint_asks_for_is_kept(server: Any):
    running = server(rate_limited, completes({"action": 3}))
    began = time.monotonic()
    played = await choose(running, 1)
    assert played.actions() == [3]
    assert time.monotonic() - began >= 1


# Its text.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llm?temperatur=1", "unknown option 'temperatur'; nearest: temperature"),
        ("llm?temperature=3", "temperature=3: write a number from 0 to 2, or default"),
        ("llm?temperature=warm", "temperature='warm': write a number"),
        ("llm?max_tokens=0", "max_tokens=0: write a number from 1"),
        ("llm?memory=true", "memory=True: write a number from 0"),
        ("llm?format=xml", "write auto, schema, tools, json or text"),
        ("llm?on_failure=stop", "write auto, nil or end"),
        ("llm?listen=0.5", "listen=0.5: write a number from 1"),
        ("llm?system=3", "system=3: write a text of at most"),
        ("llm?model=3", "model=3: write the name"),
        ("llm?url=http://user:pass@host/v1", "no password"),
        ("llm?url=localhost", "write an address such as"),
        (f"llm?key={SECRET}", f"a key is given by {KEY} only"),
        ("llm?temperature", "expected `name=value`"),
        ("random?x=1", "random has no options"),
        ("lmm?x=1", "unknown agent 'lmm'; nearest: llm"),
    ],
)
def test_options_that_cannot_be(text: str, message: str):
    with pytest.raises(UsageError) as caught:
        load_agent(text)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_the_text_of_the_agent_has_the_address(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"action": 3}))
    monkeypatch.delenv(URL, raising=False)
    spec = f"llm?url={running.url}&model=tiny&system=Say%20a%26b:%20now?"
    for host in ("task", "process"):
        played = await play_here(Choice(2), host_agent(spec, host), control=PATIENT)
        assert (played.actions(), played.disqualified) == ([3, 3], [])
    assert {asked["model"] for asked in running.asked} == {"tiny"}
    assert {asked["messages"][0]["content"] for asked in running.asked} == {"Say a&b: now?\nGame: count"}


async def test_the_sample_gets_its_variables_in_a_process(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"action": 3}))
    for name, value in ((URL, running.url), (KEY, SECRET)):
        monkeypatch.setenv(name, value)
    played = await play_here(Choice(1), host_agent("llm", "process"), control=PATIENT)
    assert (played.actions(), played.disqualified) == ([3], [])
    assert running.keys == [f"Bearer {SECRET}"]
