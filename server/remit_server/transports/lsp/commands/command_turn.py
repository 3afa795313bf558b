"""One turn of a command, for editors that do not know Remit: work-done progress, questions by message, the result as a
message (LSP-05).
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_governance.secrets.cutting import shorten, truncate
from remit_governance.secrets.redaction import Redacted
from remit_governance.visible import visible, visible_again
from remit_server.contract import (
    CallInput,
    Event,
    InputPart,
    RunRequest,
    RunResult,
    TextInput,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
)
from remit_server.harness.ports import Asker, NobodyToAsk
from remit_server.runtime.turns.ended_calls import changed_files, duration, remarks
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.client_requests.approval_messages import EDITOR_CANNOT, MessageAsker
from remit_server.transports.lsp.client_requests.progress import choose_token, progress_line, work_done
from remit_server.transports.lsp.client_requests.review import follow_reviews
from remit_server.transports.lsp.commands.command_params import About
from remit_server.transports.lsp.connection.open_folders import runtime_of_turn
from remit_server.transports.lsp.rpc.custom_methods import Json, read_form

if TYPE_CHECKING:
    from remit_server.runtime.runtime import Runtime
    from remit_server.transports.lsp.connection.connection import Connection


logger = logging.getLogger(__name__)

MAX_SHOWN = 4_000
"""The most characters of a program's output in a message."""
MAX_NAME = 100
FILE = "last-output.txt"


@dataclass(slots=True)
class ProgramRun:
    """One call that may run a program: its name, its output, and a line that says how it ended."""

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
    """Collects a turn's programs from its events. `failed` is true once a program did not end well."""

    runs: dict[str, ProgramRun] = field(default_factory=dict[str, ProgramRun])
    failed: bool = False

    def take(self, event: Event) -> None:
        """Records an event of a call."""
        match event:
            case ToolCallEvent(tool_call_id=call, tool=tool, arguments=arguments):
                command = arguments.get("command")
                name = visible(command if isinstance(command, str) else tool).replace("\n", "↵")
                self.runs[call] = ProgramRun(shorten(name, MAX_NAME))
            case ToolOutput(tool_call_id=call, text=text) if call in self.runs:
                self.runs[call].printed.append(visible(text))
            case ToolResultEvent(tool_call_id=call) if call in self.runs and event.ran_program:
                run = self.runs[call]
                took = f" after {duration(event.duration_ms)}" if event.ok else ""
                run.ended = f"{visible_again(event.summary)}{took}"
                run.remarks = remarks(event)
                self.failed = self.failed or not event.went_well
            case _:
                pass

    def report(self, state: Path | None) -> str:
        """Returns the programs and their output in order, or "" if none ran. If output is cut, the whole report is in a
        file in `state`.
        """
        ended = [run for run in self.runs.values() if run.ended is not None]
        cut = any(len(run.text) > MAX_SHOWN for run in ended)
        kept = _keep("\n".join("\n".join(_lines(run, run.text)) for run in ended), state) if cut else None
        lines = [line for run in ended for line in _lines(run, truncate(Redacted(run.text), MAX_SHOWN, "middle"))]
        return "\n".join([*lines, *([f"All of it: {kept}"] if kept else [])])


def _lines(run: ProgramRun, text: str) -> Iterator[str]:
    yield f"$ {run.name}"
    if text:
        yield text
    yield f"({run.ended})"
    yield from (visible_again(remark) for remark in run.remarks)


def _keep(text: str, state: Path | None) -> Path | None:
    """Writes the last long output to a file that only this user can read. Returns None if that fails."""
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


@dataclass(slots=True)
class Ended:
    """How a command's turn ended, and the result of its last call, if there was one."""

    result: RunResult
    last: ToolResultEvent | None = None


async def run_turn(
    connection: Connection,
    params: lsp.ExecuteCommandParams,
    part: TextInput | CallInput | tuple[InputPart, ...],
    about: About,
    session: Json = None,
    *,
    model: str | None = None,
) -> Ended:
    """Runs one turn in the named session or else the connection's own, and shows how it ended. Raises RemitError."""
    asked = {
        "session_id": connection.session if session is None else session,
        "turn_id": str(uuid.uuid4()),
        "input": part,
        "model": model,
        "context": {"open_document": about.document, "workspace_folder": about.folder},
    }
    request = read_form(params.command, RunRequest, asked)
    programs, called = ProgramRuns(), list[ToolResultEvent]()
    opened: list[Runtime] = []
    mine = asyncio.current_task()

    def stop() -> None:
        if opened:
            opened[0].cancel(request.session_id, request.turn_id)
        elif mine is not None:
            mine.cancel()

    token = await choose_token(connection, params.work_done_token)
    async with work_done(connection, "Remit", token, stop) as report:
        folder, asker = connection.folders.named(about.folder), _choose_asker(connection)
        opened.append(await runtime_of_turn(connection, folder))

        def emit(event: Event) -> None:
            follow_reviews(connection, folder.root, event, drawn=False)
            programs.take(event)
            called.extend([event] if isinstance(event, ToolResultEvent) else [])
            line = progress_line(event)
            if line is not None:
                report(line)

        result = await opened[0].run(request, emit, asker)
    ended = Ended(result, called[-1] if called else None)
    _show_ended(connection, ended, programs)
    return ended


def _choose_asker(connection: Connection) -> Asker:
    """Returns the asker for a command. A command has no stream, so even a client that reads streams gets messages."""
    return NobodyToAsk(EDITOR_CANNOT) if connection.client.asking == "never" else MessageAsker(connection)


def _show_ended(connection: Connection, ended: Ended, programs: ProgramRuns) -> None:
    result = ended.result
    if connection.client.draws_results:
        return
    settings = settings_here(connection.folders.first_root)
    printed = programs.report(settings.state if settings else None)
    if result.error is not None:
        kind = lsp.MessageType.Error
        said = f"{result.error.what}: {result.error.why} ({result.error.fix})"
    else:
        plain = result.status == "completed" and result.reason is None and not programs.failed
        kind = lsp.MessageType.Info if plain else lsp.MessageType.Warning
        said = describe_ending(result, ended.last.output if ended.last else "")
    show(connection, kind, "\n".join(filter(None, [said, printed])))


def describe_ending(result: RunResult, called: str = "") -> str:
    """Returns a turn's result as one message: its answer or the output of the person's call, the changed files, and the
    reason if something was not done."""
    text = result.final_output or called or f"the turn ended: {result.status}"
    if result.changes:
        text += f"\nChanged: {', '.join(changed_files(result.changes))}"
    if result.reason is None:
        return text
    how = "not all done" if result.status == "completed" else result.status
    return f"{text} ({how}: {result.reason})"


def show(connection: Connection, kind: lsp.MessageType, message: str) -> None:
    """Shows a message, unless the client draws results itself."""
    if not connection.client.draws_results:
        connection.show(kind, message)
