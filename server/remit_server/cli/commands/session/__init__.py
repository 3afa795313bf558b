"""`remit session …`: the sessions of a workspace (SES-04). One file per subcommand; the table is `COMMANDS`."""

from __future__ import annotations

import argparse

from remit_server.cli.commands.session import (
    delete_session,
    export_session,
    fork_session,
    list_sessions,
    redo,
    rename_session,
    resume_session,
    search_sessions,
    show_session,
    stats,
    undo,
)
from remit_server.cli.main import Command
from remit_server.cli.workspace_arguments import add_common_arguments

COMMANDS: dict[str, tuple[Command, str]] = {
    "list": (list_sessions, "list this folder's sessions, last used first"),
    "show": (show_session, "show what was said and done in a session"),
    "resume": (resume_session, "open a chat that continues a session"),
    "rename": (rename_session, "give a session a name"),
    "fork": (fork_session, "copy a session, up to a message, into a new one"),
    "search": (search_sessions, "search all sessions for words"),
    "export": (export_session, "write a session as Markdown, HTML or JSON Lines"),
    "delete": (delete_session, "delete a session and the file contents kept for its undo"),
    "undo": (undo, "undo what a turn changed, except what somebody changed since"),
    "redo": (redo, "redo what was undone"),
    "stats": (stats, "show tokens, cost, tools and time of a session, or of all"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of all subcommands."""
    parser.epilog = "`remit --continue PROMPT` and `remit --resume SESSION PROMPT` continue a session."
    commands = parser.add_subparsers(metavar="|".join(COMMANDS), required=True)
    for name, (command, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary)
        add_common_arguments(sub)
        command.add_arguments(sub)
        sub.set_defaults(session_command=command)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen subcommand."""
    command: Command = arguments.session_command
    return command.run(arguments)
