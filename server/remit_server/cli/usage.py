"""Parses what the person typed: JSON in an argument, and the error for an unusable command line (CLI-03)."""

from __future__ import annotations

import argparse
import json
from typing import Any, cast

from pydantic import ValidationError

from remit_server.errors import SetupError

SHOWN = 60


class WrongUsage(SetupError):
    """The command line cannot be used; the process exits with 2."""


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


def os_reason(error: OSError) -> str:
    """Returns the system's message of an error."""
    return lower_first(error.strerror or str(error))


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
