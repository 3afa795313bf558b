"""Says before and after a command that it cannot change the workspace, if the sandbox gives it no layer (BOX-05)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from remit_governance.policy.matching.scripts import in_scratch, parts_of
from remit_governance.values import Action
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Sandbox

_READ_ONLY = b"Read-only file system"
_DENIED = re.compile(
    r"(\S{1,256}): (?:Permission denied|Operation not permitted)$"
    r"|(?:permission denied|operation not permitted)[:,](?: \w+)? '([^'\n]{1,256})'",
    re.IGNORECASE | re.MULTILINE,
)
"""The messages of programs that use the C library, and of Python and Node."""
_MOST = 50


def describe_read_only(actions: Sequence[Action], sandbox: str) -> tuple[str, ...]:
    """Returns a remark, before a command runs, that its writes in the workspace will fail. Returns none if its writes
    are held back in a layer, or if no write is known."""
    lines = (parts_of(action).actions for action in actions if action.script is not None and not action.held)
    written = (each.path for parts in lines for each in parts if each.syscall == "fs.write")
    if not any(path and not path.startswith("/") and not in_scratch(path) for path in written):
        return ()
    return (f"writing to the workspace will fail: a command sees it read-only in `{sandbox}` here",)


def explain_refused(output: CommandOutput, spec: CommandSpec, sandbox: Sandbox) -> tuple[str, ...]:
    """Returns a remark, after a command ran, that the sandbox made something fail, if that can be known (BOX-13). Runs
    nothing again."""
    said = output.stdout + output.stderr
    denied = _denied_paths(said)
    if _READ_ONLY not in said and not denied:
        return ()
    isolation = sandbox.isolation()
    helps = isolation.read_only or "install bubblewrap"
    fix = f"write files with the tools for files, or have the person run `remit sandbox check`: {helps}"
    if _READ_ONLY in said and not isolation.layers:
        why = f"a command sees the workspace read-only in `{sandbox.name}` here"
        return (f"something was not written, because {why}: {fix}",)
    if isolation.by_rights and (names := [name for name in denied if _is_the_persons(spec.cwd / name, name)]):
        why = f"in `{sandbox.name}` a command can write only to its scratch folder, and cannot open what is hidden"
        return (f"the sandbox refused `{names[0]}`, although its permissions allow it: {why}: {fix}",)
    return ()


def _denied_paths(said: bytes) -> list[str]:
    """Returns the names that programs reported as denied, each once."""
    found = (match[1] or match[2] for match in islice(_DENIED.finditer(said.decode(errors="replace")), _MOST))
    return [*dict.fromkeys(name.strip("'\"`\u2018\u2019") for name in found)]


def _is_the_persons(path: Path, name: str) -> bool:
    """Returns whether the user who runs Remit could write there, so that the sandbox, not a missing right, refused
    it."""
    try:
        if not path.exists():
            return os.access(path.parent, os.W_OK)
        # A file that is not executable may have been refused because the command tried to start it.
        started = "/" in name and path.is_file() and not os.access(path, os.X_OK)
        return os.access(path, os.W_OK) and not started
    except (OSError, ValueError):
        return False
