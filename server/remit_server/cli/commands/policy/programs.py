"""`remit policy programs`: which programs Remit knows, or what it knows of one (CMD-08, CMD-10)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from remit_governance.policy.language.load import load_programs
from remit_governance.policy.review.listing import describe_program, known_names, like
from remit_governance.policy.shell.catalogue.rows import OwnRows
from remit_governance.visible import visible
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.policy.policy_files import as_setup_error
from remit_server.runtime.settings import Settings

COLOURS = {"low": "green", "medium": "yellow", "high": "red"}
SOURCES = {"remit": "what Remit knows", "person": "your row", "project": "the project’s row, which may only tighten"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="what is known of this program (default: list all)")


def run(arguments: argparse.Namespace) -> int:
    """Lists the programs, or shows one. Raises SetupError where a file cannot be used, or the program is not known."""
    settings = Settings.of_places(arguments.workspace)
    with as_setup_error():
        own = load_programs(settings.person_programs, settings.project_programs)
    if arguments.name is None:
        names = known_names(own)
        print_json({"programs": list(names)}) if arguments.json else say("\n".join(names))
        return DONE
    described = describe_program(arguments.name, own)
    if not described["rows"]:
        raise _unknown(arguments.name, own)
    print_json(described) if arguments.json else say("\n".join(_lines(described)))
    return DONE


def _unknown(name: str, own: OwnRows) -> SetupError:
    near = like(name, own)
    return SetupError(
        f"nothing is known of `{visible(name, 'show')}`",
        "no row of Remit's, of yours or of the project names it",
        f"did you mean `{near}`?" if near else "add a row for it to your programs.yaml",
        code=ErrorCode.NOT_FOUND,
    )


def _lines(described: Any) -> Iterator[str]:
    for row in described["rows"]:
        yield style_text(SOURCES[row["from"]], "bold")
        for effect, does in row.get("does", {}).items():
            yield f"  {style_text(effect, COLOURS[does['risk']])} (risk {does['risk']}): {_shown(does['words'])}"
        for key, what in WORDS.items():
            if key in row:
                yield f"  {what}: {_shown(row[key])}"


WORDS = {
    "otherwise": "anything else",
    "unlisted": "with an option that is not listed, at least",
    "writes": "options that name a file to be written",
    "judge": "its words are also looked at by",
    "wraps": "runs another command, behind these options",
    "refused": "asked about each time",
    "is": "another name of",
    "options": "options",
    "subcommands": "subcommands",
}


def _shown(words: Any) -> str:
    return visible(words if isinstance(words, str) else ", ".join(words), "show")
