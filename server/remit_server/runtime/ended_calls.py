"""How a call that has ended is told to a person, whatever the transport: whether it went well, and how long it took."""

from __future__ import annotations

from remit_governance.intents import ALIASES
from remit_server.contract import ToolResultEvent

RUNS_PROGRAMS = frozenset({"run_command", "run_tests"})
"""Tools whose result has the program's exit code; one without was stopped at a limit."""

CUT = "the output was too long to keep; to get all of it, let the command write to a file (`… > FILE`)"


def ran_program(event: ToolResultEvent) -> bool:
    """Whether the call ran a program to its end or to a limit."""
    return event.ok and ALIASES.get(event.tool, event.tool) in RUNS_PROGRAMS


def went_well(event: ToolResultEvent) -> bool:
    """Whether a call did what it was for: a program that it ran has ended, and not with an error."""
    failed = event.data.get("passed") is False  # tests of which none ran, or whose report says otherwise
    return event.ok and not failed and (event.exit_code == 0 if ran_program(event) else not event.exit_code)


def duration(milliseconds: float) -> str:
    """A time as people say it: `85 ms`, `3.2 s`, `2 min 5 s`."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes} min {seconds} s"


def remarks(event: ToolResultEvent) -> tuple[str, ...]:
    """What is to be said of a command besides what it printed: its changes, its network, and that not all is kept."""
    notes = event.data.get("notes")
    told = tuple(str(note) for note in notes) if isinstance(notes, list) else ()
    return (*told, CUT) if event.data.get("truncated") is True and ran_program(event) else told
