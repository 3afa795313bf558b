"""Whether a call that has ended did what it was for."""

from __future__ import annotations

from remit_server.contract import ErrorCode, ToolResultEvent

STOPPED = frozenset({ErrorCode.TIMED_OUT, ErrorCode.STOPPED})
"""The codes of calls whose program ran, and was stopped at a limit."""


def ran_program(event: ToolResultEvent) -> bool:
    """Returns whether the call ran a program, to its end or to a limit."""
    return event.exit_code is not None or (event.error is not None and event.error.code in STOPPED)


def went_well(event: ToolResultEvent) -> bool:
    """Returns whether a call did what it was for: a program that it ran has ended, and not with an error."""
    failed = event.data.get("passed") is False  # tests of which none ran, or whose report says otherwise
    return event.ok and not failed and not event.exit_code
