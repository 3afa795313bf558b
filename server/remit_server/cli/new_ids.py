"""Ids of sessions and turns that begin in the terminal."""

from __future__ import annotations

import uuid


def new_session() -> str:
    """Returns a new session id."""
    return f"cli-{uuid.uuid4().hex[:8]}"


def new_turn() -> str:
    """Returns a new turn id, which no other turn of its session has."""
    return uuid.uuid4().hex[:12]
