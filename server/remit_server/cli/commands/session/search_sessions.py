"""`remit session search`: words in what sessions say."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import asdict

from remit_governance.visible import visible_again
from remit_server.cli.commands.session.chosen import folder_of
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import WrongUsage
from remit_server.sessions.search import search
from remit_server.sessions.session_file import SessionError

MOST = 5
"""Hits that are shown of one session."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("words", metavar="WORDS", help="the words to look for; upper and lower case are the same")


def run(arguments: argparse.Namespace) -> int:
    """Prints where the words stand; 1 where they stand nowhere."""
    if not arguments.words.strip():
        raise WrongUsage("nothing can be looked for", "no words were given", "try `remit session search retry`")
    folder, found = folder_of(arguments), 0
    for number, session in enumerate(folder.list(), 1):
        hits = []
        with contextlib.suppress(SessionError):  # it was deleted meanwhile
            hits = list(search(folder.read(session), arguments.words))
        found += len(hits)
        if arguments.json:
            for hit in hits:
                print_json({"session_id": session.session_id, **asdict(hit)})
        elif hits:
            title = visible_again(session.name or session.title, "show")
            say(f"{number:3}  {style_text(title, 'bold')}  {style_text(session.session_id, 'dim')}")
            for hit in hits[:MOST]:
                say(f"     {hit.message} · {hit.who}: {visible_again(hit.text, 'show')}")
            if len(hits) > MOST:
                say(style_text(f"     and {len(hits) - MOST} more", "dim"))
    if not found and not arguments.json:
        say("no session has these words")
    return DONE if found else FAILED
