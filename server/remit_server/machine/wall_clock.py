"""The time of day as events, records and traces carry it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Returns the time of the wall clock; it is a parameter wherever it matters, so that tests can set the time."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Returns a moment as events and audit records carry it: UTC, RFC 3339, milliseconds."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
