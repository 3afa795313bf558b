"""`remit session show`: what was said and done, for reading."""

from __future__ import annotations

import argparse

from remit_governance.visible import visible_again
from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.sessions.export import Part, parts

COLOURS = {"you": "cyan", "model": "green", "call": "dim", "failed": "red", "title": "bold"}
MAX_LINES = 12
"""Of what a call printed; the file, and an export, have all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)
    parser.add_argument("--all", action="store_true", help=f"show all output of calls, not {MAX_LINES} lines of each")


def run(arguments: argparse.Namespace) -> int:
    """Prints the session, or with `--json` its records."""
    folder, session = chosen(arguments)
    records = folder.read(session)
    if arguments.json:
        for each in records:
            print_json(each.model_dump(mode="json"))
        return DONE
    for part in parts(records):
        for line in draw_part(part, whole=arguments.all):
            say(line)
    return DONE


def draw_part(part: Part, *, whole: bool) -> list[str]:
    """Returns one part of a session as lines."""
    if part.note:
        return [style_text(visible_again(part.text, "show"), "dim")]
    lines = visible_again(part.text).split("\n") if part.text else []
    if part.code and not whole and len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines: `--all` shows them"]
    shown = [style_text(f"  {line}", "dim") if part.code else f"  {line}" for line in lines]
    return [style_text(visible_again(part.heading, "show"), COLOURS[part.kind]), *shown]
