"""Parses what the person typed: arguments that commands share, subcommands, JSON in an argument, and the error for an
unusable command line (CLI-01, CLI-03).

A command that runs no turn imports nothing of what runs one, which takes most of a second.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from remit_server.errors import SetupError, os_reason

SHOWN = 60
HERE = Path()
"""The workspace where none is named."""


class WrongUsage(SetupError):
    """The command line cannot be used; the process exits with 2."""


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A subcommand: what it does, with its exit code; its line in the help; its arguments, beside the common ones."""

    run: Callable[[argparse.Namespace], int]
    summary: str
    declare: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    common: bool = True


@dataclass(frozen=True, slots=True)
class Subcommands:
    """A command that consists of subcommands, a row each; one that also works without them has a `title` for them."""

    rows: Mapping[str, Subcommand]
    epilog: str | None = None
    title: str | None = None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the arguments of all subcommands."""
        parser.epilog = self.epilog
        words = "|".join(self.rows)
        commands = (
            parser.add_subparsers(metavar=words, required=True)
            if self.title is None
            else parser.add_subparsers(metavar=words, title=self.title)
        )
        for name, row in self.rows.items():
            sub = commands.add_parser(name, help=row.summary, description=row.summary)
            if row.common:
                add_common_arguments(sub)
            row.declare(sub)
            sub.set_defaults(subcommand=row)

    def run(self, arguments: argparse.Namespace) -> int:
        """Runs the subcommand that was chosen; returns the exit code."""
        chosen: Subcommand = arguments.subcommand
        return chosen.run(arguments)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of every command that works in a workspace."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--workspace", type=Path, default=HERE, help="the folder to work in (default: the current one)")


def add_serving_arguments(parser: argparse.ArgumentParser, asked: str = "") -> None:
    """Declares the arguments of commands that run the turns of others in one workspace. `asked` says who is asked; if
    it is given, the person may also say yes beforehand."""
    parser.add_argument("--workspace", type=Path, default=HERE, help="the folder to work in (default: the current one)")
    parser.add_argument("--model", help="as `remit ask` takes it (default: the configured model)")
    words = (
        f"`ask`: {asked} (default), `never`: deny without asking, `session`: say yes to every question"
        if asked
        else "`never`: deny without asking (default: `ask`)"
    )
    parser.add_argument(
        "--approve", choices=("ask", "never", *(["session"] if asked else [])), default="ask", help=words
    )


def add_candidate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that choose the policy by which past calls are judged again (POL-13)."""
    parser.add_argument("--policy", type=Path, metavar="FILE", help="use this file as your policy file")
    parser.add_argument("--project", action="store_true", help="use the file as the project's policy instead")


def json_object(text: str, what: str, example: str) -> dict[str, Any]:
    """Returns the JSON object in `text`. Raises WrongUsage that says that `what` cannot be used."""
    shown = f"`{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}`"
    fix = f"give one JSON object, such as {example}"
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise WrongUsage(what, f"{shown} is not JSON: {lower_first(str(error))}", fix) from error
    except RecursionError as error:
        raise WrongUsage(what, f"{shown} is nested too deeply", fix) from error
    if not isinstance(value, dict):
        raise WrongUsage(what, f"{shown} is JSON, but not an object", fix)
    return cast("dict[str, Any]", value)


def first_problem(error: ValidationError) -> str:
    """Returns the contract's message for the first error, without the value and class names."""
    return lower_first(error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"])


def lower_first(text: str) -> str:
    """Returns a library's sentence in Remit's style: lower case at its start."""
    return text[:1].lower() + text[1:]


def output_error(error: OSError) -> SetupError:
    """Returns the error for a command whose output could not be written, although it was carried out."""
    fix = "free some space, or send the output elsewhere; `remit audit log` shows what was done"
    return SetupError("not all of the output could be written", os_reason(error), fix)


def whole_number(text: str) -> int:
    """Parses a count. Raises ArgumentTypeError, which argparse reports as wrong usage."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return number
