"""What standard output could not take, as on a full disk: `console.say` notes it, `main` tells it at the end."""

from __future__ import annotations

unwritten: list[OSError] = []
"""The first error of writing there; nothing is written from then on."""
