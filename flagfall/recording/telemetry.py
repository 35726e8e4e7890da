"""Sink that sends a match to OpenTelemetry as spans and metrics; it needs the extra `telemetry`.

It uses the API of OpenTelemetry alone, so a program's own providers are respected. Commands have providers
that send to a collector (`flagfall.recording.otlp`).

Rule 1: times of spans are wall times of the process that played, also on the virtual clock; times of the
    match are attributes in milliseconds.
Rule 2: texts of agents and tasks are data: they become attributes of bounded length, on one line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from flagfall.errors import UsageError
from flagfall.events import (
    ON_TIME,
    Event,
    MatchEnded,
    MatchStarted,
    SeatDisqualified,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    TurnsPlayed,
    total_reward,
)
from flagfall.kernel.safe_values import safe_repr
from flagfall.texts import one_line
from flagfall.timing import Budget, TimeControl
from flagfall.timing.durations import MS, NEVER_NS

try:
    from opentelemetry import metrics, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, StatusCode
except ImportError:
    raise UsageError("telemetry needs the extra telemetry: pip install 'flagfall[telemetry]'") from None

MAX_CHARS: Final = 200
"""Longest text of an attribute."""

MAX_AGENTS: Final = 64
"""Most names of agents in the attribute of a match."""

_MAX_INT: Final = 2**63 - 1


class Instruments:
    """The metrics of one provider."""

    def __init__(self, provider: metrics.MeterProvider | None) -> None:
        meter = metrics.get_meter("flagfall", version("flagfall"), provider)
        self.late = meter.create_counter(
            "flagfall.replies.late", "{turn}", "Turns that another action was played for"
        )
        self.disqualified = meter.create_counter("flagfall.disqualified", "{seat}", "Disqualified seats")
        self.stalls = meter.create_counter("flagfall.stalls", "{stall}", "Stalls of the event loop")
        self.turns = meter.create_histogram("flagfall.turn.duration", "s", "Time charged for a turn")
        self.matches = meter.create_counter(
            "flagfall.matches", "{match}", "Attempts at matches that are over"
        )
        self.queue = meter.create_gauge("flagfall.queue", "{match}", "Matches of the runner, by state")


instruments_of: Final = cache(Instruments)
"""Each provider makes its instruments once."""


class TelemetrySink:
    """A sink (`flagfall.kernel.dispatcher.Sink`) that sends a match to OpenTelemetry as spans and metrics.

    The span `flagfall.match`, a child of the current span, has a child `flagfall.task` for each task, and
    that one a child `flagfall.turn` for each turn of a seat, if they are asked for. Late, illegal and dropped
    replies, disqualified seats and stalls are events of the span that is open. Metrics:
    `flagfall.replies.late`, `flagfall.disqualified`, `flagfall.stalls`, and with the turns
    `flagfall.turn.duration`.

    Without the turns, plain turns cost what they cost beside a journal alone.

    Args:
        match: the name of the match, an attribute of its span.
        attempt: the number of the attempt at the match, from 1; `None`: it is left out.
        turns: send a span for each turn of each seat.
        tracer_provider: where spans go; by default the one of the program.
        meter_provider: where metrics go; by default the one of the program.
    """

    def __init__(
        self,
        match: str = "",
        *,
        attempt: int | None = None,
        turns: bool = False,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer("flagfall", version("flagfall"), tracer_provider)
        self._instruments = instruments_of(meter_provider)
        self._named = {"match": match or None, "attempt": attempt}
        self._turns = turns
        self._header: MatchStarted | None = None
        self._budgets: list[Budget] = []
        self._spans: list[Span] = []  # the match, and the task in it
        self._began_ns = self._origin_ns = 0
        self._turn, self._turn_began_ns, self._turn_ended_ns = -1, 0, 0
        if not turns:  # makes it a `BatchSink`: no event is made for a plain turn
            self.write_batch: Callable[[TurnsPlayed], None] = _ignore
            self.set_flush: Callable[[Callable[[], None]], None] = _ignore

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""
        match event:
            case TurnPlayed():
                self._take_turn(event)
            case MatchStarted():
                self._begin_match(event)
            case TaskStarted():
                self._begin("flagfall.task", task=event.task, index=event.index, seed=event.seed)
            case TaskEnded():
                self._end(
                    result=event.result,
                    reward=total_reward(event.reward),
                    steps=event.steps,
                    ended=event.ended,
                )
            case MatchEnded():
                while len(self._spans) > 1:
                    self._end(error="the match ended")
                error = f"void: {event.detail}" if event.reason == "void" else ""
                self._end(error, reason=event.reason, turns=event.turns, at_ms=event.at_ns / MS)
            case _:
                self._take_other(event)

    def abandon(self) -> None:
        """End the spans of a match that was cancelled before its end."""
        while self._spans:
            self._end(error="cancelled")

    def _begin_match(self, event: MatchStarted) -> None:
        self._header = event
        self._origin_ns = time.time_ns() - event.at_ns
        if self._turns and event.time_control:
            control = TimeControl.parse(event.time_control)
            self._budgets = [Budget(control) for _ in event.agents]
        self._begin(
            "flagfall.match",
            **self._named,
            agents=event.agents[:MAX_AGENTS],
            seed=event.seed,
            scheduler=event.scheduler,
            time_control=event.time_control,
            clock=event.clock,
        )

    def _begin(self, name: str, **fields: Any) -> None:
        self._began_ns = self._turn_ended_ns = time.time_ns()
        span = self._tracer.start_span(
            name, self._context(), attributes=attributes(fields), start_time=self._began_ns
        )
        self._spans.append(span)

    def _context(self) -> Context | None:
        return trace.set_span_in_context(self._spans[-1]) if self._spans else None

    def _end(self, error: str = "", **fields: Any) -> None:
        if self._spans:
            span = self._spans.pop()
            span.set_attributes(attributes(fields))
            if error:
                span.set_status(StatusCode.ERROR, one_line(error, MAX_CHARS))
            span.end()

    def _agent(self, seat: int, turn: int = NEVER_NS) -> dict[str, Any]:
        agents = () if self._header is None else self._header.settings_at(turn).agents
        return {"seat": seat, "agent": agents[seat] if 0 <= seat < len(agents) else None}

    def _take_turn(self, event: TurnPlayed) -> None:
        if event.verdict == "absent" or (event.verdict == ON_TIME and not self._turns):
            return
        named = self._agent(event.seat, event.turn)
        judged = {"turn": event.turn, "verdict": event.verdict, "spent_ms": event.spent_ns / MS}
        if event.verdict not in {ON_TIME, "disqualified"}:
            counted = attributes({"agent": named["agent"], "verdict": event.verdict})
            self._instruments.late.add(1, counted)
            self._add_event(f"reply {event.verdict}", named | judged | {"refused": event.refused})
        if self._turns:
            self._add_turn(event, named, judged)

    def _add_turn(self, event: TurnPlayed, named: dict[str, Any], judged: dict[str, Any]) -> None:
        self._instruments.turns.record(event.spent_ns / 1e9, attributes({"agent": named["agent"]}))
        now_ns = time.time_ns()
        if self._header is not None and self._header.clock == "wall":
            ended_ns = max(self._began_ns, min(now_ns, self._origin_ns + event.at_ns))
            began_ns = max(self._began_ns, ended_ns - event.spent_ns - event.credit_ns)
        else:
            if event.turn != self._turn:  # the first of its seats
                self._turn, self._turn_began_ns = event.turn, self._turn_ended_ns
            began_ns, ended_ns = self._turn_began_ns, now_ns
            self._turn_ended_ns = now_ns
        limit_ns = None
        if event.seat < len(self._budgets):
            limit_ns = self._budgets[event.seat].limit("act")
            self._budgets[event.seat].charge("act", event.spent_ns)
        fields = named | judged | {
            "at_ms": event.at_ns / MS,
            "limit_ms": None if limit_ns is None or limit_ns >= NEVER_NS else limit_ns / MS,
            "credit_ms": event.credit_ns / MS or None,
            "reward": total_reward(event.reward),
        }  # fmt: skip
        span = self._tracer.start_span(
            "flagfall.turn", self._context(), attributes=attributes(fields), start_time=began_ns
        )
        if event.verdict != ON_TIME:
            span.set_status(StatusCode.ERROR, event.verdict)
        span.end(ended_ns)

    def _take_other(self, event: Event) -> None:
        fields = event.facts()
        for name in [name for name in fields if name.endswith("_ns") and fields[name] is not None]:
            fields[name.removesuffix("ns") + "ms"] = fields.pop(name) / MS
        seat = fields.get("seat")
        named = {} if seat is None else self._agent(seat)
        if isinstance(event, SeatDisqualified):
            counted = attributes({"agent": named.get("agent"), "reason": event.reason})
            self._instruments.disqualified.add(1, counted)
        elif isinstance(event, StallSeen):
            self._instruments.stalls.add(1)
        self._add_event(event.title, fields | named | {"at_ms": event.at_ns / MS})

    def _add_event(self, title: str, fields: Mapping[str, Any]) -> None:
        if self._spans:
            self._spans[-1].add_event(title, attributes(fields))


def _ignore(_what: object) -> None:
    """Do nothing."""


def attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not `None` as attributes of spans: `flagfall.NAME`, with bounded values."""
    return {f"flagfall.{name}": _value(value) for name, value in fields.items() if value is not None}


def _value(value: Any) -> Any:
    if isinstance(value, bool | float) or (isinstance(value, int) and -_MAX_INT <= value <= _MAX_INT):
        return value
    if isinstance(value, str):
        return one_line(value, MAX_CHARS)
    if isinstance(value, Sequence) and all(isinstance(item, str) for item in value):
        return [one_line(item, MAX_CHARS) for item in value]
    return one_line(safe_repr(value), MAX_CHARS)
