"""`remit policy …`: what policy decides and why, whether its files are valid, and how they change (CLI-01).

One file per subcommand; the table is `COMMANDS`.
"""

from __future__ import annotations

import argparse

from remit_server.cli.commands.policy import check, explain, programs, replay, show, try_examples, update
from remit_server.cli.main import Command
from remit_server.cli.workspace_arguments import add_common_arguments

COMMANDS: dict[str, tuple[Command, str]] = {
    "explain": (explain, "show how policy decides an action, with every reason"),
    "check": (check, "check policy files for mistakes"),
    "test": (try_examples, "run the examples in each rule"),
    "replay": (replay, "show past calls that policy would now decide differently"),
    "update": (update, "change a policy file, after showing what that changes"),
    "show": (show, "show all rules, how often each decided, and which never can"),
    "programs": (programs, "show the programs whose commands are known, or what is known of one"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of all subcommands."""
    commands = parser.add_subparsers(metavar="|".join(COMMANDS), required=True)
    for name, (command, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary)
        add_common_arguments(sub)
        command.add_arguments(sub)
        sub.set_defaults(policy_command=command)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen subcommand."""
    command: Command = arguments.policy_command
    return command.run(arguments)
