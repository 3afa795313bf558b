"""Policy files from disk (effect): the person's own, the project's, and the packaged default (003 §Rule Language)."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.compile import Source, compile_policy
from remit_governance.policy.rules import Policy

MAX_BYTES = 4_000_000
FOLDS_CASE = sys.platform == "darwin"
"""Whether this system's file names usually ignore case."""


def load_policy(
    person: Path | None = None,
    project: Path | None = None,
    fold_case: bool = FOLDS_CASE,
    own: Sequence[str] = (),
) -> Policy:
    """The policy in force: the person's file, else the packaged default; tightened by the project's file, where given.

    A path that is given has to be readable; `own` as for `compile_policy`. Raises PolicyError with every problem found.
    """
    sources = [default_source() if person is None else read_source(person)]
    if project is not None:
        sources.append(read_source(project, project=True))
    return compile_policy(sources, fold_case, own)


def default_source() -> Source:
    """The packaged default policy."""
    path = files("remit_governance.policy") / "default.yaml"
    return Source(str(path), path.read_text(encoding="utf-8"))


def read_source(path: Path, project: bool = False) -> Source:
    """One policy file's text. Raises PolicyError where it cannot be read as UTF-8."""
    try:
        with open(path, "rb", opener=_of_project if project else None) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _unreadable(path, 1, f"the file is over {MAX_BYTES} bytes", "split it")
        return Source(str(path), data.decode("utf-8-sig"), project)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, line, "the file is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise _unreadable(path, 1, f"the file cannot be read: {why}", "check its path and permissions") from None


def _of_project(path: str, flags: int) -> int:
    """A workspace may hold a pipe, at which opening never ends, or a link to a file whose text an error would show."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "no regular file")
    return fd


def _unreadable(path: Path, line: int, message: str, fix: str) -> PolicyError:
    return PolicyError((Problem(str(path), line, 1, message, fix),))
