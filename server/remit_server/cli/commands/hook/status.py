"""`remit hook status [AGENT]`: whether an agent calls Remit, by its own settings files (HOK-06)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import add_common_arguments
from remit_server.errors import SetupError
from remit_server.hooks.agents import AGENTS
from remit_server.hooks.settings_file import SettingsFile, settings_place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("agent", nargs="?", choices=sorted(AGENTS), metavar="AGENT", help="this agent alone")
    add_common_arguments(parser)


def _state(file: SettingsFile) -> tuple[str, str]:
    try:
        return file.state(file.read()), ""
    except SetupError as error:
        return "unreadable", error.why


def run(arguments: argparse.Namespace) -> int:
    """Prints a line for each file that there may be."""
    remit = str(Path(sys.executable).with_name("remit"))
    for agent in [AGENTS[arguments.agent]] if arguments.agent else AGENTS.values():
        for project, name in ((None, remit), (arguments.workspace.absolute(), "remit")):
            file = SettingsFile(agent, settings_place(agent, Path.home(), project), name)
            state, why = _state(file)
            if arguments.json:
                print_json({"agent": agent.name, "file": os.fspath(file.place), "state": state})
            else:
                say(f"{agent.name:12} {state:10} {file.place}{f': {why}' if why else ''}")
    return DONE
