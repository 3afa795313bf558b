"""Takes a command line apart into actions: each command, and each file that it writes or reads (CMD-01)."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from remit_governance.policy.matching.paths import normalise
from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.programs import is_builtin
from remit_governance.values import Action

SCRATCH = ("/tmp/", "/var/tmp/")  # noqa: S108  names in the sandbox


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a command line.

    Each of `actions` is judged, and the strictest decision counts. Each of `shadows` (wrappers, other spellings of a
    program) counts only if a rule denies it. If a rule denies one of `suspects`, a person is asked, because it is not
    known whether it runs. `doubts` say why a person has to look, whatever was decided.
    """

    actions: tuple[Action, ...]
    shadows: tuple[Action, ...]
    suspects: tuple[Action, ...]
    doubts: tuple[str, ...]


def parts_of(action: Action) -> Parts:
    """Returns the parts of an action with a `script`; there is always at least one action."""
    assert action.script is not None
    reading = read_script(action.script)
    whole = replace(action, script=None)
    programs = [argv for argv in reading.commands if not is_builtin(argv[0])]
    own = [argv for argv in reading.commands if is_builtin(argv[0])]
    runs = [replace(whole, command=argv, path=None) for argv in programs or own]
    files = [
        replace(whole, syscall=syscall, command=None, path=_place(action.cwd, path), size=None)
        for syscall, paths in (("fs.write", reading.writes), ("fs.read", reading.reads))
        for path in paths
        if not (syscall == "fs.write" and in_scratch(path))
    ]
    if not runs:
        # No known command runs, so the whole line is the action, which no rule for a program matches.
        runs = [replace(whole, command=("sh", "-c", action.script))]
    shadows = [replace(whole, command=argv, path=None) for argv in (*reading.wrappers, *(own if programs else ()))]
    suspects = [replace(whole, command=argv, path=None) for argv in reading.suspects]
    return Parts((*runs, *files), tuple(shadows), tuple(suspects), (*action.doubts, *reading.doubts))


def in_scratch(path: str) -> bool:
    """Tells whether a path is in a scratch folder. Each command has its own, which are gone after it."""
    return f"{normalise(path)}/".startswith(SCRATCH)


def _place(cwd: str | None, path: str) -> str:
    return path if cwd is None or path.startswith("/") else posixpath.join(cwd, path)
