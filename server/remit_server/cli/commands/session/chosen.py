"""Which session a subcommand is about."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_server.contract import SessionSummary
from remit_server.runtime.settings import Settings
from remit_server.sessions.folder import LAST, SessionFolder


def add_session(parser: argparse.ArgumentParser, *, optional: bool = True) -> None:
    """Declares the argument that names a session."""
    named = "a name, an id, a number from the list, or `last`"
    if optional:
        named += " (default: the last)"
        argument = parser.add_argument("session", nargs="?", default=LAST, metavar="SESSION", help=named)
    else:
        argument = parser.add_argument("session", metavar="SESSION", help=f"{named}, or `{LAST}`")
    complete_sessions(argument)


def complete_sessions(argument: argparse.Action) -> None:
    """Has shells complete the argument with the sessions of the folder."""

    def names(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        folder = Settings.from_environment(getattr(parsed_args, "workspace", None) or Path()).session_folder
        return [each.name or each.session_id for each in SessionFolder(folder).list()]

    argument.completer = names  # type: ignore[attr-defined]  # argcomplete looks for it


def folder_of(arguments: argparse.Namespace) -> SessionFolder:
    """Returns the sessions of the workspace that the command line names. Raises SetupError."""
    return SessionFolder(Settings.from_environment(arguments.workspace).session_folder)


def chosen(arguments: argparse.Namespace) -> tuple[SessionFolder, SessionSummary]:
    """Returns the session that the command line names, and its folder. Raises SessionError, SetupError."""
    folder = folder_of(arguments)
    return folder, folder.find(arguments.session)
