"""`remit session undo`: takes back what a turn changed (SES-05)."""

from __future__ import annotations

import argparse
import asyncio
from typing import Literal

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.cli.commands.session.chosen import add_session
from remit_server.cli.new_ids import new_turn
from remit_server.contract import CallInput, RunRequest
from remit_server.runtime.settings import Settings
from remit_server.sessions.folder import SessionFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)
    parser.add_argument("--turn", metavar="ID", help="the turn's id (default: the last turn)")
    parser.add_argument("--file", action="append", metavar="FILE", help="only this file; can be repeated")
    parser.add_argument("--approve", choices=("never", "ask", "session"), default="ask", help="as in `remit ask`")


def run(arguments: argparse.Namespace) -> int:
    """Takes the last changes back."""
    return take_back(arguments, "undo")


def take_back(arguments: argparse.Namespace, direction: Literal["undo", "redo"]) -> int:
    """Runs the call in the session; returns the exit code."""
    # What runs a turn, which the other commands for sessions need not wait for.
    from remit_server.cli.commands.ask import choose_asker, run_request
    from remit_server.cli.commands.run_tool import Shown
    from remit_server.tools.edit.undo_changes import UNDO_CHANGES

    settings = Settings.from_environment(arguments.workspace)
    session = SessionFolder(settings.session_folder).find(arguments.session)
    what: dict[str, JsonValue] = {"direction": direction}
    if arguments.turn is not None:
        what["turn"] = arguments.turn
    if arguments.file is not None:
        what["paths"] = arguments.file
    call = CallInput(tool=UNDO_CHANGES.name, arguments=what, intent=Intent.CODE)
    request = RunRequest(session_id=session.session_id, turn_id=new_turn(), input=call)
    shown = Shown(as_json=arguments.json)
    asker = choose_asker(arguments.approve, as_json=arguments.json)
    return shown.exit_code(asyncio.run(run_request(settings, request, asker, shown.take)))
