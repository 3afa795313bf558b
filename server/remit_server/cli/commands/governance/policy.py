"""`remit policy …`: what policy decides and why, whether its files are valid, and how they change (CLI-01).

The table is `COMMANDS`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from remit_governance.errors import ActionError
from remit_governance.permissions.permissions import PermissionConfig, settle
from remit_governance.policy.decision.recorded import explain
from remit_governance.policy.language.action_form import parse_question
from remit_governance.policy.language.load import load_policy
from remit_governance.policy.rules import Policy
from remit_governance.visible import visible_again
from remit_server.cli.commands.governance.policy_changes import REPLAY, UPDATE
from remit_server.cli.commands.governance.policy_files import CHECK, PROGRAMS, SHOW, TEST
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands, WrongUsage, json_object
from remit_server.runtime.policy.policies import InForce, as_setup_error, load_in_force
from remit_server.runtime.settings import Settings

BLOCK = 1 << 18
"""The most bytes of input that are answered together."""


def _declare_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--policy", type=Path, help="use this file instead of the policy in force")
    parser.add_argument("--hooks", action="store_true", help="by the rules for another agent's calls")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--action", metavar="JSON", help='such as \'{"syscall": "fs.write", "path": "src/a.py"}\'')
    given.add_argument(
        "--jsonl", action="store_true", help="read one action per line from stdin, print one decision per line"
    )


def _explain(arguments: argparse.Namespace) -> int:
    """Explains one action, or one per line; exit code 3 if the single one is denied, 1 if a line cannot be judged."""
    in_force = None if arguments.policy else _in_force(arguments)
    try:
        judge = Judge(in_force.policy, in_force.permissions) if in_force else Judge(_policy_of_file(arguments.policy))
        if arguments.jsonl:
            return _explain_lines(judge, FileIO(sys.stdin.fileno(), closefd=False))
        decision = judge.explain(arguments.action)
    finally:
        if in_force:
            in_force.close()
    print_json(decision) if arguments.json else _show(decision)
    return DENIED if decision["verdict"] == "deny" or "gate" in decision else DONE


def _in_force(arguments: argparse.Namespace) -> InForce:
    return load_in_force(Settings.from_environment(arguments.workspace), hooks=arguments.hooks)


@dataclass(frozen=True, slots=True)
class Judge:
    """What an action is judged by: a policy, and the person's standing answers, none with the policy of a file."""

    policy: Policy
    permissions: PermissionConfig = field(default_factory=PermissionConfig)

    def explain(self, text: str) -> dict[str, Any]:
        """Returns the decision on an action in JSON text. Raises WrongUsage naming the field."""
        form = json_object(text, "the action cannot be judged", '`{"syscall": "fs.read", "path": "README.md"}`')
        try:
            return explain(self.policy, *parse_question(form, self.policy), partial(settle, self.permissions))
        except ActionError as error:
            raise WrongUsage(error.what, error.why, error.fix) from error


def _policy_of_file(file: Path) -> Policy:
    with as_setup_error():
        return load_policy(file)


def _explain_lines(judge: Judge, stream: FileIO) -> int:
    """Prints one decision per line; an invalid line gets an error in its place, and the rest continues.

    All available input is answered before more is read, so that a pipe that asks line by line gets its answers, and the
    output for a file is not flushed per line.
    """
    code = DONE
    for lines in _blocks(stream):
        answers = [_answer(judge, line) for line in lines if line.strip()]
        if any("error" in answer for answer in answers):
            code = FAILED
        if answers:
            ascii_only = sys.stdout.encoding.lower() != "utf-8"
            say("\n".join(json.dumps(answer, ensure_ascii=ascii_only) for answer in answers))
    return code


def _answer(judge: Judge, line: bytes) -> dict[str, Any]:
    try:
        return judge.explain(line.decode("utf-8"))
    except UnicodeDecodeError:
        error = WrongUsage("the action cannot be judged", "the line is not UTF-8", "write JSON as UTF-8")
        return {"error": error.payload().model_dump(mode="json")}
    except WrongUsage as error:
        return {"error": error.payload().model_dump(mode="json")}


def _blocks(stream: FileIO) -> Iterator[list[bytes]]:
    """Yields the complete lines of each read; an incomplete last line is completed by the next read."""
    rest = b""
    while block := stream.read(BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield lines
    yield [rest]


def _show(decision: dict[str, Any]) -> None:
    gate = decision.get("gate")
    word = "refused" if gate else decision["verdict"]
    colour = {"allow": "green", "require_review": "yellow"}.get(word, "red")
    say(f"{style_text(word, colour)} · risk {decision['risk']}")
    if gate:
        say(f"  {'refused':>14}  the intent gate: {gate}")
    for reason in decision["reasons"]:
        place = f"  ({reason['file']}:{reason['line']})" if reason["file"] else ""
        why = f"{reason['rule'] or reason['layer']}: {reason['reason']}{place}"
        say(f"  {reason['action']:>14}  {visible_again(why)}")


COMMANDS: Mapping[str, Subcommand] = {
    "explain": Subcommand(_explain, "show how policy decides an action, with every reason", _declare_explain),
    "check": CHECK,
    "test": TEST,
    "replay": REPLAY,
    "update": UPDATE,
    "show": SHOW,
    "programs": PROGRAMS,
}


WHERE = (
    "Your rules are in `policy.yaml` in your configuration folder, which `remit doctor` names; without one, "
    "the packaged default is in force. A project's rules are in its `.remit/policy.yaml`. docs/policy.md shows how to "
    "write them."
)

COMMAND = Subcommands(COMMANDS, epilog=WHERE)
add_arguments, run = COMMAND.add_arguments, COMMAND.run
