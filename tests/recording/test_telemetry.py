"""The telemetry sink with providers of the program, and its cost per turn."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from flagfall import events, run
from flagfall.events import MAX_WHOLE

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flagfall.recording.telemetry import MAX_CHARS, TelemetrySink

OURS = ("flagfall.recording.", "opentelemetry.")

STARTED: dict[str, Any] = {
    "schema": events.SCHEMA,
    "flagfall": "",
    "tasks": ["t"],
    "scheduler": "",
    "agents": ["left", "right"],
    "seed": 2**80,
    "time_control": "act=40ms",
    "clock": "virtual",
}


class Kept:
    """Providers that keep what they get."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def sink(self, *, turns: bool = True) -> TelemetrySink:
        return TelemetrySink("m", turns=turns, tracer_provider=self.tracers, meter_provider=self.meters)

    def spans(self, name: str = "") -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if name in span.name]


def test_a_match_descends_from_the_current_span_of_the_program() -> None:
    kept = Kept()
    with kept.tracers.get_tracer("own").start_as_current_span("experiment") as mine:
        run("micro1", "random", steps=20, clock="virtual", sinks=[kept.sink()])
    (match,) = kept.spans("flagfall.match")
    assert match.parent is not None
    assert match.parent.span_id == mine.get_span_context().span_id
    assert match.attributes is not None
    assert (match.attributes["flagfall.match"], match.attributes["flagfall.turns"]) == ("m", 20)
    turns = kept.spans("flagfall.turn")
    assert len(turns) == 20
    ends = [turn.end_time for turn in turns]
    assert all(
        end is not None and turn.start_time is not None and end <= turn.start_time
        for end, turn in zip(ends, turns[1:], strict=False)
    ), "on the virtual clock turns follow each other in real time"


def test_turns_of_several_seats_begin_together() -> None:
    kept = Kept()
    sink = kept.sink()
    sink(events.MatchStarted(0, **STARTED))
    sink(events.TaskStarted(0, "t", 0, 1))
    for turn in range(3):
        for seat in range(2):
            sink(events.TurnPlayed(turn, turn, 0, 0, 1, seat=seat))
    by_turn: dict[Any, set[Any]] = {}
    for span in kept.spans("turn"):
        assert span.attributes is not None
        by_turn.setdefault(span.attributes["flagfall.turn"], set()).add(span.start_time)
    assert [len(starts) for starts in by_turn.values()] == [1, 1, 1]


def test_any_value_of_a_task_or_an_agent_can_be_sent() -> None:
    kept = Kept()
    sink = kept.sink()
    sink(
        events.MatchStarted(
            0, **{**STARTED, "agents": ["\ud83d" * 999, "\x1b[31m"], "scheduler": "x" * 10**6}
        )
    )
    sink(events.TaskStarted(0, "\udcff\n" * 500, 0, 2**70))
    sink(
        events.TurnPlayed(
            5, 0, object(), {"white": MAX_WHOLE, "black": MAX_WHOLE}, 1, 5, 9, "illegal", refused="\0" * 999
        )
    )
    sink(events.SeatDisqualified(6, 1, "crashed", "\ud83d" * 10**5))
    sink(events.TaskEnded(7, "t", 0, None, float("nan"), 1))
    sink(events.MatchEnded(8, "void", 1, detail="\x1b" * 10**5))
    encode_spans(kept.spans()).SerializeToString()
    for span in kept.spans():
        for values in (span.attributes or {}, *(event.attributes or {} for event in span.events)):
            texts = [
                text for value in values.values() for text in (value if isinstance(value, tuple) else [value])
            ]
            assert all(
                len(text) <= MAX_CHARS + 5 and text.isprintable() for text in texts if isinstance(text, str)
            )


def test_spans_of_a_match_without_an_end_are_ended_once() -> None:
    kept = Kept()
    sink = kept.sink()
    sink(events.MatchStarted(0, **STARTED))
    sink(events.TaskStarted(0, "t", 0, 1))
    sink.abandon()
    sink.abandon()
    assert [(span.name, span.status.description) for span in kept.spans()] == [
        ("flagfall.task", "cancelled"),
        ("flagfall.match", "cancelled"),
    ]


def test_a_plain_turn_calls_nothing_of_a_sink_without_turns(lab: Any) -> None:
    def calls(turns: int, *sinks: Any) -> int:
        count = 0

        def seen(frame: Any, what: str, _argument: Any) -> None:
            nonlocal count
            count += what == "call" and frame.f_globals["__name__"].startswith(OURS)

        sys.setprofile(seen)
        try:
            lab.run(None, lab.Tasks(lab.Echo(turns)), lab.Guesser, sinks=sinks)
        finally:
            sys.setprofile(None)
        return count

    sink = Kept().sink(turns=False)
    calls(1, sink)  # imports
    assert calls(200, sink) == calls(100, sink)
    assert calls(200, Kept().sink()) > calls(100, Kept().sink()) + 100
