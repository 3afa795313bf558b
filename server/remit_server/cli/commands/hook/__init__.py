"""`remit hook AGENT`: decides and records the calls of an agent that somebody already uses (HOK-01).

One file per subcommand; the table is `COMMANDS`. An agent's name answers one event of that agent.
"""

from __future__ import annotations

import argparse

from remit_server.cli.commands.hook import answer, install, remove, replayed, report, status
from remit_server.cli.main import Command

COMMANDS: dict[str, tuple[Command, str]] = {
    "install": (install, "have an agent call Remit, after showing the change of its settings"),
    "status": (status, "show which agents call Remit"),
    "remove": (remove, "take Remit out of an agent's settings"),
    "test": (replayed, "show what would be decided about recorded events; nothing is recorded"),
    "report": (report, "show what was asked about most, with rules that would allow it"),
}

AGENT_NAMES = ("claude-code", "codex", "gemini", "copilot", "cursor")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of all subcommands."""
    parser.epilog = "docs/hooks.md has a page on it"
    commands = parser.add_subparsers(metavar="|".join((*AGENT_NAMES, *COMMANDS)), required=True)
    for name in AGENT_NAMES:
        summary = f"answer one event of {name}: JSON on stdin, its answer on stdout"
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(hook_command=answer, agent=name)
        answer.add_arguments(sub)
    for name, (command, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary)
        command.add_arguments(sub)
        sub.set_defaults(hook_command=command)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen subcommand."""
    command: Command = arguments.hook_command
    return command.run(arguments)
