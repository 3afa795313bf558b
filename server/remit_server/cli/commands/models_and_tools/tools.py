"""`remit tools`: lists the tools, the person's own included, and which of these cannot be used (TOOL-15)."""

from __future__ import annotations

import argparse
import asyncio
import os

from remit_governance.visible import visible_again
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands
from remit_server.runtime.own_files.external_tools import TOOLS_FILE, TOOLS_FOLDER, ExternalTools
from remit_server.runtime.own_files.places import config_folder
from remit_server.runtime.settings import Settings
from remit_server.sandbox.choose import choose_sandbox
from remit_server.tools.external.declared import Declared
from remit_server.tools.table import TOOLS


def _list(arguments: argparse.Namespace) -> int:
    """Lists the tools; exit code 1 if one of the person's own cannot be used."""
    folder = config_folder(os.environ)
    found = ExternalTools(folder, choose_sandbox(Settings.of_places(arguments.workspace).workspace))
    asyncio.run(found.start())
    if arguments.json:
        built_in = [{"name": tool.name, "effect": tool.effect, "description": tool.summary} for tool in TOOLS.values()]
        print_json({"built_in": built_in, "own": list(map(_facts, found.declared)), "problems": list(found.problems)})
    else:
        _say(found)
    return FAILED if found.problems else DONE


def _say(found: ExternalTools) -> None:
    say(f"{len(TOOLS)} built-in tools: {', '.join(TOOLS)}")
    own = f"your own ({found.folder / TOOLS_FOLDER}, {found.folder / TOOLS_FILE}):"
    say(own if found.declared or found.problems else _none(found))
    for each in found.declared:
        reaches = f", reaches {', '.join(each.hosts)}" if each.hosts else ""
        say(f"  {each.name} ({each.effect}{reaches}): {visible_again(each.description)}")
        say(f"    {visible_again(str(each.path), 'show')}")
    for problem in found.problems:
        say(f"{style_text('✗', 'red')} {visible_again(problem)}")


def _none(found: ExternalTools) -> str:
    return (
        f"you have no tools of your own; put a program into {found.folder / TOOLS_FOLDER}: docs/own-tools.md says how"
    )


def _facts(each: Declared) -> dict[str, object]:
    return {
        "name": each.name,
        "effect": each.effect,
        "description": each.description,
        "path": str(each.path),
        "hosts": list(each.hosts),
        "parameters": dict(each.parameters),
    }


COMMAND = Subcommands({"list": Subcommand(_list, "the built-in tools and your own; exits 1 if one cannot be used")})
add_arguments, run = COMMAND.add_arguments, COMMAND.run
