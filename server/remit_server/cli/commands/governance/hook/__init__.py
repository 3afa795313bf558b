"""`remit hook AGENT`: decides and records the calls of an agent that somebody already uses (HOK-01).

`remit hook AGENT` answers one event of that agent; the other subcommands are the table `COMMANDS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from remit_server.cli.commands.governance.hook import answer
from remit_server.cli.commands.governance.hook.replayed import TEST
from remit_server.cli.commands.governance.hook.report import REPORT
from remit_server.cli.commands.governance.hook.settings import INSTALL, REMOVE, STATUS
from remit_server.cli.usage import Subcommand, Subcommands

COMMANDS: Mapping[str, Subcommand] = {
    "install": INSTALL,
    "status": STATUS,
    "remove": REMOVE,
    "test": TEST,
    "report": REPORT,
}

AGENT_NAMES = ("claude-code", "codex", "gemini", "copilot", "cursor")


def _answers(name: str) -> Subcommand:
    def declare(parser: argparse.ArgumentParser) -> None:
        answer.add_arguments(parser)
        parser.set_defaults(agent=name)

    return Subcommand(
        answer.run, f"answer one event of {name}: JSON on stdin, its answer on stdout", declare, common=False
    )


COMMAND = Subcommands({**{name: _answers(name) for name in AGENT_NAMES}, **COMMANDS}, "docs/hooks.md describes it")
add_arguments, run = COMMAND.add_arguments, COMMAND.run
