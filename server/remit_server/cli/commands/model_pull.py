"""`remit model pull org/name[@revision]`: downloads a model, after a statement of its size and whether it fits."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from remit_governance.visible import visible
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import WrongUsage
from remit_server.errors import ModelUnavailable
from remit_server.installed import how_to_install
from remit_server.models.local.hub.cache import HubName, cache_folder, hub_name
from remit_server.models.local.hub.model_files import machine_memory

if TYPE_CHECKING:
    from remit_server.models.local.hub.model_files import PullPlan
    from remit_server.models.local.hub.pull import PullProgress

MIB = 1 << 20
EVERY_S = 0.25
"""The interval of progress reports in seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("name", metavar="ORG/NAME[@REVISION]", help="a repository of the hub in MLX format")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    parser.set_defaults(model_run=run)


def run(arguments: argparse.Namespace) -> int:
    """Pulls the model. Run again, an interrupted pull resumes."""
    name = hub_name(arguments.name)
    if name is None:
        fix = "give one such as `mlx-community/Qwen3-4B-4bit`"
        raise WrongUsage(f"`{arguments.name}` cannot be pulled", "it is not the name of a repository on the hub", fix)
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelUnavailable("nothing can be pulled", "not installed: huggingface_hub", how_to_install("mlx"))
    # Imported only here: it takes half a second, and the other commands of `remit model` need no network.
    from remit_server.machine import free_disk
    from remit_server.models.local.hub.pull import plan_pull, pull

    cache = cache_folder(os.environ)
    plan = plan_pull(name, cache)
    announce(name, plan, free_disk(cache), as_json=arguments.json)
    model = pull(name, plan, cache, make_reporter(as_json=arguments.json))
    if arguments.json:
        print_json({"kind": "pulled", "reference": str(name), **asdict(model)})
    else:
        say(f"pulled `{name}`: use it with REMIT_MODEL={name}, or try it with `remit model check {name}`")
    return DONE


def announce(name: HubName, plan: PullPlan, free: int, *, as_json: bool) -> None:
    """Prints how much will be downloaded, and whether disk and memory suffice."""
    memory = machine_memory()
    fits = plan.memory_needed <= memory
    if as_json:
        sizes = {"bytes": plan.size, "bytes_to_load": plan.to_load, "disk_free": free}
        needs = {"memory_needed": plan.memory_needed, "memory": memory, "fits": fits}
        print_json({"kind": "plan", "reference": str(name), "commit": plan.commit, **sizes, **needs} | _files(plan))
        return
    say(
        f"{name} at {plan.commit[:12]}: {len(plan.files)} files, {plan.size / MIB:,.1f} MiB, "
        f"{plan.to_load / MIB:,.1f} MiB to pull; {free / MIB:,.0f} MiB of disk are free"
    )
    if not fits:
        needed = f"needs {plan.memory_needed / MIB:,.0f} MiB of memory, this machine has {memory / MIB:,.0f}"
        say(f"warning: the model {needed}; Ctrl-C stops here")


def make_reporter(*, as_json: bool) -> Callable[[PullProgress], None]:
    """Returns what shows progress: JSON lines, in a terminal one line that is overwritten, else nothing."""
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


def _files(plan: PullPlan) -> dict[str, object]:
    return {"files": [{"name": f.name, "size": f.size, "here": plan.here[f.name]} for f in plan.files]}
