"""Telemetry of a command, sent to a collector by OTLP over HTTP; it needs the extra `telemetry`.

Each process of a command has providers of its own, whose threads send: a match never waits for a collector.
Spans wait in a queue of bounded length (`OTEL_BSP_MAX_QUEUE_SIZE`). Those that find no room, and those that
the collector does not take in time, are lost and counted.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Final
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from flagfall.errors import UsageError
from flagfall.recording.operations import OPERATIONS, reported_to
from flagfall.recording.telemetry import TelemetrySink, attributes, instruments_of
from flagfall.texts import counted, one_line

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
except ImportError:
    raise UsageError("telemetry needs the extra telemetry: pip install 'flagfall[telemetry]'") from None

FLUSH_SECONDS: Final = 3.0
"""Longest wait for the collector at the end of a process; the runner leaves a worker five seconds."""

MAX_PROBLEM_CHARS: Final = 300
"""Longest text of the SDK in the line about spans that were not sent."""

_LOGGER: Final = logging.getLogger("opentelemetry")


class _Exporter(OTLPSpanExporter):
    """Exporter that counts the spans that the collector has taken."""

    sent = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
        return result


class _Processor(BatchSpanProcessor):
    """Processor that counts the spans that have ended."""

    ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self.ended += 1
        super().on_end(span)


class _Problems(logging.Handler):
    """Keeps the newest warning of the SDK, which would otherwise be printed in the middle of a table."""

    newest = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.newest = record.getMessage()


class Telemetry:
    """The telemetry of one process of a command; also a listener of operations.

    Args:
        root: the name of the span of the command; empty for none, in a worker.
        parent: the span elsewhere that spans of this process descend from (W3C's `traceparent`), or empty.
        turns: as for `TelemetrySink`.

    Raises:
        ValueError: the variables `OTEL_*` cannot be used.
    """

    def __init__(self, root: str, parent: str, *, turns: bool) -> None:
        self._turns = turns
        self._open: weakref.WeakSet[TelemetrySink] = weakref.WeakSet()
        own: dict[str, str | int] = {
            "service.name": "flagfall",
            "service.version": version("flagfall"),
            "service.instance.id": str(uuid4()),  # processes that send the same metrics are told apart by it
            "process.pid": os.getpid(),
        }
        resource = Resource.create().merge(Resource(own)).merge(OTELResourceDetector().detect())
        self._exporter = _Exporter()
        self._shut_down_exporter: Callable[[], None] = self._exporter.shutdown
        self._processor = _Processor(self._exporter)
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(self._processor)
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        context = TraceContextTextMapPropagator().extract({"traceparent": parent})
        self._root: Span | None = None
        if root:
            tracer = self._tracers.get_tracer("flagfall", version("flagfall"))
            self._root = tracer.start_span(root, context)
        self.span: Span = trace.get_current_span(context) if self._root is None else self._root

    @property
    def parent(self) -> str:
        """Return what spans of matches in other processes descend from (W3C's `traceparent`)."""
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(self.span))
        return carrier.get("traceparent", "")

    def counts(self) -> tuple[int, int]:
        """Return how many spans have ended, and how many of them were not sent."""
        return self._processor.ended, self._processor.ended - self._exporter.sent

    def sink(self, match: str, attempt: int | None) -> TelemetrySink:
        """Return the sink of one match."""
        sink = TelemetrySink(
            match,
            attempt=attempt,
            turns=self._turns,
            tracer_provider=self._tracers,
            meter_provider=self._meters,
        )
        self._open.add(sink)
        return sink

    def __call__(self, operation: str, fields: Mapping[str, Any]) -> None:
        """Take an operation: an event of the root span, unless it is for debugging, and metrics."""
        instruments = instruments_of(self._meters)
        for state in ("running", "waiting"):
            if state in fields:
                instruments.queue.set(fields[state], attributes({"state": state}))
        if operation == "match stored":
            instruments.matches.add(1, attributes({"status": fields["status"]}))
        level = OPERATIONS[operation]
        if self._root is not None and level != "debug":
            self._root.add_event(operation, attributes(fields))
            if level == "error":
                self._root.set_status(StatusCode.ERROR, operation)

    def close(self) -> None:
        """End the spans that are open, and send what is left, for at most `FLUSH_SECONDS`."""
        for sink in self._open:
            sink.abandon()
        if self._root is not None:
            self._root.end()
        shutdowns = [
            threading.Thread(target=provider.shutdown, daemon=True)
            for provider in (self._tracers, self._meters)
        ]
        for thread in shutdowns:
            thread.start()
        shutdowns[0].join(FLUSH_SECONDS)
        shutdowns[1].join(FLUSH_SECONDS / 3)
        if shutdowns[0].is_alive():
            self._shut_down_exporter()  # ends its attempts to send again


@contextmanager
def opened_telemetry(*, turns: bool, root: str, parent: str, counts_fd: int) -> Iterator[Telemetry]:
    """Send telemetry to a collector while the context lasts, as the variables `OTEL_*` say.

    Args:
        turns: as for `Telemetry`, like `root` and `parent`.
        counts_fd: at the end `Telemetry.counts` and the newest problem are appended to it, for `loss`.

    Raises:
        UsageError: the variables cannot be used.
    """
    problems = _Problems(logging.WARNING)
    _LOGGER.addHandler(problems)
    _LOGGER.propagate = False
    try:
        telemetry = Telemetry(root, parent, turns=turns)
    except ValueError as error:
        raise UsageError(one_line(f"telemetry: a variable OTEL_* is invalid: {error}")) from error
    try:
        with trace.use_span(telemetry.span, record_exception=False), reported_to(telemetry):
            yield telemetry
    finally:
        telemetry.close()
        told = [*telemetry.counts(), one_line(problems.newest, MAX_PROBLEM_CHARS)]
        os.write(counts_fd, json.dumps(told).encode() + b"\n")


def loss(counts_fd: int) -> str:
    """Return a line about the spans that were not sent, of all processes that count there; empty if none."""
    lines = os.pread(counts_fd, os.fstat(counts_fd).st_size, 0).splitlines()
    counts = [json.loads(line) for line in lines]
    lost = sum(count for _, count, _ in counts)
    if not lost:
        return ""
    problem = next((f": {text}" for _, count, text in counts if count and text), "")
    return f"{lost} of {counted(sum(ended for ended, _, _ in counts), 'span')} were not sent{problem}"
