"""`remit session fork`: a copy that goes its own way."""

from __future__ import annotations

import argparse

from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.new_ids import new_session
from remit_server.cli.usage import whole_number
from remit_server.wall_clock import timestamp, utc_now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)
    shown = "copy up to this message, by its number in `remit session show` (default: all)"
    parser.add_argument("--at", type=whole_number, metavar="N", help=shown)
    parser.add_argument("--name", help="a name for the copy")


def run(arguments: argparse.Namespace) -> int:
    """Copies the session; prints the id of the new one."""
    folder, session = chosen(arguments)
    new = new_session()
    folder.fork(session, new, timestamp(utc_now()), arguments.at, arguments.name)
    if arguments.json:
        print_json({"session_id": new, "forked_from": session.session_id})
    else:
        say(f"{new} is a copy of {session.session_id}: `remit --resume {new} PROMPT` continues it")
    return DONE
