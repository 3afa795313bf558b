"""The state of standard output, as after a full disk: `console.say` records an error, `main` reports it at the end."""

from __future__ import annotations

unwritten: list[OSError] = []
"""The first write error; nothing is written after it."""
