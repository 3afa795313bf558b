"""`remit model check`: whether the local model loads, speaks, and how fast."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses

from remit_server.cli.console import print_json
from remit_server.cli.main import DONE
from remit_server.models.check import check_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="model_command", metavar="check", required=True)
    check = commands.add_parser("check", help="load the model in its own process and run one governed step")
    check.add_argument("model", nargs="?", default="embedded", help="`embedded` (default) or a model folder")
    check.add_argument("--json", action="store_true", help="one JSON object, for machines")


def run(arguments: argparse.Namespace) -> int:
    """Check the model; an error says what is missing and how to mend it."""
    report = asyncio.run(check_model(arguments.model))
    values = dataclasses.asdict(report)
    if arguments.json:
        print_json(values)
    else:
        for name, value in values.items():
            print(f"{name.replace('_', ' '):>18}  {value}")
    return DONE
