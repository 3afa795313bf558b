"""Spans and metrics of turns for a collector of the person's own (OBS-02).

What a collector is told of turns: a turn's events as spans (`spans.py`, pure), sent by OpenTelemetry (`exporter.py`),
to whom the configuration says (`live.py`). Absent: contents.
"""
