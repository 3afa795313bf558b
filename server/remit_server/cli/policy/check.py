"""`remit policy check`: every mistake in policy files, with file, line and column."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.policy.load import load_policy
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE, FAILED
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="policy files (default: those in force)")


def run(arguments: argparse.Namespace) -> int:
    """Read them; 1 where one cannot be used. A warning stops nothing."""
    settings = Settings.from_environment(arguments.workspace)
    in_force = [p for p in (settings.person_policy, settings.project_policy) if p.exists()]
    problems: list[str] = []
    for file in arguments.files or in_force:
        project = file.resolve() == settings.project_policy.resolve()
        try:
            policy = load_policy(None, file) if project else load_policy(file)
        except PolicyError as error:
            problems += [str(problem) for problem in error.problems]
        else:
            problems += [f"{warning} (warning)" for warning in policy.warnings]
    good = all(problem.endswith("(warning)") for problem in problems)
    if arguments.json:
        print_json({"ok": good, "problems": problems})
    else:
        say("\n".join(problems) or "no problem found")
    return DONE if good else FAILED
