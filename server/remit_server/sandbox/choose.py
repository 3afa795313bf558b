"""Which sandbox this machine has (003 §Container Runtime Abstraction)."""

from __future__ import annotations

import sys
from pathlib import Path

from remit_server.sandbox.bubblewrap import Bubblewrap
from remit_server.sandbox.nothing import NoSandbox
from remit_server.sandbox.ports import Sandbox


def choose_sandbox(workspace: Path | None = None, hidden: tuple[Path, ...] = ()) -> Sandbox:
    """The best adapter for this system; whether it works here is its own `isolation()` to find out, later.

    What builds the sandbox is never taken from `workspace`; `hidden` are files and folders of it that no command may
    see.
    """
    if sys.platform != "linux":
        why = f"commands cannot be isolated on {sys.platform} yet"
        return NoSandbox(why, "run commands yourself, or use Remit on Linux")
    return Bubblewrap(hidden, workspace=workspace)
