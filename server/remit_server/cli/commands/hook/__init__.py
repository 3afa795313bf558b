"""`remit hook AGENT`: decides and records the calls of an agent that somebody already uses (HOK-01).

An agent's name answers one event of that agent; the subcommands are the table `COMMANDS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from remit_server.cli.commands.hook import answer
from remit_server.cli.commands.hook.replayed import TEST
from remit_server.cli.commands.hook.report import REPORT
from remit_server.cli.commands.hook.settings import INSTALL, REMOVE, STATUS
from remit_server.cli.usage import Subcommand, add_common_arguments, run_subcommand

COMMANDS: Mapping[str, Subcommand] = {
    "install": INSTALL,
    "status": STATUS,
    "remove": REMOVE,
    "test": TEST,
    "report": REPORT,
}

AGENT_NAMES = ("claude-code", "codex", "gemini", "copilot", "cursor")

_ANSWERS = {
    name: Subcommand(
        answer.run, f"answer one event of {name}: JSON on stdin, its answer on stdout", answer.add_arguments
    )
    for name in AGENT_NAMES
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of all subcommands."""
    parser.epilog = "docs/hooks.md has a page on it"
    commands = parser.add_subparsers(metavar="|".join((*AGENT_NAMES, *COMMANDS)), required=True)
    for name, row in {**_ANSWERS, **COMMANDS}.items():
        sub = commands.add_parser(name, help=row.summary, description=row.summary)
        row.declare(sub)
        if name in COMMANDS:
            add_common_arguments(sub)
        else:
            sub.set_defaults(agent=name)
        sub.set_defaults(subcommand=row)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen subcommand."""
    return run_subcommand(arguments)
