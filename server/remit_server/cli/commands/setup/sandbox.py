"""`remit sandbox`: tests this machine's isolation from inside, and runs a command as the tools do."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
from dataclasses import replace
from pathlib import Path

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.rule_paths import find_denied_paths
from remit_governance.values import Action, Intent
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import WrongUsage
from remit_server.harness.calls import tags_of
from remit_server.harness.commands.hidden_paths import DeniedReads
from remit_server.harness.commands.repository_elsewhere import Sight, find_sight
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.settings import Settings
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.sandbox.choose import RUNTIMES, choose_sandbox, sandbox_named
from remit_server.sandbox.limits.limits import TEMPLATES
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.probe import broken_of, probe
from remit_server.sandbox.visible.environment import command_environment, places_of
from remit_server.sandbox.visible.toolchains import toolchain_mounts
from remit_server.tools.run.run_command import RUN_COMMAND
from remit_server.workspace.trees.known_folders import KnownFolders

TIMED_OUT = 124


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="sandbox_command", metavar="check|run", required=True)
    checks = "test each property from inside the sandbox; exits 1 if one does not hold"
    check = commands.add_parser("check", help=checks, description=checks)
    runs = "run a command as the tools do, show what it changes, and discard that"
    run_one = commands.add_parser("run", help=runs, description=runs)
    for command in (check, run_one):
        command.add_argument("--runtime", choices=RUNTIMES, help="use this sandbox instead of the default")
        command.add_argument("--json", action="store_true", help="print one JSON object")
    run_one.add_argument(
        "--template",
        choices=tuple(TEMPLATES),
        default="code-executor",
        help="whether it may reach hosts (`integration-test`) or not",
    )
    run_one.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    run_one.add_argument("argv", nargs="+", metavar="CMD", help="the program and its arguments, after `--`")


def run(arguments: argparse.Namespace) -> int:
    """Checks the sandbox, or runs one command."""
    return _check(arguments) if arguments.sandbox_command == "check" else _run(arguments)


def _check(arguments: argparse.Namespace) -> int:
    here = Path.cwd()
    sandbox = sandbox_named(arguments.runtime, here) if arguments.runtime else choose_sandbox(here)
    isolation = sandbox.isolation()
    found = asyncio.run(probe(sandbox, Path.home(), os.getpid())) if isolation.available else ()
    shown = [str(each.place) for each in toolchain_mounts(command_environment(os.environ), here, places_of(os.environ))]
    if arguments.json:
        print_json(
            {**dataclasses.asdict(isolation), "shown": shown, "properties": [dataclasses.asdict(p) for p in found]}
        )
    else:
        say(f"{isolation.name}: {'isolates' if isolation.available else isolation.why}")
        if not isolation.available:
            say(f"  fix: {isolation.fix}")
        for each in found:
            say(f"  {_mark(each.holds, lacked=each.name in isolation.lacks)} {each.name}: {each.detail}")
        if isolation.available:
            because = f": {isolation.read_only}" if isolation.read_only else ""
            read_only = f"fails in the workspace, which is read-only{because}"
            say(f"  what a command writes: {'goes to a layer, and is judged' if isolation.layers else read_only}")
            because = f": {isolation.offline}" if isolation.offline else ""
            say(f"  hosts that a command lists: {'reached by the proxy' if isolation.hosts else f'refused{because}'}")
            say(f"  your toolchains that commands can read: {', '.join(shown) or 'nothing'}")
    return DONE if isolation.available and not broken_of(found, isolation) else FAILED


def _mark(holds: bool, *, lacked: bool) -> str:
    if holds:
        return style_text("✓", "green")
    return "– (not here)" if lacked else style_text("✗", "red")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.keep:
        raise WrongUsage(
            "cannot keep what the command changes",
            "changes reach the workspace only through the agent's tools, where policy judges each file",
            "leave out `--keep`, or use `remit run-tool run_command`",
        )
    here = Path.cwd().resolve()
    sandbox = sandbox_named(arguments.runtime, here) if arguments.runtime else choose_sandbox(here)
    spec = CommandSpec(
        argv=tuple(arguments.argv),
        cwd=here,
        workspace=here,
        environment=command_environment(os.environ),
        timeout_s=TEMPLATES[arguments.template].seconds,
        writes=True,
        template=arguments.template,
    )
    with _sight(here).given_to(spec) as given:
        output = asyncio.run(sandbox.run(given))
    if arguments.json:
        print_json({"runtime": sandbox.isolation().name, "template": arguments.template, **_as_json(output)})
    else:
        _show(output, spec.timeout_s)
    return TIMED_OUT if output.exit_code is None else output.exit_code


def _sight(here: Path) -> Sight:
    """Returns what policy lets the agent's commands see. Raises SetupError if policy cannot be used."""
    in_force = load_in_force(Settings.from_environment(here))
    try:
        asked = Action(
            "fs.read", tool=RUN_COMMAND.name, intent=Intent.EXECUTE, caller_tags=tags_of("model", RUN_COMMAND.name)
        )
        policy = in_force.policy
        reads = DeniedReads(
            find_denied_paths(policy, "fs.read"), lambda path: evaluate(policy, replace(asked, path=path))
        )
        return find_sight(here, reads, KnownFolders())
    finally:
        in_force.close()


def _as_json(output: CommandOutput) -> dict[str, object]:
    return {
        "exit_code": output.exit_code,
        "timed_out": output.timed_out,
        "stopped": output.stopped,
        "truncated": output.truncated,
        "stdout": output.stdout.decode(errors="replace"),
        "stderr": output.stderr.decode(errors="replace"),
        "discarded": [{"path": left.path, "what": _what(left)} for left in output.left],
    }


def _show(output: CommandOutput, seconds: float) -> None:
    for data in (output.stdout, output.stderr):
        if data:
            say(data.decode(errors="replace").rstrip("\n"))
    if output.timed_out:
        say(f"stopped after {seconds:g} s")
    elif output.stopped is not None:
        say(f"stopped: {output.stopped}")
    for left in output.left:
        say(style_text(f"discarded: {left.path} ({_what(left)})", "dim"))


def _what(left: LayerChange) -> str:
    if left.odd:
        return left.odd
    if left.folder:
        return f"{left.folder} folder"
    return "removed" if left.data is None else f"{len(left.data)} bytes"
