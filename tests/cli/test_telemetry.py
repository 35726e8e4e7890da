"""Telemetry of commands, received by a collector over a real socket, which may also fail."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.cli.conftest import FLAGFALL, PATIENCE_SECONDS, Start, ended, until
from tests.command_line import Ended

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

PLAN = """
format = "benchmark"
jobs = 2
time_control = "act=30ms/1s"

[[agents]]
spec = "random"

[[agents]]
spec = "odd.py:Late"
name = "late"

[[agents]]
spec = "odd.py:Crash"
name = "crash"

[[tasks]]
task = "micro1"
steps = 6
"""

ODD = '''
import time

class Late:
    """Is late in the third turn."""
    turns = 0

    def reply(self, byte, reward):
        self.turns += 1
        if self.turns == 3:
            time.sleep(0.1)
        return 32

class Crash:
    turns = 0

    def reply(self, byte, reward):
        self.turns += 1
        if self.turns == 3:
            raise ValueError("no\\x1b[31m idea " + "x" * 5000)
        return 32
'''


def value_of(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, str(kind))


def fields(attributes: Any) -> dict[str, Any]:
    """Return attributes by name, without the prefix of flagfall."""
    pairs: list[KeyValue] = list(attributes)
    return {pair.key.removeprefix("flagfall."): value_of(pair.value) for pair in pairs}


@attrs.define
class Collector:
    """A collector at a port of this machine: keeps what it gets, or holds requests until it is closed."""

    port: int
    holding: bool = False
    spans: list[Span] = attrs.field(factory=list)
    resources: list[dict[str, Any]] = attrs.field(factory=list)
    numbers: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    closed: threading.Event = attrs.field(factory=threading.Event)

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(fields(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += scope.spans
            return
        assert path == "/v1/metrics"
        for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in metrics.scope_metrics[0].metrics:
                for point in metric.sum.data_points:
                    named = fields(point.attributes)
                    self.numbers[metric.name, " ".join(named.values())] += point.as_int
                for counts in metric.histogram.data_points:
                    self.numbers[metric.name, fields(counts.attributes)["agent"]] += counts.count
                for point in metric.gauge.data_points:
                    self.numbers[metric.name, fields(point.attributes)["state"]] = point.as_int

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


@pytest.fixture
def collector(port: int) -> Iterator[Collector]:
    kept = Collector(port)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if kept.holding:
                kept.closed.wait(PATIENCE_SECONDS)
                return
            kept.take(self.path, body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_what: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield kept
    kept.closed.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _plan(folder: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path.cwd() == folder
    Path("plan.toml").write_text(PLAN)
    Path("odd.py").write_text(ODD)
    for name in [name for name in os.environ if name.startswith(("OTEL_", "TRACE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")


def program(line: str, **variables: str) -> Ended:
    done = subprocess.run(
        [*FLAGFALL, *line.split()],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        env={**os.environ, **variables},
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def assert_nested(collector: Collector) -> None:
    """Check that the spans are one tree, and that each lies within its parent."""
    spans = {span.span_id: span for span in collector.spans}
    assert len({span.trace_id for span in collector.spans}) == 1
    parents = {
        "flagfall.match": {"flagfall.tournament", "flagfall.run"},
        "flagfall.task": {"flagfall.match"},
        "flagfall.turn": {"flagfall.task"},
    }
    for span in collector.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.name in parents:
            parent = spans[span.parent_span_id]
            assert parent.name in parents[span.name]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano


def test_a_tournament_is_one_tree_of_spans(collector: Collector) -> None:
    ran = program(
        "tournament plan.toml -o out -q --telemetry turns",
        TRACEPARENT=f"00-{TRACE}-{PARENT}-01",
        OTEL_SERVICE_NAME="arena",
    )
    assert ran.code == 0
    assert "telemetry" not in ran.err
    assert_nested(collector)
    (root,) = collector.named("flagfall.tournament")
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (TRACE, PARENT)
    told = Counter(event.name for event in root.events)
    assert (told["run started"], told["worker started"], told["run ended"]) == (1, 2, 1)
    names = Counter(span.name for span in collector.spans)
    assert names["flagfall.match"] == names["flagfall.task"] >= 3
    matches = {tuple(fields(span.attributes)["agents"]): span for span in collector.named("flagfall.match")}
    assert set(matches) == {("random",), ("late",), ("crash",)}
    assert all(fields(span.attributes)["attempt"] >= 1 for span in matches.values())
    turns = [
        fields(span.attributes) | {"status": span.status.code} for span in collector.named("flagfall.turn")
    ]
    third = next(turn for turn in turns if turn["agent"] == "late" and turn["verdict"] != "on time")
    assert (third["verdict"], third["status"]) == ("late", Status.STATUS_CODE_ERROR)
    assert third["spent_ms"] >= third["limit_ms"] == 30
    assert all(
        (turn["status"] == Status.STATUS_CODE_ERROR) == (turn["verdict"] != "on time") for turn in turns
    )
    crashed = [fields(event.attributes) for span in collector.spans for event in span.events
               if event.name == "seat disqualified"]  # fmt: skip
    assert [(seat["agent"], seat["reason"]) for seat in crashed][:1] == [("crash", "crashed")]
    assert len(crashed[0]["detail"]) < 300
    assert crashed[0]["detail"].isprintable()
    assert {resource["service.name"] for resource in collector.resources} == {"arena"}
    assert len({resource["service.instance.id"] for resource in collector.resources}) == 3


def test_metrics_count_what_the_spans_show(collector: Collector) -> None:
    assert program("tournament plan.toml -o out -q --telemetry turns").code == 0
    turns = [fields(span.attributes) for span in collector.named("flagfall.turn")]
    late = Counter(turn["agent"] for turn in turns if turn["verdict"] == "late")
    numbers = collector.numbers
    assert numbers["flagfall.replies.late", "late late"] == late["late"] >= 1
    assert numbers["flagfall.disqualified", "crash crashed"] >= 1
    assert numbers["flagfall.matches", "played"] == 3
    assert numbers["flagfall.queue", "running"] == numbers["flagfall.queue", "waiting"] == 0
    assert numbers["flagfall.turn.duration", "late"] == sum(turn["agent"] == "late" for turn in turns)
    stalled = sum(event.name == "stall" for span in collector.spans for event in span.events)
    assert sum(count for (name, _), count in numbers.items() if name == "flagfall.stalls") == stalled


def test_turns_have_spans_only_where_they_are_asked_for(collector: Collector) -> None:
    line = "run -t micro1 -a odd.py:Late --time-control act=30ms --steps 6 -q --telemetry matches"
    assert program(line).code == 0
    assert_nested(collector)
    assert {span.name for span in collector.spans} == {"flagfall.run", "flagfall.match", "flagfall.task"}
    replies = [fields(event.attributes) for span in collector.spans for event in span.events]
    assert (2, "Late", "late") in {
        (reply.get("turn"), reply.get("agent"), reply.get("verdict")) for reply in replies
    }


def test_the_variables_of_the_sdk_hold(collector: Collector) -> None:
    ran = program("run -t micro1 -a random --steps 6 -q --telemetry turns", OTEL_TRACES_SAMPLER="always_off")
    assert (ran.code, ran.err, collector.spans) == (0, "", [])
    ran = program("run -t micro1 -a random --steps 6 -q --telemetry turns", OTEL_SDK_DISABLED="true")
    assert (ran.code, ran.err, collector.spans) == (0, "", [])


def test_no_collector_costs_no_match_anything_but_a_line() -> None:
    line = "run -t micro1 -a random --steps 300 -q --clock virtual -s 7 -o"
    assert program(f"{line} plain.jsonl").code == 0
    ran = program(f"{line} sent.jsonl --telemetry turns")
    assert ran.code == 0
    assert re.fullmatch(r"flagfall: telemetry is incomplete: (30\d) of \1 spans were not sent: .*\n", ran.err)
    assert Path("sent.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_a_collector_that_never_answers_delays_the_end_alone(collector: Collector) -> None:
    collector.holding = True
    ran = program("tournament plan.toml -o out -q --telemetry matches")
    assert ran.code == 0
    assert re.search(r"telemetry is incomplete: (\d+) of \1 spans were not sent", ran.err)


def test_spans_that_find_no_room_are_counted(collector: Collector) -> None:
    collector.holding = True
    ran = program(
        "run -t micro1 -a random --steps 500 -q --clock virtual --telemetry turns",
        OTEL_BSP_MAX_QUEUE_SIZE="20",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE="10",
    )
    assert ran.code == 0
    assert re.search(r"incomplete: (50\d) of \1 spans were not sent: Queue full", ran.err)


@pytest.mark.parametrize("signal", [2, 15])
def test_spans_of_a_cancelled_match_end(
    signal: int, collector: Collector, start: Start, blocking: Path
) -> None:
    host = start("run -t micro1 -a block.py:Bot --host process --no-timeout -q --telemetry turns")
    until(blocking.exists)
    host.send_signal(signal)
    assert host.stderr is not None
    assert host.stderr.readline()
    host.send_signal(signal)
    ended(host)
    assert_nested(collector)
    (match,) = collector.named("flagfall.match")
    assert fields(match.attributes).get("reason") == "stopped" or match.status.message == "cancelled"


def test_a_variable_that_cannot_be_used_is_one_line() -> None:
    line = "run -t micro1 -a random --steps 6 -q --telemetry turns"
    ran = program(line, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="9999")
    assert ran.code == 2
    assert ran.err.startswith("flagfall: telemetry: a variable OTEL_* is invalid: ")
    assert ran.err.count("\n") == 1


def test_a_command_without_the_option_imports_and_sends_nothing(collector: Collector) -> None:
    code = (
        "import sys\nfrom flagfall.cli import main\n"
        "main('run -t micro1 -a random --steps 3 -q --log-level info'.split())\n"
        "assert not [name for name in sys.modules if 'opentelemetry' in name or 'telemetry' in name]"
    )
    subprocess.run([FLAGFALL[0], "-c", code], check=True, capture_output=True)
    assert not collector.resources
