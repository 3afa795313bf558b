"""Which sandbox this machine has (BOX-01)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from remit_server.sandbox.advice import Fallback, NoSandbox, sandbox_advice, this_machine
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.ports import RuntimeName, Sandbox

CHOICE = "REMIT_SANDBOX"
RUNTIMES: tuple[RuntimeName, ...] = get_args(RuntimeName)

# In order; the next is looked at only where one's program is missing.
_ORDER: dict[str, tuple[RuntimeName, ...]] = {
    "linux": ("bubblewrap", "podman", "docker"),
    "darwin": ("seatbelt", "podman", "docker"),
}
_ELSEWHERE: tuple[RuntimeName, ...] = ("podman", "docker")
_PROGRAMS: dict[RuntimeName, str] = {
    "bubblewrap": "bwrap",
    "podman": "podman",
    "docker": "docker",
    "seatbelt": "sandbox-exec",
}


def choose_sandbox(
    workspace: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Sandbox:
    """Returns the adapter that `REMIT_SANDBOX` names in the person's own environment, else the first whose program is
    there.

    Whether it works here is its own `isolation()` to find out, later. What builds the sandbox is never taken from
    `workspace`.
    """
    chosen = (os.environ if environment is None else environment).get(CHOICE, "")
    if chosen and chosen not in RUNTIMES:
        return NoSandbox(f"{CHOICE} is `{chosen}`", f"set it to one of {', '.join(RUNTIMES)}, or leave it away")
    named: RuntimeName | None = next((name for name in RUNTIMES if name == chosen), None)
    name = named or best_runtime(sys.platform, _is_there(workspace))
    taken = sandbox_named(name, workspace)
    first = _ORDER.get(sys.platform, _ELSEWHERE)[0]
    if named is not None or name == first:
        return taken
    return Fallback(taken, _PROGRAMS[first], sandbox_advice(this_machine()))


def best_runtime(platform: str, is_there: Callable[[str], bool]) -> RuntimeName:
    """Returns the first of this system's whose program is there, or the first, which then says how to get it."""
    order = _ORDER.get(platform, _ELSEWHERE)
    there: RuntimeName | None = next((name for name in order if is_there(_PROGRAMS[name])), None)
    return there or order[0]


def sandbox_named(name: RuntimeName, workspace: Path | None = None) -> Sandbox:
    """Returns that adapter, whatever else there is."""
    from remit_server.sandbox.containers.container_sandbox import Containers
    from remit_server.sandbox.seatbelt.seatbelt import Seatbelt

    match name:
        case "bubblewrap":
            return Bubblewrap(workspace=workspace)
        case "podman" | "docker":
            return Containers(name, workspace)
        case "seatbelt":
            return Seatbelt()
        case "none":
            return NoSandbox(f"{CHOICE} is `none`", f"leave {CHOICE} away, or set it to a sandbox that you have")


def _is_there(workspace: Path | None) -> Callable[[str], bool]:
    import shutil

    from remit_server.sandbox.outcome import trusted_path

    path = trusted_path(workspace)
    return lambda program: shutil.which(program, path=path) is not None
