"""`remit model list`: the models that can be chosen here, of this machine and of the servers that answer on it."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict

from remit_governance.visible import visible
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.models.finding import Choice, find_choices
from remit_server.runtime.config.layers import resolve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    parser.set_defaults(model_run=run)


def run(arguments: argparse.Namespace) -> int:
    """Looks for models, lists them and marks the configured one."""
    for choice in look():
        if arguments.json:
            print_json({**asdict(choice), "usable": choice.problem is None})
        else:
            say(draw_choice(choice))
    return DONE


def look() -> Sequence[Choice]:
    """Returns every model that can be chosen. Raises SetupError where the configuration cannot be read."""
    return asyncio.run(find_choices(os.environ, resolve(None).form.model.name))


def draw_choice(choice: Choice) -> str:
    """Returns one model as one line."""
    name = visible(choice.reference, "show") + ("" if choice.whole else "NAME")
    mark = "*" if choice.configured else " "
    problem = choice.problem and style_text(f"cannot be used: {visible(choice.problem, 'show')}", "yellow")
    sent = choice.sent_to and f"sent to {choice.sent_to}"
    return " · ".join(
        filter(None, [f"{mark} {style_text(name, 'bold')}", visible(choice.about, "show"), sent, problem])
    )
