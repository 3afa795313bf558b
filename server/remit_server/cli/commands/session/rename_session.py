"""`remit session rename`: a name by which a session is found."""

from __future__ import annotations

import argparse

from remit_governance.visible import visible
from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.wall_clock import timestamp, utc_now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser, optional=False)
    parser.add_argument("name", metavar="NAME", help="the new name")


def run(arguments: argparse.Namespace) -> int:
    """Names the session."""
    folder, session = chosen(arguments)
    folder.rename(session, arguments.name, timestamp(utc_now()))
    named = folder.find(session.session_id)
    if arguments.json:
        print_json({"session_id": named.session_id, "name": named.name})
    else:
        say(f"{named.session_id} is called {visible(named.name or '', 'show')} now")
    return DONE
