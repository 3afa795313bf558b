"""`remit session rename`: a name by which a session is found."""

from __future__ import annotations

import argparse

from pydantic import ValidationError

from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import WrongUsage, first_problem
from remit_server.contract import Named
from remit_server.harness.turn import timestamp, utc_now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser, optional=False)
    parser.add_argument("name", metavar="NAME", help="the new name")


def run(arguments: argparse.Namespace) -> int:
    """Names the session."""
    folder, session = chosen(arguments)
    folder.append(session, name_record(arguments.name))
    if arguments.json:
        print_json({"session_id": session.session_id, "name": arguments.name.strip()})
    else:
        say(f"{session.session_id} is called {arguments.name.strip()} now")
    return DONE


def name_record(name: str) -> Named:
    """Returns what names a session. Raises WrongUsage."""
    what, fix = "the session cannot be called so", "give a name of at most 100 letters that is not a number or `last`"
    if name.strip().isdecimal() or name.strip() == "last":
        raise WrongUsage(what, f"`{name.strip()}` means another session already", fix)
    try:
        return Named(timestamp=timestamp(utc_now()), name=name.strip())
    except ValidationError as error:
        raise WrongUsage(what, first_problem(error), fix) from error
