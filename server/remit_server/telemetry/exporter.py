"""Sends spans and metrics to a collector by OTLP over HTTP (OBS-02)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

from remit_server import __version__
from remit_server.contract import AgentEvent, Event
from remit_server.telemetry.spans import APPROVAL, MODEL, TOOL, TURN, Span, TurnSpans

log = logging.getLogger(__name__)

EXPORT_S: Final = 2
"""The longest wait for a collector at the end of the process."""

_DURATIONS: Final = {
    TURN: "remit.turn.duration",
    MODEL: "gen_ai.client.operation.duration",
    TOOL: "remit.tool.duration",
    APPROVAL: "remit.approval.duration",
}
_LABELS: Final = frozenset(
    {
        "error.type",
        "gen_ai.operation.name",
        "gen_ai.request.model",
        "gen_ai.tool.name",
        "remit.approval.by",
        "remit.approval.decision",
        "remit.intent",
        "remit.risk",
        "remit.status",
        "remit.verdict",
    }
)
"""The attributes that metrics have: those with few values."""

_SECONDS: Final = [0.01 * 2**n for n in range(16)]
_COUNTS: Final = [4**n for n in range(11)]
"""Where the buckets of histograms end."""

_KINDS: Final = {MODEL: SpanKind.CLIENT}


class Complaints(logging.Handler):
    """Says once what the library complains of again and again; the log file may have the rest."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(logging.WARNING)
        self._endpoint, self._said = endpoint, False

    def emit(self, record: logging.LogRecord) -> None:
        """Takes one complaint."""
        level = logging.DEBUG if self._said else logging.WARNING
        self._said = True
        log.log(level, "turns could not be sent to the collector at %s: %s", self._endpoint, record.getMessage())


class Meters:
    """The metrics, each counted from the spans."""

    def __init__(self, meter: Meter) -> None:
        self._durations = {
            kind: meter.create_histogram(name, unit="s", explicit_bucket_boundaries_advisory=_SECONDS)
            for kind, name in _DURATIONS.items()
        }
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", explicit_bucket_boundaries_advisory=_COUNTS
        )

    def count(self, span: Span) -> None:
        """Counts what has ended."""
        labels = {name: value for name, value in span.attributes.items() if name in _LABELS}
        self._durations[span.operation].record((span.end - span.start).total_seconds(), labels)
        if span.operation == MODEL:
            for kind in ("input", "output"):
                count = span.attributes.get(f"gen_ai.usage.{kind}_tokens", 0)
                self._tokens.record(cast("int", count), {**labels, "gen_ai.token.type": kind})


@dataclass(slots=True)
class Exporter:
    """What sends to one collector. Nothing that it does fails a turn or waits in one."""

    _traces: TracerProvider
    _metrics: MeterProvider
    _meters: Meters

    def begin_turn(self, session_id: str, turn_id: str) -> Callable[[Event], None]:
        """Returns what takes the events of one turn."""
        tracer = self._traces.get_tracer("remit", __version__)
        spans = TurnSpans(session_id, turn_id)
        root: trace.Span | None = None

        def take(event: Event) -> None:
            nonlocal root
            span = spans.take(cast("AgentEvent", event))
            if root is None:
                root = tracer.start_span(TURN, start_time=_nanoseconds(datetime.fromisoformat(event.time)))
            if span is None:
                return
            self._meters.count(span)
            if span.operation == TURN:
                _finish(root, span)
                return
            context = trace.set_span_in_context(root)
            kind = _KINDS.get(span.operation, SpanKind.INTERNAL)
            _finish(tracer.start_span(span.name, context, kind, start_time=_nanoseconds(span.start)), span)

        return take

    def close(self) -> None:
        """Sends what is left, for `EXPORT_S` seconds at most."""
        ends = [threading.Thread(target=each.shutdown, daemon=True) for each in (self._traces, self._metrics)]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join(EXPORT_S)


def open_exporter(endpoint: str) -> Exporter:
    """Returns what sends to the collector at `endpoint`, an `http(s)` URL without the path of a signal.

    Headers, certificates and the resource's attributes are what the environment's `OTEL_*` variables say.
    """
    base = endpoint.rstrip("/")
    library = logging.getLogger("opentelemetry")
    library.handlers, library.propagate = [Complaints(base)], False
    resource = Resource.create({"service.name": "remit", "service.version": __version__})
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", timeout=EXPORT_S)))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics", timeout=EXPORT_S))
    metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
    return Exporter(traces, metrics, Meters(metrics.get_meter("remit", __version__)))


def _finish(made: trace.Span, span: Span) -> None:
    made.update_name(span.name)
    made.set_attributes(dict(span.attributes))
    if span.error is not None:
        made.set_status(Status(StatusCode.ERROR, span.error))
    made.end(_nanoseconds(span.end))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000_000)
