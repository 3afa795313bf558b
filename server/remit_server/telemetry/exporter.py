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
"""The attributes that become labels of metrics: only those with few different values."""

_SECONDS: Final = [0.01 * 2**n for n in range(16)]
_COUNTS: Final = [4**n for n in range(11)]
"""The bucket boundaries of the histograms of tokens."""

_KINDS: Final = {MODEL: SpanKind.CLIENT}


class Complaints(logging.Handler):
    """Logs the library's first complaint as a warning and all later ones as debug messages, because they repeat."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(logging.WARNING)
        self._endpoint, self._said = endpoint, False

    def emit(self, record: logging.LogRecord) -> None:
        """Logs one complaint."""
        level = logging.DEBUG if self._said else logging.WARNING
        self._said = True
        log.log(level, "turns could not be sent to the collector at %s: %s", self._endpoint, record.getMessage())


class Meters:
    """The metrics, which are computed from the spans."""

    def __init__(self, meter: Meter) -> None:
        self._durations = {
            kind: meter.create_histogram(name, unit="s", explicit_bucket_boundaries_advisory=_SECONDS)
            for kind, name in _DURATIONS.items()
        }
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", explicit_bucket_boundaries_advisory=_COUNTS
        )

    def count(self, span: Span) -> None:
        """Counts a span that has ended."""
        labels = {name: value for name, value in span.attributes.items() if name in _LABELS}
        self._durations[span.operation].record((span.end - span.start).total_seconds(), labels)
        if span.operation == MODEL:
            for kind in ("input", "output"):
                count = span.attributes.get(f"gen_ai.usage.{kind}_tokens", 0)
                self._tokens.record(cast("int", count), {**labels, "gen_ai.token.type": kind})


@dataclass(slots=True)
class Exporter:
    """Sends to one collector. It never makes a turn fail or wait."""

    _traces: TracerProvider
    _metrics: MeterProvider
    _meters: Meters

    def begin_turn(self, session_id: str, turn_id: str) -> Callable[[Event], None]:
        """Returns a function that takes the events of one turn."""
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
        """Sends the remaining data, for at most `EXPORT_S` seconds."""
        ends = [threading.Thread(target=each.shutdown, daemon=True) for each in (self._traces, self._metrics)]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join(EXPORT_S)


def open_exporter(endpoint: str) -> Exporter:
    """Returns an exporter to the collector at `endpoint`, an `http(s)` URL without the path of a signal (`/v1/…`).

    Headers, certificates and attributes of the resource come from the environment's `OTEL_*` variables.
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
