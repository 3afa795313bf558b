"""One turn of a command, for editors that do not know Remit: work-done progress, questions by message, the result as a
message (LSP-05).
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.contract import (
    CallInput,
    ContextPayload,
    Event,
    InputPart,
    RunRequest,
    RunResult,
    TextInput,
    ToolResultEvent,
)
from remit_server.runtime.ended_calls import changed_files
from remit_server.runtime.ports import AgentRuntime, Asker, NobodyToAsk
from remit_server.transports.lsp.buffers.own_files import settings_here
from remit_server.transports.lsp.client_requests.approval_messages import MessageAsker
from remit_server.transports.lsp.client_requests.progress import choose_token, progress_line, work_done
from remit_server.transports.lsp.client_requests.review import follow_reviews
from remit_server.transports.lsp.command_output import ProgramRuns
from remit_server.transports.lsp.command_params import About
from remit_server.transports.lsp.own_file_watch import runtime_of_turn
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.refusals import from_validation

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


@dataclass(slots=True)
class Ended:
    """How a command's turn ended, and what its last call came to, if there was one."""

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
    """Runs one turn in the named session, else in the connection's own, and shows how it ended. Raises RemitError."""
    from pydantic import ValidationError

    try:
        request = RunRequest(
            session_id=connection.session if session is None else session,
            turn_id=str(uuid.uuid4()),
            input=part,
            model=model,
            context=ContextPayload(open_document=about.document, workspace_folder=about.folder),
        )
    except ValidationError as error:
        raise from_validation(params.command, error) from error
    programs, called = ProgramRuns(), list[ToolResultEvent]()
    opened, mine = list[AgentRuntime](), asyncio.current_task()

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
    """Returns the asker of a command, which has no stream: even a client that reads streams is asked by message."""
    return NobodyToAsk() if connection.client.asking == "never" else MessageAsker(connection)


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
    """Returns a turn's result as one message: its answer, or what the person's call came to, and the ending where
    something was not done."""
    text = result.final_output or called or f"the turn ended: {result.status}"
    if result.changes:
        text += f"\nChanged: {', '.join(changed_files(result.changes))}"
    if result.reason is None:
        return text
    how = "not all done" if result.status == "completed" else result.status
    return f"{text} ({how}: {result.reason})"


def show(connection: Connection, kind: lsp.MessageType, message: str) -> None:
    """Shows a message, where the client does not draw results by itself."""
    if not connection.client.draws_results:
        connection.show(kind, message)
