"""Where a command has no layer it can change nothing of the workspace, and that is said before and after (BOX-05)."""

from __future__ import annotations

from collections.abc import Sequence

from remit_governance.policy.matching.scripts import in_scratch, parts_of
from remit_governance.values import Action
from remit_server.sandbox.ports import CommandOutput, Sandbox

_READ_ONLY = b"Read-only file system"


def describe_read_only(actions: Sequence[Action], sandbox: str) -> tuple[str, ...]:
    """Says before a command runs that what its line writes in the workspace will fail there; nothing where its writes
    are held back in a layer, or none is known."""
    lines = (parts_of(action).actions for action in actions if action.script is not None and not action.held)
    written = (each.path for parts in lines for each in parts if each.syscall == "fs.write")
    if not any(path and not path.startswith("/") and not in_scratch(path) for path in written):
        return ()
    return (f"what it writes in the workspace will fail: a command sees it read-only in `{sandbox}` here",)


def explain_read_only(output: CommandOutput, sandbox: Sandbox) -> tuple[str, ...]:
    """Says after a command ran that something failed for being inside; starts nothing that was not started before."""
    if _READ_ONLY not in output.stdout + output.stderr or (isolation := sandbox.isolation()).layers:
        return ()
    why = f"a command sees the workspace read-only in `{sandbox.name}` here"
    helps = isolation.read_only or "install bubblewrap"
    fix = f"write files by the tools for that, or have the person see `remit sandbox check`: {helps}"
    return (f"something was not written, for {why}: {fix}",)
