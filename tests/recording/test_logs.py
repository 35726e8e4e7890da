import io
import json
import subprocess
import sys
from typing import Literal

import pytest
import structlog

from flagfall.errors import UsageError
from flagfall.events import MatchEnded, SeatDisqualified, TurnPlayed
from flagfall.recording import log_sink
from flagfall.recording.log_sink import MAX_WARNINGS, LogSink, configure_logging


@pytest.fixture(autouse=True)
def _as_before():
    yield
    structlog.reset_defaults()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def logged(lab, level, *tasks, agent=None, **options):
    stream = io.StringIO()
    configure_logging("json", level, stream)
    lab.run(None, lab.Tasks(*tasks), agent or lab.Guesser, sinks=[LogSink("final")], **options)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_beginnings_and_ends_are_told(lab):
    records = logged(lab, "info", lab.Echo(3), lab.Echo(2))
    assert [record["event"] for record in records] == [
        "match started",
        "seat ready",
        *["task started", "task ended"] * 2,
        "match ended",
    ]
    assert all(record["match"] == "final" and record["level"] == "info" for record in records)
    assert [record.get("task") for record in records] == [None, None, *["echo"] * 4, None]
    assert records[3]["steps"] == 3


def test_turns_are_told_where_they_are_asked_for(lab):
    records = [record for record in logged(lab, "debug", lab.Echo(3)) if record["event"] == "turn"]
    assert [(record["turn"], record["seat"], record["task"]) for record in records] == [
        (turn, 0, "echo") for turn in range(3)
    ]


def test_late_replies_are_told_up_to_a_limit_and_counted(lab):
    class Late:
        def act(self, _observation):
            return "no byte"

    records = logged(lab, "warning", lab.Echo(100), agent=Late)
    assert len(records) == MAX_WARNINGS + 1
    assert {record["event"] for record in records[:-1]} == {"reply illegal"}
    assert records[-2]["note"] == "further ones are counted only"
    assert (records[-1]["event"], records[-1]["count"]) == ("reply illegal: in all", 100)


def test_a_fall_is_told_with_its_reason(lab):
    def crash(_observation):
        raise ValueError("\ud83d")

    (record,) = logged(lab, "warning", lab.Echo(), agent=crash)
    assert (record["event"], record["reason"], record["level"]) == ("seat disqualified", "crashed", "warning")
    assert "\\ud83d" in record["detail"]


def test_people_get_text_and_collectors_json(capsys):
    styles: list[tuple[Literal["console", "json"] | None, str]] = [
        ("console", "2"),
        ("json", "{"),
        (None, "{"),
    ]
    for style, first in styles:
        configure_logging(style)
        LogSink()(MatchEnded(5, "finished", 3))
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(first)
        assert "match ended" in said.err
    stream = Terminal()
    configure_logging(stream=stream)
    LogSink()(MatchEnded(5, "void", 3, detail="disk"))
    assert "\x1b[" in stream.getvalue()
    assert "error" in stream.getvalue()


def test_unknown_styles_and_levels_are_refused():
    with pytest.raises(UsageError, match="nearest: json"):
        configure_logging("jsn")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(UsageError, match="nearest: debug"):
        configure_logging(level="debugg")


def test_a_closed_log_does_not_stop_a_match():
    stream = io.StringIO()
    configure_logging("json", "info", stream)
    sink = LogSink()
    stream.close()
    for _ in range(3):
        sink(SeatDisqualified(0, 0, "late"))


def test_a_turn_costs_no_call_where_nobody_looks(monkeypatch):
    calls: list[TurnPlayed] = []
    configure_logging("json", "info", io.StringIO())
    sink = LogSink()
    monkeypatch.setitem(log_sink._LOGGERS, TurnPlayed, lambda _, event: calls.append(event))
    sink(TurnPlayed(0, 0, 97, 0, 32))
    assert calls == []
    late = TurnPlayed(0, 1, 97, 0, 32, verdict="late")
    sink(late)
    assert calls == [late]


def test_importing_sets_nothing_up():
    program = (
        "import structlog, flagfall.recording.log_sink as logs\n"
        "assert not structlog.is_configured()\n"
        "import flagfall.recording.journal.writer\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
