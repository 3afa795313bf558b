"""`remit model list|use|check|pull`: lists models, connects one, checks one, and downloads one."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit_governance.visible import visible, visible_again
from remit_server.cli.console import complain, print_json, print_result, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.trials import SHIPPED, Outcome, interval, read_requests, run_trial
from remit_server.cli.usage import WrongUsage
from remit_server.counted import counted
from remit_server.errors import ModelUnavailable
from remit_server.machine.installed import how_to_install
from remit_server.models.check import ModelReport, check_model
from remit_server.models.finding import Choice, advice, find_choices
from remit_server.models.local.hub.cache import HubName, cache_folder, hub_name
from remit_server.models.local.hub.model_files import machine_memory
from remit_server.runtime.config.layers import resolve
from remit_server.runtime.connecting import connect_model, describe_connected
from remit_server.runtime.settings import Settings, engine_options

if TYPE_CHECKING:
    from remit_server.models.local.hub.model_files import PullPlan
    from remit_server.models.local.hub.pull import PullProgress


MIB = 1 << 20
EVERY_S = 0.25
"""The interval of progress reports in seconds."""
PROMPT = "Which one? Its number, or a name such as ollama:NAME or openai:NAME@http://127.0.0.1:8080/v1: "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="model_command", metavar="list|use|check|pull")
    parser.set_defaults(model_run=_use, model=None, json=False)

    def declare(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary)

    use = declare("use", "connect a model: try one step, and keep it as yours")
    use.add_argument("model", nargs="?", help="as `remit model list` names it (default: choose from that list)")
    use.add_argument("--json", action="store_true", help="print one JSON object")
    use.set_defaults(model_run=_use)
    check = declare("check", "load the model in its own process, and try one step in which it must declare an intent")
    check.add_argument("model", nargs="?", help="as `remit model list` names it (default: the configured one)")
    check.add_argument(
        "--requests",
        nargs="?",
        type=Path,
        const=SHIPPED,
        metavar="FILE",
        help="ask it twelve things, or those in FILE, in scratch folders, and count what comes out right",
    )
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(model_run=_check)
    listed = declare("list", "the models you can use: on disk, on local servers, hosted")
    listed.add_argument("--json", action="store_true", help="print one JSON object per line")
    listed.set_defaults(model_run=_list)
    pulled = declare("pull", "download a model from the Hugging Face hub, which Remit then loads itself")
    pulled.add_argument("name", metavar="ORG/NAME[@REVISION]", help="a repository of the hub in MLX format")
    pulled.add_argument("--json", action="store_true", help="print one JSON object per line")
    pulled.set_defaults(model_run=_pull)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen command."""
    code: int = arguments.model_run(arguments)
    return code


def _list(arguments: argparse.Namespace) -> int:
    """Looks for models, lists them and marks the configured one."""
    choices = look()
    for choice in choices:
        print_result({**asdict(choice), "usable": choice.problem is None}, draw_choice(choice), as_json=arguments.json)
    if not arguments.json and (how := advice(choices)):
        say(how)
    return DONE


def look() -> Sequence[Choice]:
    """Returns every model that can be chosen. Raises SetupError if the configuration cannot be read."""
    return asyncio.run(find_choices(os.environ, resolve(None).form.model.name))


def draw_choice(choice: Choice) -> str:
    """Returns one model as one line."""
    name = visible(choice.reference, "show") + ("" if choice.whole else "NAME")
    mark = "*" if choice.configured else " "
    problem = choice.problem and style_text(f"cannot be used: {visible(choice.problem, 'show')}", "yellow")
    sent = choice.sent_to and f"sent to {choice.sent_to}"
    return " · ".join(
        filter(None, [f"{mark} {style_text(name, 'bold')}", visible(choice.about, "show"), sent, problem])
    )


def _use(arguments: argparse.Namespace) -> int:
    """Tries the model and keeps it; if it cannot be used, says why and keeps nothing."""
    reference = arguments.model or choose()
    if reference is None:
        say("nothing was changed")
        return DONE
    if not arguments.json:
        say(f"trying one step with {visible_again(reference, 'show')} …")
    connected = asyncio.run(connect_model(reference, None))
    problem = connected.report.problem
    if arguments.json:
        told = {**asdict(replace(connected.report, problem=None)), "sent_to": connected.sent_to}
        kept = None if connected.file is None else str(connected.file)
        print_json({**told, "kept_in": kept, "problem": problem.model_dump(mode="json") if problem else None})
    elif problem is not None:
        complain(problem, as_json=False)
    else:
        say(describe_connected(connected))
    return DONE if problem is None else FAILED


def choose() -> str | None:
    """Shows the models that were found, and asks for one; returns its reference, or None if the person leaves."""
    choices = look()
    for number, choice in enumerate(choices, 1):
        say(f"{number:3} {draw_choice(choice)}")
    if how := advice(choices):
        say(how)
    try:
        return meant(input(PROMPT), choices)
    except (EOFError, KeyboardInterrupt):
        say("")
        return None


def meant(answer: str, choices: Sequence[Choice]) -> str | None:
    """Returns the reference for an answer: a number of the list, or a reference itself. Raises WrongUsage."""
    answer = answer.strip()
    if not answer.isdecimal():
        return answer or None
    if not 1 <= int(answer) <= len(choices):
        raise WrongUsage("no model was chosen", f"the list has no number {answer}", f"give 1 to {len(choices)}")
    choice = choices[int(answer) - 1]
    if choice.whole:
        return choice.reference
    name = input(f"Which model of {choice.sent_to}? ").strip()
    return f"{choice.reference}{name}" if name else None


def _check(arguments: argparse.Namespace) -> int:
    """Checks the model; where it cannot be used, prints what is missing and the fix."""
    form = resolve(None).form
    report = asyncio.run(check_model(arguments.model or form.model.name, engine_options(form)))
    if arguments.json:
        problem = report.problem.model_dump(mode="json") if report.problem else None
        print_json({**dataclasses.asdict(replace(report, problem=None)), "problem": problem})
    elif report.problem is not None:
        complain(report.problem, as_json=False)
    else:
        say(describe_report(report))
    if report.ok and arguments.requests is not None:
        return asyncio.run(_try(arguments.requests, arguments.model, as_json=arguments.json))
    return DONE if report.ok else FAILED


async def _try(file: Path, model: str | None, *, as_json: bool) -> int:
    """Makes the requests of a file, and prints the outcome of each and the share that came out right. Exit code 1 if
    none did."""
    chosen, settings = read_requests(file), Settings.from_environment(Path.cwd(), model=model)
    found = list[Outcome]()
    async with aclosing(run_trial(chosen, settings)) as outcomes:
        async for outcome in outcomes:
            found.append(outcome)
            print_result(
                {**dataclasses.asdict(outcome), "right": outcome.right}, describe_outcome(outcome), as_json=as_json
            )
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
        return f"{report.name}, which has nothing to load and is always ready"
    known = [
        f"ready in {report.load_s:.1f} s",
        f"{report.memory_bytes / 2**20:.0f} MiB" if report.memory_bytes else "",
        f"profile {report.profile}" if report.profile else "",
        f"one step{f' of {report.tokens} tokens' if report.tokens else ''} in {report.step_s:.1f} s",
        f"first token after {report.first_token_s * 1000:.0f} ms" if report.first_token_s else "",
        f"{report.tokens_per_s:.0f} tokens/s" if report.tokens_per_s else "",
        f"calls {' → '.join(report.calls)}",
    ]
    return f"{report.name} on {report.device}: {', '.join(filter(None, known))}"


def _pull(arguments: argparse.Namespace) -> int:
    """Pulls the model. Run again, an interrupted pull resumes."""
    name = hub_name(arguments.name)
    if name is None:
        fix = "give one such as `mlx-community/Qwen3-4B-4bit`"
        raise WrongUsage(f"`{arguments.name}` cannot be pulled", "it is not the name of a repository on the hub", fix)
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelUnavailable("nothing can be pulled", "not installed: huggingface_hub", how_to_install("mlx"))
    # Imported only here: it takes half a second, and the other commands of `remit model` need no network.
    from remit_server.machine.free_space import free_disk
    from remit_server.models.local.hub.pull import plan_pull, pull

    cache = cache_folder(os.environ)
    plan = plan_pull(name, cache)
    announce(name, plan, free_disk(cache), as_json=arguments.json)
    model = pull(name, plan, cache, make_reporter(as_json=arguments.json))
    print_result(
        {"kind": "pulled", "reference": str(name), **asdict(model)},
        f"pulled `{name}`: use it with REMIT_MODEL={name}, or try it with `remit model check {name}`",
        as_json=arguments.json,
    )
    return DONE


def announce(name: HubName, plan: PullPlan, free: int, *, as_json: bool) -> None:
    """Prints how much will be downloaded, and whether disk and memory suffice."""
    memory = machine_memory()
    fits = plan.memory_needed <= memory
    if as_json:
        sizes = {"bytes": plan.size, "bytes_to_load": plan.to_load, "disk_free": free}
        needs = {"memory_needed": plan.memory_needed, "memory": memory, "fits": fits}
        print_json({"kind": "plan", "reference": str(name), "commit": plan.commit, **sizes, **needs} | _files_of(plan))
        return
    say(
        f"{name} at {plan.commit[:12]}: {counted(len(plan.files), 'file')}, {plan.size / MIB:,.1f} MiB, "
        f"{plan.to_load / MIB:,.1f} MiB to pull; {free / MIB:,.0f} MiB of disk are free"
    )
    if not fits:
        needed = f"needs {plan.memory_needed / MIB:,.0f} MiB of memory, this machine has {memory / MIB:,.0f}"
        say(f"warning: the model {needed}; Ctrl-C stops here")


def make_reporter(*, as_json: bool) -> Callable[[PullProgress], None]:
    """Returns a function that shows progress: as JSON lines, on one line of a terminal that is overwritten, or not."""
    last = 0.0

    def tell(progress: PullProgress) -> None:
        nonlocal last
        now, over = time.monotonic(), progress.done == progress.total
        if now - last < EVERY_S and not over:
            return
        last = now
        if as_json:
            print_json({"kind": "progress", **asdict(progress)})
        elif sys.stderr.isatty():
            done, total = progress.done / MIB, progress.total / MIB
            sys.stderr.write(
                f"\r\x1b[K{done:,.1f} of {total:,.1f} MiB · {visible(progress.file, 'show')}" + ("\n" if over else "")
            )
            sys.stderr.flush()

    return tell


def _files_of(plan: PullPlan) -> dict[str, object]:
    return {"files": [{"name": f.name, "size": f.size, "here": plan.here[f.name]} for f in plan.files]}
