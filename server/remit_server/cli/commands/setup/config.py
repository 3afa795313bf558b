"""`remit config show|check|init|trust`: shows what is set and where, checks and writes the files, and says whether
those of a project count (CFG-01, CFG-06)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from remit_governance.errors import PolicyError, Problem
from remit_governance.visible import visible, visible_again
from remit_server.cli.console import complain, print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands
from remit_server.errors import SetupError, os_reason
from remit_server.runtime.config.form import KEYS, SECTIONS, variable_of, written
from remit_server.runtime.config.layers import NAMES, places, read_file, resolve
from remit_server.runtime.own_files.folder_record import brought, left_out, read_trust, write_trust
from remit_server.runtime.own_files.places import config_folder
from remit_server.runtime.settings import existing_folder


def _show(arguments: argparse.Namespace) -> int:
    root = existing_folder(arguments.workspace)
    resolved = resolve(root)
    for key in KEYS:
        value, origin, name = resolved.value(key), resolved.origins[key], ".".join(key)
        if arguments.json:
            print_json({"key": name, "value": _plain(value), "layer": origin.layer, "where": origin.where})
        else:
            where = style_text(f"  ({visible(str(origin), 'show')})", "dim") if arguments.origin else ""
            say(f"{name} = {visible(written(value), 'show')}{where}")
    if not arguments.json and (there := brought(root)) and not read_trust(root):
        say(left_out(there))
    return DONE


def _trust(arguments: argparse.Namespace) -> int:
    root, trusted = existing_folder(arguments.workspace), not arguments.no
    write_trust(root, trusted=trusted)
    if arguments.json:
        print_json({"folder": str(root), "trusted": trusted, "brings": list(brought(root))})
        return DONE
    named = ", ".join(f"`{each}`" for each in brought(root)) or "nothing at present"
    count = "is trusted; this is used" if trusted else "is not trusted; this is ignored"
    say(f"{visible(str(root), 'show')} {count}: {named}")
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    root, bad = existing_folder(arguments.workspace), 0
    for layer, files in places(root, os.environ):
        for path in (each for each in files if each.is_file()):
            problem = None
            try:
                read_file(path, project=layer == "project")
            except SetupError as error:
                problem, bad = error, bad + 1
            if arguments.json:
                found = problem.payload().model_dump(mode="json") if problem else None
                print_json({"layer": layer, "file": str(path), "good": problem is None, "problem": found})
            elif problem is None:
                say(f"{style_text('✓', 'green')} {layer}: {visible(str(path), 'show')}")
            else:
                complain(problem.payload(), as_json=False)
                for each in _further(problem):
                    print(f"  also: {visible_again(str(each))}", file=sys.stderr)
    # Resolve all of it, too: two files of one layer may exist, and a variable may have a bad value.
    try:
        resolve(root)
    except SetupError as error:
        if not bad:
            complain(error.payload(), as_json=arguments.json)
        return FAILED
    return FAILED if bad else DONE


def _further(error: SetupError) -> Sequence[Problem]:
    """Returns the further problems of the file, after the first."""
    return error.__cause__.problems[1:] if isinstance(error.__cause__, PolicyError) else ()


def _init(arguments: argparse.Namespace) -> int:
    del arguments
    path = config_folder(os.environ) / NAMES[0]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write("\n".join(template()) + "\n")
    except OSError as error:
        what, fix = "no configuration was written", "edit the existing file, or make its folder writable"
        raise SetupError(what, f"{path}: {os_reason(error)}", fix) from error
    say(f"{path} lists every setting as a comment, with its default")
    return DONE


def template() -> Iterator[str]:
    """Yields the lines of a configuration file in which every setting is a comment."""
    yield "# Remit's configuration. Remove a `#` to set a setting; `remit config show --origin` shows what is in force."
    for section, form in SECTIONS.items():
        yield ""
        yield f"# {form.__doc__}" if form.__doc__ else f"# {section}"
        yield f"# {section}:"
        for name, field in form.model_fields.items():
            yield f"#   {name}: {written(field.default)}  # {field.description} ({variable_of(section, name)})"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _declare_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--origin", action="store_true", help="also show where each one is set")


def _declare_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no", action="store_true", help="stop trusting it")


COMMAND = Subcommands(
    {
        "show": Subcommand(_show, "show every setting in force here", _declare_show),
        "check": Subcommand(_check, "check each configuration file"),
        "init": Subcommand(_init, "write a configuration file with every setting as a comment", common=False),
        "trust": Subcommand(
            _trust, "trust this folder's configuration, prompts, instructions and skills", _declare_trust
        ),
    }
)
add_arguments, run = COMMAND.add_arguments, COMMAND.run
