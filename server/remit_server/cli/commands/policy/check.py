"""`remit policy check`: every mistake in policy files and extension rules, with file, line and column."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.policy.language.load import load_policy, load_programs, load_rule, load_rules
from remit_governance.visible import visible_again
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE, FAILED
from remit_server.runtime.policy.policies import load_permissions, problems_of_rules
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    what = "policy files, `permissions.yaml`, `programs.yaml` and `.py` rules (default: those in force)"
    parser.add_argument("files", nargs="*", type=Path, help=what)


def run(arguments: argparse.Namespace) -> int:
    """Checks the files; 1 where one cannot be used. Warnings do not count."""
    settings = Settings.from_environment(arguments.workspace)
    known = (
        *(settings.person_policy, settings.person_permissions, settings.person_programs),
        *(settings.project_policy, settings.project_programs),
    )
    in_force = [path for path in known if path.exists()]
    programs = [file for file in arguments.files if file.suffix == ".py"]
    problems = _wrong_rules(settings, programs, in_force=not arguments.files)
    for file in (file for file in arguments.files or in_force if file not in programs):
        problems += _wrong_file(settings, file)
    good = all(problem.endswith("(warning)") for problem in problems)
    if arguments.json:
        print_json({"ok": good, "problems": problems})
    else:
        say("\n".join(visible_again(each) for each in problems) or "no problem found")
    return DONE if good else FAILED


def _wrong_file(settings: Settings, file: Path) -> list[str]:
    project = file.resolve() == settings.project_policy.resolve()
    try:
        if file.name == settings.person_permissions.name:
            load_permissions(file)
            return []
        if file.name == settings.person_programs.name:
            theirs = file.resolve() == settings.project_programs.resolve()
            load_programs(None, file) if theirs else load_programs(file)
            return []
        policy = load_policy(None, file) if project else load_policy(file)
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    return [f"{warning} (warning)" for warning in policy.warnings]


def _wrong_rules(settings: Settings, files: Iterable[Path], *, in_force: bool) -> list[str]:
    """Returns what is wrong with extension rules: with these files, or with those in force."""
    try:
        rules = load_rules(settings.person_rules) if in_force else tuple(load_rule(file) for file in files)
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in problems_of_rules(rules, settings)]
