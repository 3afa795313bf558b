"""The output and exit codes of a turn's programs at the end of a message, for clients that draw no events."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.secrets.redaction import truncate
from remit_governance.visible import visible, visible_again
from remit_server.contract import Event, ToolCallEvent, ToolOutput, ToolResultEvent
from remit_server.harness.record.went_well import ran_program, went_well
from remit_server.runtime.ended_calls import duration, remarks

logger = logging.getLogger(__name__)

MAX_SHOWN = 4_000
"""The most characters of a program's output in a message."""
MAX_NAME = 100
FILE = "last-output.txt"


@dataclass(slots=True)
class ProgramRun:
    """One call that prints: its request, its output, and the line that says how it ended."""

    name: str
    printed: list[str] = field(default_factory=list[str])
    ended: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The output so far."""
        return "\n".join(self.printed)


@dataclass(slots=True)
class ProgramRuns:
    """Collects a turn's events; `failed` after a program ended with an error."""

    runs: dict[str, ProgramRun] = field(default_factory=dict[str, ProgramRun])
    failed: bool = False

    def take(self, event: Event) -> None:
        """Records an event of a program."""
        match event:
            case ToolCallEvent(tool_call_id=call, tool=tool, arguments=arguments):
                command = arguments.get("command")
                name = visible(command if isinstance(command, str) else tool).replace("\n", "↵")
                self.runs[call] = ProgramRun(name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…")
            case ToolOutput(tool_call_id=call, text=text) if call in self.runs:
                self.runs[call].printed.append(visible(text))
            case ToolResultEvent(tool_call_id=call) if call in self.runs and ran_program(event):
                run = self.runs[call]
                took = f" after {duration(event.duration_ms)}" if event.ok else ""
                run.ended = f"{visible_again(event.summary)}{took}"
                run.remarks = remarks(event)
                self.failed = self.failed or not went_well(event)
            case _:
                pass

    def report(self, state: Path | None) -> str:
        """Returns the programs in order; empty where none ran. Long output is complete in a file in `state`."""
        ended = [run for run in self.runs.values() if run.ended is not None]
        cut = any(len(run.text) > MAX_SHOWN for run in ended)
        kept = _keep("\n".join("\n".join(_lines(run, run.text)) for run in ended), state) if cut else None
        lines = [line for run in ended for line in _lines(run, truncate(run.text, MAX_SHOWN, "middle"))]
        return "\n".join([*lines, *([f"All of it: {kept}"] if kept else [])])


def _lines(run: ProgramRun, text: str) -> Iterator[str]:
    yield f"$ {run.name}"
    if text:
        yield text
    yield f"({run.ended})"
    yield from (visible_again(remark) for remark in run.remarks)


def _keep(text: str, state: Path | None) -> Path | None:
    """Writes the file with the last long output, readable by this user only. Returns None where that fails."""
    if state is None:
        return None
    path = state / FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
    except OSError as error:
        logger.warning("a command's output could not be saved: %s", error.strerror)
        return None
    return path
