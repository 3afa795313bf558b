"""Turns: what a session holds between them, how one is run, followed and taken up, and how it ended (AGT-06)."""
