"""`remit sandbox check`: what isolates commands on this machine, tried from inside."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
from pathlib import Path

from remit_server.cli.console import print_json, say, styled
from remit_server.cli.main import DONE, FAILED
from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.probe import probe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="sandbox_command", metavar="check", required=True)
    check = commands.add_parser("check", help="try each property from inside; exits 1 where one does not hold")
    check.add_argument("--json", action="store_true", help="one JSON object, for machines")


def run(arguments: argparse.Namespace) -> int:
    """Check."""
    sandbox = choose_sandbox(Path.cwd())
    isolation = sandbox.isolation()
    found = asyncio.run(probe(sandbox, Path.home(), os.getpid())) if isolation.available else ()
    if arguments.json:
        print_json({**dataclasses.asdict(isolation), "properties": [dataclasses.asdict(p) for p in found]})
    else:
        say(f"{isolation.name}: {'isolates' if isolation.available else isolation.why}")
        if not isolation.available:
            say(f"  fix: {isolation.fix}")
        for each in found:
            say(f"  {styled('✓', 'green') if each.holds else styled('✗', 'red')} {each.name}: {each.detail}")
    return DONE if isolation.available and all(p.holds for p in found) else FAILED
