"""`remit session stats`: what a session took, or all of them (SES-06)."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from remit_governance.visible import visible_again
from remit_server.chat.describe import describe_statistics
from remit_server.chat.report import report
from remit_server.cli.commands.session.chosen import add_session, chosen, folder_of
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.cli.usage import os_reason
from remit_server.contract import SessionRecord
from remit_server.errors import SetupError
from remit_server.sessions.session_file import SessionError
from remit_server.sessions.statistics import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write an HTML page with plots to this new file")
    parser.add_argument("--all", action="store_true", help="all sessions of this folder together")


def run(arguments: argparse.Namespace) -> int:
    """Prints the figures."""
    if arguments.all:
        figures = count(list(chain.from_iterable(_all_records(arguments))))
    else:
        folder, session = chosen(arguments)
        figures = count(folder.read(session))
    if arguments.html is not None:
        return _write_page(arguments.html, report(figures, "All sessions" if arguments.all else "A session"))
    if arguments.json:
        print_json(figures.model_dump(mode="json"))
        return DONE
    for heading, lines in describe_statistics(figures):
        say(style_text(heading, "bold"))
        for line in lines:
            say(f"  {visible_again(line, 'show')}")
    return DONE


def _write_page(file: Path, page: str) -> int:
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(page)
    except OSError as error:
        why = f"{file}: {os_reason(error)}"
        raise SetupError("the report was not written", why, "name a new file") from error
    return DONE


def _all_records(arguments: argparse.Namespace) -> Iterator[list[SessionRecord]]:
    folder = folder_of(arguments)
    for session in sorted(folder.list(), key=lambda each: each.started):
        with contextlib.suppress(SessionError):  # it was deleted meanwhile
            yield list(folder.read(session))
