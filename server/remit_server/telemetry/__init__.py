"""Spans and metrics of turns for a collector of the person's own (OBS-02)."""
