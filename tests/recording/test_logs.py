import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import structlog
from structlog.stdlib import BoundLogger as StdlibBoundLogger

from flagfall.errors import UsageError
from flagfall.events import MatchEnded, SeatDisqualified, TurnPlayed
from flagfall.kernel.dispatcher import is_batch_sink
from flagfall.recording import log_sink
from flagfall.recording.journal.format import digest_of, encode
from flagfall.recording.log_sink import MAX_WARNINGS, LineLogger, LogSink, configure_logging


@pytest.fixture(autouse=True)
def _as_before():
    yield
    structlog.reset_defaults()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def logged(lab, level, *tasks, agent=None, **options):
    stream = io.StringIO()
    structlog.reset_defaults()
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
        structlog.reset_defaults()
        configure_logging(style)
        LogSink()(MatchEnded(5, "finished", 3))
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(first)
        assert "match ended" in said.err
    stream = Terminal()
    structlog.reset_defaults()
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


def test_turns_have_observation_and_action_and_a_digest_of_long_ones():
    long = "x" * 2_000
    for value, shown in (
        (97, 97),
        ({"grid": np.zeros(2, np.int8)}, {"grid": [0, 0]}),
        (long, {"$digest": digest_of(encode(long)).digest, "bytes": 2_002}),
        (object(), "<object>"),
    ):
        stream = io.StringIO()
        structlog.reset_defaults()
        configure_logging("json", "debug", stream)
        LogSink("final")(TurnPlayed(0, 4, value, 1, "go"))
        record = json.loads(stream.getvalue())
        assert (record["action"], record["seat"], record["match"], record["turn"]) == ("go", 0, "final", 4)
        assert record["observation"] == shown
        assert "observation_dtype" not in record


def test_an_array_is_numbers_with_its_shape_and_dtype():
    for style in ("json", "console"):
        stream = io.StringIO()
        structlog.reset_defaults()
        configure_logging(style, "debug", stream)
        picture = np.zeros((20, 20, 3), np.uint8)
        LogSink()(TurnPlayed(0, 4, picture, 1, np.array([[0.5, 1], [2, 3]], np.float32)))
        text = stream.getvalue()
        assert "ndarray" not in text
        if style == "json":
            record = json.loads(text)
            assert record["action"] == [[0.5, 1], [2, 3]]
            assert (record["action_shape"], record["action_dtype"]) == ([2, 2], "float32")
            assert record["observation"] == {
                "$digest": digest_of(encode(picture)).digest,
                "bytes": len(encode(picture)),
            }
            assert (record["observation_shape"], record["observation_dtype"]) == ([20, 20, 3], "uint8")


def test_late_turns_are_among_the_turns(lab):
    records = logged(lab, "debug", lab.Echo(3), agent=lambda _observation: "no byte")
    assert [record["verdict"] for record in records if record["event"] == "turn"] == ["illegal"] * 3


def test_above_debug_a_plain_turn_makes_no_event():
    for level, batches in (("info", True), ("debug", False)):
        structlog.reset_defaults()
        configure_logging("json", level, io.StringIO())
        assert is_batch_sink(LogSink()) is batches


def test_the_configuration_of_a_program_is_respected(lab):
    entries: list[dict[str, object]] = []

    def keep(_logger, method, event):
        entries.append({"method": method, **event})
        raise structlog.DropEvent

    for wrapper in (structlog.make_filtering_bound_logger(20), structlog.BoundLogger, StdlibBoundLogger):
        entries.clear()
        structlog.reset_defaults()
        structlog.configure(
            processors=[structlog.contextvars.merge_contextvars, keep],
            wrapper_class=wrapper,
            logger_factory=structlog.stdlib.LoggerFactory(),
        )
        assert configure_logging("json", "debug") is False
        with structlog.contextvars.bound_contextvars(experiment="a1"):
            lab.run(None, lab.Tasks(lab.Echo(2)), lab.Guesser, sinks=[LogSink("final")])
        assert entries[0]["event"] == "match started"
        assert {(entry["match"], entry["experiment"]) for entry in entries} == {("final", "a1")}
        assert ("turn" in {entry["event"] for entry in entries}) is (wrapper is structlog.BoundLogger)


def test_no_value_stops_the_log_and_none_reaches_a_terminal():
    for style in ("json", "console"):
        stream = io.StringIO()
        structlog.reset_defaults()
        configure_logging(style, "info", stream)
        sink = LogSink("\ud83d \x1b[31m \u202e")
        sink(SeatDisqualified(0, 0, "late", "\x1b]0;title\x07"))
        sink(MatchEnded(5, "finished", 3))
        assert len(stream.getvalue().splitlines()) == 2
        assert not {"\x1b", "\x07", "\u202e"} & set(stream.getvalue())


WRITER = """
import sys
from flagfall.recording.log_sink import LineLogger
logger = LineLogger(int(sys.argv[1]), int(sys.argv[2]))
for _ in range(40):
    logger.info(sys.argv[3] * 20_000)
"""


def test_processes_do_not_tear_the_lines_of_each_other():
    lock = os.memfd_create("lock")
    read, write = os.pipe()
    try:
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(write), str(lock), letter], pass_fds=(write, lock)
            )
            for letter in "ab"
        ]
        os.close(write)
        with os.fdopen(read) as lines:
            found = [line.rstrip("\n") for line in lines]
        assert [writer.wait() for writer in writers] == [0, 0]
    finally:
        os.close(lock)
    assert sorted(found) == ["a" * 20_000] * 40 + ["b" * 20_000] * 40


def test_an_error_of_writing_is_kept():
    with Path("/dev/full").open("wb") as full:
        lock = os.memfd_create("lock")
        logger = LineLogger(full.fileno(), lock)
        with pytest.raises(OSError, match="space"):
            logger.info("x")
        os.close(lock)
    assert logger.failure is not None


def test_importing_sets_nothing_up():
    program = (
        "import structlog, flagfall.recording.log_sink as logs\n"
        "assert not structlog.is_configured()\n"
        "import flagfall.recording.journal.writer\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
