"""Sends spans and metrics of turns to a collector of the person's own (OBS-02).

`spans.py` (pure) makes spans of a turn's events, `exporter.py` sends them by OpenTelemetry, `live.py` chooses the
collector by the configuration. Absent: contents.
"""
