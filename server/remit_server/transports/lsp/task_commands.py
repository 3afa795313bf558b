"""The tasks of the editor's code as commands: fix, explain, refactor, document, write tests (LSP-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.contract import DiagnosticsAttachment, TextInput
from remit_server.transports.lsp.command_params import LINES_COUNT, Asked, read_asked, wrong_arguments
from remit_server.transports.lsp.command_turn import run_turn
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.tasks import TASKS, describe_task, lines_of, problem_at

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

KEYS = "first_line?, last_line?, problem?, session_id?, "


async def run_task(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.fix [{uri, first_line?, last_line?, problem?, session_id?}]`, or another task, and returns the
    RunResult.

    Lines count from 1; without them it is about the whole file. With `problem`, and for `remit.fix` always, it is about
    what the editor shows there, which goes with it as data.
    """
    asked = read_asked(connection, params, KEYS)
    path, problem = _path(asked), asked.flag("problem") or params.command == "remit.fix"
    text = describe_task(TASKS[params.command], _piece(asked, path, problem=problem))
    part = TextInput(text=text, attachments=(DiagnosticsAttachment(path=path),) if problem else ())
    ended = await run_turn(connection, params, part, asked.about, asked.text("session_id"))
    return ended.result.model_dump(mode="json")


def _path(asked: Asked) -> str:
    if asked.about.document is None:
        raise wrong_arguments(asked.params, "`uri` names no open document of a workspace folder", asked.shape)
    return asked.about.document


def _piece(asked: Asked, path: str, *, problem: bool) -> str:
    first, last = asked.number("first_line"), asked.number("last_line")
    if first is None:
        return f"what the editor shows in {path}" if problem else path
    last = first if last is None else last
    if not 1 <= first <= last:
        raise wrong_arguments(asked.params, LINES_COUNT, asked.shape)
    return (problem_at if problem else lines_of)(path, first, last)
