"""`remit session delete`: nothing of it is left but in the audit log."""

from __future__ import annotations

import argparse

from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser, optional=False)


def run(arguments: argparse.Namespace) -> int:
    """Deletes the session."""
    folder, session = chosen(arguments)
    folder.delete(session)
    if arguments.json:
        print_json({"session_id": session.session_id})
    else:
        say(f"{session.session_id} is deleted; the audit log keeps what it did")
    return DONE
