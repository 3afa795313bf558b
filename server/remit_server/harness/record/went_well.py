"""Whether a call that has ended did what it was for."""

from __future__ import annotations

from remit_governance.intents import ALIASES
from remit_server.contract import ErrorCode, ToolResultEvent

RUNS_PROGRAMS = frozenset({"run_command", "run_tests"})
"""Tools whose result has the program's exit code, unless it was stopped."""
STOPPED = frozenset({ErrorCode.TIMED_OUT, ErrorCode.STOPPED})
"""The codes of calls whose program ran, and was stopped at a limit."""


def ran_program(event: ToolResultEvent) -> bool:
    """Whether the call ran a program, to its end or to a limit."""
    ran = event.error is None or event.error.code in STOPPED
    return ran and ALIASES.get(event.tool, event.tool) in RUNS_PROGRAMS


def went_well(event: ToolResultEvent) -> bool:
    """Whether a call did what it was for: a program that it ran has ended, and not with an error."""
    failed = event.data.get("passed") is False  # tests of which none ran, or whose report says otherwise
    return event.ok and not failed and not event.exit_code
