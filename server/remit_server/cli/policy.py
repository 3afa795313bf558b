"""`remit policy explain|check`: what policy says about an action and why, and whether policy files are sound."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from remit_governance.errors import ActionError, PolicyError
from remit_governance.policy.action import parse_asked
from remit_governance.policy.explain import explain
from remit_governance.policy.load import load_policy, load_rule, load_rules
from remit_governance.policy.rules import Policy
from remit_server.cli.ask import add_common_arguments
from remit_server.cli.console import print_json, say, styled
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.usage import WrongUsage, json_object
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.policies import InForce, load_in_force, problems_of_rules
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="policy_command", metavar="explain|check", required=True)
    explained = commands.add_parser("explain", help="the decision about an action, with every reason")
    add_common_arguments(explained)
    explained.add_argument("--policy", type=Path, help="decide by this file instead of the policy in force")
    given = explained.add_mutually_exclusive_group(required=True)
    given.add_argument("--action", metavar="JSON", help='such as \'{"syscall": "fs.write", "path": "src/a.py"}\'')
    given.add_argument("--jsonl", action="store_true", help="one action a line on stdin, one decision a line on stdout")
    check = commands.add_parser("check", help="read policy files and say what is wrong with them")
    add_common_arguments(check)
    check.add_argument("files", nargs="*", type=Path, help="policy files (default: those in force)")


def run(arguments: argparse.Namespace) -> int:
    """Explain or check."""
    if arguments.policy_command == "check":
        return _check(arguments)
    with closing(_loaded(arguments)) as loaded:
        if arguments.jsonl:
            return _explain_lines(loaded.policy, sys.stdin)
        decision = explained(loaded.policy, arguments.action)
    print_json(decision) if arguments.json else _show(decision)
    return DENIED if decision["verdict"] == "deny" else DONE


def explained(policy: Policy, text: str) -> dict[str, Any]:
    """The decision about an action in JSON text. Raises WrongUsage naming the field."""
    form = json_object(text, "the action cannot be judged", '`{"syscall": "fs.read", "path": "README.md"}`')
    try:
        return explain(policy, *parse_asked(form, policy))
    except ActionError as error:
        raise WrongUsage(error.what, error.why, error.fix) from error


def _loaded(arguments: argparse.Namespace) -> InForce:
    if arguments.policy is None:
        return load_in_force(Settings.from_environment(arguments.workspace))
    try:
        return InForce(load_policy(arguments.policy))
    except PolicyError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.POLICY_INVALID) from error


def _explain_lines(policy: Policy, lines: Iterable[str]) -> int:
    """One decision a line; a bad line answers with an error in its place, and the rest goes on."""
    code = DONE
    for line in lines:
        if not line.strip():
            continue
        try:
            print_json(explained(policy, line))
        except WrongUsage as error:
            print_json({"error": error.payload().model_dump(mode="json")})
            code = FAILED
    return code


def _show(decision: dict[str, Any]) -> None:
    colour = {"allow": "green", "require_review": "yellow"}.get(decision["verdict"], "red")
    say(f"{styled(decision['verdict'], colour)} · risk {decision['risk']}")
    for reason in decision["reasons"]:
        place = f"  ({reason['file']}:{reason['line']})" if reason["file"] else ""
        say(f"  {reason['action']:>14}  {reason['rule'] or reason['layer']}: {reason['reason']}{place}")


def _check(arguments: argparse.Namespace) -> int:
    settings = Settings.from_environment(arguments.workspace)
    in_force = [p for p in (settings.person_policy, settings.project_policy) if p.exists()]
    problems: list[str] = []
    programs = [file for file in arguments.files if file.suffix == ".py"]
    problems += _wrong_rules(settings, programs, in_force=not arguments.files)
    for file in (file for file in arguments.files or in_force if file not in programs):
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


def _wrong_rules(settings: Settings, files: Iterable[Path], *, in_force: bool) -> list[str]:
    """What is wrong with rules that are programs: with these files, or with those in force."""
    try:
        rules = load_rules(settings.person_rules) if in_force else tuple(load_rule(file) for file in files)
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in problems_of_rules(rules, settings)]
