"""`remit session export`: a session as a file to read or to work on."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from remit_server.cli.commands.session.chosen import add_session, chosen
from remit_server.cli.console import say
from remit_server.cli.main import DONE
from remit_server.cli.usage import os_reason
from remit_server.contract import SessionRecord
from remit_server.errors import SetupError
from remit_server.sessions.export import to_html, to_markdown
from remit_server.sessions.lines import to_lines

FORMATS: Mapping[str, Callable[[Sequence[SessionRecord]], str]] = {
    "md": to_markdown,
    "html": to_html,
    "json": lambda records: to_lines(records).decode(),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_session(parser)
    shown = "Markdown (default), HTML, or JSON Lines as in the session's own file"
    parser.add_argument("--format", choices=tuple(FORMATS), help=shown)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this new file instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    """Writes the session, without the secrets that were in it."""
    folder, session = chosen(arguments)
    kind = arguments.format or ("json" if arguments.json else format_of(arguments.out))
    text = FORMATS[kind](folder.read(session))
    if arguments.out is None:
        say(text.rstrip("\n"))
        return DONE
    try:
        with arguments.out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        why = f"{arguments.out}: {os_reason(error)}"
        raise SetupError("the session was not exported", why, "name a new file") from error
    return DONE


def format_of(file: Path | None) -> str:
    """Returns the format that a file's name asks for; Markdown where it asks for none."""
    ending = file.suffix.removeprefix(".").lower() if file else ""
    return {"htm": "html", "jsonl": "json"}.get(ending, ending if ending in FORMATS else "md")
