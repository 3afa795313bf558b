"""`remit intent INTENT`: declares what an agent is about to do, whose calls go through `remit hook` (HOK-05)."""

from __future__ import annotations

import argparse

from remit_governance.values import Intent
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.workspace_arguments import add_common_arguments

NONE = "NONE"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    choices = [*(intent.value for intent in Intent), NONE]
    parser.add_argument("intent", type=str.upper, choices=choices, help="what comes next; NONE takes it back")
    parser.add_argument("--session", metavar="ID", help="for this session alone, such as claude-code:ID")
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Keeps the intent. Raises SetupError where it cannot be kept."""
    import os

    from remit_server.hooks.kept_sessions import KeptSessions
    from remit_server.runtime.settings import Settings

    sessions = KeptSessions.of(os.environ)
    intent = None if arguments.intent == NONE else Intent(arguments.intent)
    root = str(Settings.of_places(arguments.workspace).workspace)
    if arguments.session:
        sessions.declare(arguments.session, intent)
    else:
        sessions.declare_in(root, intent)
    where = arguments.session or root
    if arguments.json:
        print_json({"intent": intent, "for": where})
    else:
        say(f"intent {arguments.intent} is declared for {where}")
    return DONE
