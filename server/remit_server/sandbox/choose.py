"""Chooses a sandbox for this machine (BOX-01)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from remit_server.sandbox.advice import Fallback, NoSandbox, sandbox_advice, this_machine
from remit_server.sandbox.bubblewrap.bubblewrap import BWRAP, LAUNCHER, Bubblewrap
from remit_server.sandbox.ports import RuleSandbox, RuntimeName, Sandbox

CHOICE = "REMIT_SANDBOX"
RUNTIMES: tuple[RuntimeName, ...] = get_args(RuntimeName)

# The best first; each is tried if the one before does not isolate.
_ORDER: dict[str, tuple[RuntimeName, ...]] = {
    "linux": ("bubblewrap", "podman", "docker", "landlock"),
    "darwin": ("seatbelt", "podman", "docker"),
}
_ELSEWHERE: tuple[RuntimeName, ...] = ("podman", "docker")
_PROGRAMS: dict[RuntimeName, str] = {
    "bubblewrap": "bwrap",
    "podman": "podman",
    "docker": "docker",
    "seatbelt": "sandbox-exec",
}


def choose_sandbox(workspace: Path | None = None, environment: Mapping[str, str] | None = None) -> Sandbox:
    """Returns the adapter that `REMIT_SANDBOX` names in the person's own environment, else the first that isolates.

    Whether it works here is found out later, by its `isolation()`. The programs that build the sandbox are never taken
    from `workspace`.
    """
    chosen = (os.environ if environment is None else environment).get(CHOICE, "")
    if chosen:
        named: RuntimeName | None = next((name for name in RUNTIMES if name == chosen), None)
        if named is not None:
            return sandbox_named(named, workspace)
        why = f"{CHOICE} is `{chosen}`, which is not the name of a sandbox"
        return NoSandbox(why, f"set it to one of {', '.join(RUNTIMES)}, or unset it")
    taken = [sandbox_named(name, workspace) for name in candidates(sys.platform, _is_there(workspace))]
    less = sandbox_named("landlock-alone", workspace) if sys.platform == "linux" else None
    return Fallback(taken, sandbox_advice(this_machine()), less)


def rule_sandboxes(
    workspace: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[RuleSandbox, ...]:
    """Returns the sandboxes in which a person's own rules may run, the best first (EXT-01): only the one that the
    person named, if rules can run in it, else each that needs no program or whose program is installed.

    Sandboxes that start a process fastest come first, because rules are asked before each call.
    """
    from remit_server.sandbox.containers.container_sandbox import Containers

    made: dict[RuntimeName, Callable[[], RuleSandbox]] = {
        "bubblewrap": lambda: Bubblewrap(workspace=workspace, builder=BWRAP),
        "landlock": lambda: Bubblewrap(workspace=workspace, builder=LAUNCHER),
        "podman": lambda: Containers("podman", workspace),
        "docker": lambda: Containers("docker", workspace),
    }
    chosen = (os.environ if environment is None else environment).get(CHOICE, "")
    here = candidates(sys.platform, _is_there(workspace))
    named: RuntimeName | None = next((name for name in made if name == chosen), None)
    names: list[RuntimeName] = [named] if named else [name for name in made if name in here]
    return tuple(made[name]() for name in names) or (made["bubblewrap"](),)


def candidates(platform: str, is_there: Callable[[str], bool]) -> tuple[RuntimeName, ...]:
    """Returns the sandboxes that may work on this system, the best first: those that need no program, or whose program
    is installed.

    If there are none, returns the best one, whose isolation then says how to get it.
    """
    order = _ORDER.get(platform, _ELSEWHERE)
    there: tuple[RuntimeName, ...] = tuple(name for name in order if name not in _PROGRAMS or is_there(_PROGRAMS[name]))
    return there or order[:1]


def sandbox_named(name: RuntimeName, workspace: Path | None = None) -> Sandbox:
    """Returns the adapter of this name, whether it works here or not."""
    from remit_server.sandbox.containers.container_sandbox import Containers
    from remit_server.sandbox.landlock.landlock_alone import LandlockAlone
    from remit_server.sandbox.seatbelt.seatbelt import Seatbelt

    match name:
        case "bubblewrap":
            return Bubblewrap(workspace=workspace)
        case "landlock":
            return Bubblewrap(workspace=workspace, builder=LAUNCHER)
        case "landlock-alone":
            return LandlockAlone(workspace)
        case "podman" | "docker":
            return Containers(name, workspace)
        case "seatbelt":
            return Seatbelt()
        case "none":
            return NoSandbox(f"{CHOICE} is `none`", f"unset {CHOICE}, or set it to a sandbox that you have")


def _is_there(workspace: Path | None) -> Callable[[str], bool]:
    import shutil

    from remit_server.sandbox.outcome import trusted_path

    path = trusted_path(workspace)
    return lambda program: shutil.which(program, path=path) is not None
