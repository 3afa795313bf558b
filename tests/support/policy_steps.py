"""`remit policy update`, killed at its N-th system call; see `step_by_step`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from step_by_step import Fault, Order, serve


def update(root: Path, order: Order, out: int) -> None:
    """Runs the whole command, in a process of its own; `order.content` is the phrase that confirms it."""
    sys.setprofile(Fault(None, order, out))
    try:
        code = command(root, "--confirm", order.content)
    finally:
        sys.setprofile(None)
    os.write(out, f" {'done' if code == 0 else code}".encode())


def command(root: Path, *words: str) -> int:
    from remit_server.cli.main import main

    return main(["policy", "update", str(root / "new.yaml"), "--workspace", str(root / "shop"), "--json", *words])


if __name__ == "__main__":
    root = Path(sys.argv[1])
    pipe, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what the command says is of no interest here
    # Import everything here, so that the forked commands have it.
    command(root, "--confirm", "apply nothing")
    os.dup2(pipe, 1)
    serve(root, lambda root, order, out: (os.dup2(null, 1), update(root, order, out))[1])
