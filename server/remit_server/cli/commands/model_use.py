"""`remit model use [MODEL]`: connects a model, which is asked for where none is named."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace

from remit_governance.visible import visible_again
from remit_server.cli.commands.model_list import draw_choice, look
from remit_server.cli.console import complain, print_json, say
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import WrongUsage
from remit_server.models.finding import Choice
from remit_server.runtime.connecting import connect_model, describe_connected

PROMPT = "Which one? Its number, or a name such as ollama:NAME or openai:NAME@http://127.0.0.1:8080/v1: "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("model", nargs="?", help="as `remit model list` names it (default: choose from that list)")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.set_defaults(model_run=run)


def run(arguments: argparse.Namespace) -> int:
    """Tries the model and keeps it; where it cannot be used, says why and keeps nothing."""
    reference = arguments.model or choose()
    if reference is None:
        say("nothing was changed")
        return DONE
    if not arguments.json:
        say(f"trying one step with {visible_again(reference, 'show')} …")
    connected = asyncio.run(connect_model(reference, None))
    problem = connected.report.problem
    if arguments.json:
        told = {**asdict(replace(connected.report, problem=None)), "sent_to": connected.sent_to}
        kept = None if connected.file is None else str(connected.file)
        print_json({**told, "kept_in": kept, "problem": problem.model_dump(mode="json") if problem else None})
    elif problem is not None:
        complain(problem, as_json=False)
    else:
        say(describe_connected(connected))
    return DONE if problem is None else FAILED


def choose() -> str | None:
    """Shows what was found, and asks for one; None where the person leaves."""
    choices = look()
    for number, choice in enumerate(choices, 1):
        say(f"{number:3} {draw_choice(choice)}")
    try:
        return chosen(input(PROMPT), choices)
    except (EOFError, KeyboardInterrupt):
        say("")
        return None


def chosen(answer: str, choices: Sequence[Choice]) -> str | None:
    """Returns the reference that an answer means: a number of the list, or what names a model. Raises WrongUsage."""
    answer = answer.strip()
    if not answer.isdecimal():
        return answer or None
    if not 1 <= int(answer) <= len(choices):
        raise WrongUsage("no model was chosen", f"the list has no number {answer}", f"give 1 to {len(choices)}")
    choice = choices[int(answer) - 1]
    if choice.whole:
        return choice.reference
    name = input(f"Which model of {choice.sent_to}? ").strip()
    return f"{choice.reference}{name}" if name else None
