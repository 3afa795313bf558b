"""`remit session resume|undo|redo` (SES-05), apart because importing what runs a turn takes most of a second."""

from __future__ import annotations

import argparse
import asyncio

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.cli.approval import can_ask, settle_trust
from remit_server.cli.commands.turns.ask import chat_here, choose_asker, run_request
from remit_server.cli.commands.turns.run_tool import Shown
from remit_server.cli.new_ids import new_turn
from remit_server.cli.usage import WrongUsage
from remit_server.contract import CallInput, RunRequest
from remit_server.runtime.settings import Settings, existing_folder
from remit_server.sessions.folder import SessionFolder
from remit_server.tools.edit.undo_changes import UNDO_CHANGES
from remit_server.workspace.history import Direction


def resume(arguments: argparse.Namespace) -> int:
    """Opens a chat that continues the session; `remit ask --resume` runs one turn in it."""
    if arguments.json:
        raise WrongUsage("a chat has no JSON output", "it is for people", "use `remit --resume 2 --json PROMPT`")
    if can_ask():
        settle_trust(existing_folder(arguments.workspace))

    def read() -> Settings:
        return Settings.from_environment(arguments.workspace)

    return chat_here(read, SessionFolder(read().session_folder).find(arguments.session).session_id)


def undo(arguments: argparse.Namespace) -> int:
    """Undoes the last changes."""
    return _take_back(arguments, "undo")


def redo(arguments: argparse.Namespace) -> int:
    """Redoes what was undone last."""
    return _take_back(arguments, "redo")


def _take_back(arguments: argparse.Namespace, direction: Direction) -> int:
    """Runs the call in the session; returns the exit code."""
    settings = Settings.from_environment(arguments.workspace)
    folder = SessionFolder(settings.session_folder)
    named, turn = arguments.session, arguments.turn
    session = folder.last_to_take_back(direction, turn) if named is None else folder.find(named)
    what: dict[str, JsonValue] = {"direction": direction}
    if turn is not None:
        what["turn"] = turn
    if arguments.file is not None:
        what["paths"] = arguments.file
    call = CallInput(tool=UNDO_CHANGES.name, arguments=what, intent=Intent.CODE)
    request = RunRequest(session_id=session.session_id, turn_id=new_turn(), input=call)
    shown = Shown(as_json=arguments.json)
    asker = choose_asker(arguments.approve, as_json=arguments.json)
    return shown.exit_code(asyncio.run(run_request(settings, request, asker, shown.take)))
