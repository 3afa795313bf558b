"""`remit hook test AGENT [FILE]`: what would be decided about recorded events, one JSON value a line (HOK-01)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from remit_governance.visible import visible
from remit_server.cli.commands.governance.hook.answer import event_door
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand
from remit_server.errors import RemitError, SetupError, os_reason
from remit_server.hooks.door import Door, opened_once
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.formats.events import ToolCalled, parse_event

COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", choices=sorted(AGENTS), metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="one event a line (default: stdin)")
    parser.add_argument("--event", metavar="NAME", help="the events' name, where the agent's JSON has none")


def _test(arguments: argparse.Namespace) -> int:
    """Judges each event; exit code 1 if one cannot be judged."""
    code = DONE
    with opened_once() as opener:
        door = event_door(arguments, opener)
        for line in _lines(arguments.file):
            told = _judged(door, line)
            code = FAILED if "error" in told else code
            print_json(told) if arguments.json else _say(told)
    return code


def _lines(file: Path | None) -> Iterator[bytes]:
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
    except OSError as error:
        raise SetupError(
            f"cannot read `{os.fspath(file or '-')}`", os_reason(error), "name a file of events"
        ) from error
    return (line for line in data.splitlines() if line.strip())


def _judged(door: Door, line: bytes) -> dict[str, str]:
    try:
        event = parse_event(door.agent, line, door.named)
        if not isinstance(event, ToolCalled):
            return {"event": type(event).__name__, "word": "none"}
        ruling = door.preview(event)
    except RemitError as error:
        return {"error": f"{error.what}: {error.why}", "fix": error.fix}
    return {"tool": event.tool, "word": ruling.word, "rule": ruling.rule, "reason": ruling.reason}


def _say(told: dict[str, str]) -> None:
    if "error" in told:
        say(visible(told["error"], "show"))
    elif "tool" in told:
        word = style_text(told["word"], COLOURS[told["word"]])
        say(f"{word} {visible(told['tool'], 'show')}: {told['rule']}: {visible(told['reason'], 'show')}")


TEST = Subcommand(_test, "show what would be decided about recorded events; nothing is recorded", _declare)
