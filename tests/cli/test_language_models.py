"""A language model behind a real HTTP server, on the command line: what the tables and `--json` show."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flagfall import read_turns
from flagfall.agents.samples.llm.settings import KEY, MODEL, URL
from tests.model_server import SECRET, Answer, Server, completes, servers, status

SAYS_OK = completes({"say": "ok"}, prompt_tokens=40, completion_tokens=6)


def never(server: Server, _asked: Any) -> None:
    server.connection.recv(1)  # until the client has gone


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], None]]:
    """Start a server, and set the variables of the agent."""
    monkeypatch.setenv(MODEL, "small")
    monkeypatch.setenv(KEY, SECRET)
    with servers() as start:
        yield lambda answer: monkeypatch.setenv(URL, start(answer).url)


RUN = "run -t micro12 --steps 24 --time-control"
CONTROL = "start=20s act=500ms/20s"
PATIENT = "start=20s act=2s/20s"
"""Time for an answer on a busy machine, too."""


def sums(out: str) -> dict[str, str]:
    """Return the rows of the table of notes."""
    rows = [line.split() for line in out[out.index("noted") :].splitlines()[2:]]
    return {" ".join(row[1:-1]): row[-1] for row in rows if len(row) > 2}


FAILURES = [
    (never, "timed out"),
    (status(429, f"slow down {SECRET}".encode(), Retry_After="1"), "rate limited"),
    (status(503, SECRET.encode()), "server errors"),
    (status(200, b"<html>"), "broken answers"),
]


def test_a_model_that_answers(call: Any, serve: Any, tmp_path: Path) -> None:
    serve(SAYS_OK)
    journal = tmp_path / "run.jsonl"
    ended = call(RUN, PATIENT, "-a", "llm?listen=8", "-o", journal)
    assert ended.code == 0
    found = sums(ended.out)
    assert found["requests"] == found["answers"] == "3"
    assert (found["prompt tokens"], found["answer tokens"]) == ("120", "18")
    assert "turns without answer" not in found
    notes = [note for note in read_turns(journal)["note"] if note is not None]
    assert [note["answer"] for note in notes] == ['{"say": "ok"}'] * 3
    data = call(RUN, PATIENT, "-a", "llm?listen=8", "--json").data()
    assert data["matches"][0]["seats"][0]["noted"]["answer_tokens"] == 18


@pytest.mark.parametrize(("answer", "kind"), FAILURES)
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object ByteStream")
def test_a_model_that_fails_is_in_the_table(
    call: Any, serve: Any, tmp_path: Path, answer: Answer, kind: str
) -> None:
    serve(answer)
    journal = tmp_path / "run.jsonl"
    control = CONTROL if kind == "timed out" else PATIENT
    for option, code in (("nil", 0), ("auto", 1)):
        ended = call(RUN, control, "-a", f"llm?listen=12&on_failure={option}", "-o", journal, "--overwrite")
        found = sums(ended.out)
        assert (ended.code, found["turns without answer"]) == (code, "2")
        assert int(found[kind]) > 0
        assert ("disqualified: unavailable" in ended.out) is bool(code)
        assert (f"    no answer in 2 of 2 turns ({kind}): " in ended.out) is bool(code)
        assert "Traceback" not in ended.out
        assert SECRET not in journal.read_text() + ended.out + ended.err


def test_an_endpoint_that_is_gone(call: Any, monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setenv(URL, f"http://127.0.0.1:{port}/v1")
    ended = call(RUN, CONTROL, "-a", "llm?listen=12&on_failure=nil")
    assert int(sums(ended.out)["unreachable"]) > 1
    ended = call(RUN, CONTROL, "-a", "llm?listen=12", "--host", "process")
    assert ended.code == 1
    assert "no answer in 2 of 2 turns (unreachable): the endpoint cannot be reached" in ended.out


def test_a_wrong_key_ends_the_match(call: Any, serve: Any) -> None:
    serve(status(401, f'{{"error": {{"message": "no such key: {SECRET}"}}}}'.encode()))
    ended = call(RUN, CONTROL, "-a", "llm?listen=12")
    assert ended.code == 1
    assert "no answer in 1 of 1 turn (refused): HTTP status 401 Unauthorized: no such key: ***\n" in ended.out
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize("option", ["auto", "nil"])
def test_standings_say_why_a_model_lost(call: Any, serve: Any, tmp_path: Path, option: str) -> None:
    serve(status(401, b"no such key"))
    (tmp_path / "plan.toml").write_text(
        'format = "benchmark"\ntime_control = "start=20s act=5s/20s"\nrepeats = 2\n'
        f'[[agents]]\nname = "model"\nspec = "llm?listen=12&on_failure={option}"\n'
        '[[agents]]\nspec = "silent"\n[[tasks]]\ntask = "micro12"\nsteps = 24\n'
    )
    ended = call("tournament plan.toml -o out --jobs 1 -q")
    remark = (
        "model was disqualified in 2 matches: unavailable; in {}: no answer in 1 of 1 turn (refused):"
        " HTTP status 401 Unauthorized: no such key"
    )
    data = call("results out --json").data()
    assert [(one["agent"], one["reason"], one["matches"]) for one in data["disqualified"]] == (
        [("model", "unavailable", 2)] if option == "auto" else []
    )
    assert ended.code == (option == "auto")
    for one in data["disqualified"]:
        assert any(note.startswith(remark.format(one["match"])) for note in data["notes"])
        assert f"Note: {remark.format(one['match'])}" in ended.out
    rows = {row["agent"]: row for row in data["rows"]}
    assert rows["model"]["crashes"] == (2 if option == "auto" else 0)
    assert rows["silent"]["wins"] == (2 if option == "auto" else 0)


def test_without_an_address_nothing_starts(
    call: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(URL, raising=False)
    journal = tmp_path / "run.jsonl"
    ended = call(RUN, CONTROL, "-a", "llm", "-o", journal)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"flagfall: a language model needs an address: set {URL}, such as http://127.0.0.1:8000/v1\n"
    )
    assert not journal.exists()


def test_without_httpx_nothing_starts(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    monkeypatch.setitem(sys.modules, "httpx", None)
    ended = call(RUN, CONTROL, "-a", "llm")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "flagfall: a language model needs httpx: pip install 'flagfall[llm]'\n"


def test_a_tournament_checks_before_its_start(
    call: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(URL, raising=False)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'format = "benchmark"\n[[agents]]\nspec = "llm?listen=12"\n[[agents]]\nspec = "random"\n'
        '[[tasks]]\ntask = "micro12"\nsteps = 24\n'
    )
    ended = call("tournament plan.toml -o out -q")
    assert (ended.code, ended.out) == (2, "")
    assert "a language model needs an address" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_tournament_gives_its_processes_the_variables(serve: Any, tmp_path: Path, call: Any) -> None:
    serve(SAYS_OK)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'format = "benchmark"\ntime_control = "start=20s act=5s/20s"\n'
        '[[agents]]\nname = "model"\nspec = "llm?listen=12"\n'
        '[[tasks]]\ntask = "micro12"\nsteps = 24\n'
    )
    ended = call("tournament plan.toml -o out -q --jobs 1")
    assert ended.code == 0, ended.err
    (journal,) = (tmp_path / "out" / "journals").iterdir()
    notes = [note for note in read_turns(journal)["note"] if note is not None]
    assert [note["answers"] for note in notes] == [1, 1]
