"""`remit model list|use|check|pull`: lists models, connects one, checks one, and downloads one."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from remit_governance.visible import visible_again
from remit_server.cli.commands import model_list, model_pull, model_use
from remit_server.cli.console import complain, print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.trials.judging import interval
from remit_server.cli.trials.requests import SHIPPED, read_requests
from remit_server.cli.trials.running import Outcome, run_trial
from remit_server.models.check import ModelReport, check_model
from remit_server.runtime.config.layers import resolve
from remit_server.runtime.settings import Settings, engine_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="model_command", metavar="list|use|check|pull")
    parser.set_defaults(model_run=model_use.run, model=None, json=False)
    model_use.add_arguments(commands.add_parser("use", help="connect a model: try one step, and keep it as yours"))
    check = commands.add_parser("check", help="load the model in its own process and run one governed step")
    check.add_argument("model", nargs="?", help="as REMIT_MODEL names it (default: the configured one)")
    check.add_argument(
        "--requests",
        nargs="?",
        type=Path,
        const=SHIPPED,
        metavar="FILE",
        help="ask it twelve things, or those in FILE, in scratch folders, and count what comes out right",
    )
    check.add_argument("--json", action="store_true", help="one JSON object, for machines")
    check.set_defaults(model_run=run_check)
    model_list.add_arguments(
        commands.add_parser("list", help="the models you can use: on disk, on local servers, hosted")
    )
    model_pull.add_arguments(commands.add_parser("pull", help="pull a model from the Hugging Face hub"))


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen command."""
    code: int = arguments.model_run(arguments)
    return code


def run_check(arguments: argparse.Namespace) -> int:
    """Checks the model; where it cannot be used, prints what is missing and the fix."""
    form = resolve(None).form
    report = asyncio.run(check_model(arguments.model or form.model.name, engine_options(form)))
    if arguments.json:
        problem = report.problem.model_dump(mode="json") if report.problem else None
        print_json({**dataclasses.asdict(replace(report, problem=None)), "problem": problem})
    elif report.problem is not None:
        complain(report.problem, as_json=False)
    else:
        say(f"{report.name} on {report.device}: {describe_report(report)}")
    if report.ok and arguments.requests is not None:
        return asyncio.run(_try(arguments.requests, arguments.model, as_json=arguments.json))
    return DONE if report.ok else FAILED


async def _try(file: Path, model: str | None, *, as_json: bool) -> int:
    """Asks the requests of a file and says what came of each, then how many came out right. 1 where none did."""
    chosen, settings = read_requests(file), Settings.from_environment(Path.cwd(), model=model)
    found = list[Outcome]()
    async with aclosing(run_trial(chosen, settings)) as outcomes:
        async for outcome in outcomes:
            found.append(outcome)
            if as_json:
                print_json({**dataclasses.asdict(outcome), "right": outcome.right})
            else:
                say(describe_outcome(outcome))
    right, damage = sum(each.right for each in found), sum(each.damage for each in found)
    low, high = interval(right, len(found))
    if as_json:
        print_json({"right": right, "of": len(found), "interval": [low, high], "damage": damage})
    else:
        share = f"{right} of {len(found)} came out right ({low:.0%} to {high:.0%})"
        say(f"{share}, {damage} unintended file changes")
    return DONE if right else FAILED


def describe_outcome(outcome: Outcome) -> str:
    """Returns one request of a trial as one line."""
    mark = style_text("✓", "green") if outcome.right else style_text("✗", "red")
    why = "" if outcome.right else f": {'; '.join(outcome.missed)} ({outcome.status})"
    return f"{mark} {visible_again(outcome.ask, 'show')}{visible_again(why, 'show')} · {outcome.seconds:.1f} s"


def describe_report(report: ModelReport) -> str:
    """Returns the result of a model check as one line."""
    if not report.calls:
        return "nothing to load, and no step to try"
    known = [
        f"ready in {report.load_s:.1f} s",
        f"{report.memory_bytes / 2**20:.0f} MiB" if report.memory_bytes else "",
        f"profile {report.profile}" if report.profile else "",
        f"one step{f' of {report.tokens} tokens' if report.tokens else ''} in {report.step_s:.1f} s",
        f"first token after {report.first_token_s * 1000:.0f} ms" if report.first_token_s else "",
        f"{report.tokens_per_s:.0f} tokens/s" if report.tokens_per_s else "",
        f"calls {' → '.join(report.calls)}",
    ]
    return ", ".join(filter(None, known))
