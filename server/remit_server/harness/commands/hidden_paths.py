"""Finds what a command must not see of the workspace: files that policy denies reading, and ways to the outside
(SEC-02).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from remit_governance.policy.decision.denials import find_denials
from remit_governance.policy.decision.evaluate import NO_RULE
from remit_governance.policy.rules import Policy
from remit_governance.values import Decision, Verdict
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.transient import is_transient
from remit_server.workspace.paths.hard_links import files_of
from remit_server.workspace.trees.walk import Limits

MAX_HIDDEN = 2_000
MAX_ENTRIES = 1_000_000
MAX_SECONDS = 30.0


def find_hidden_paths(root: Path, denied: Callable[[str], bool]) -> tuple[Path, ...]:
    """Returns the files and folders below `root` that a command is not to see.

    `denied` says of a relative path whether policy denies reading it. Pipes, sockets and devices are hidden too: they
    can be written to on a read-only mount, and what reads from them is outside.

    Raises ToolError (`limit_reached`) where not all of them can be found, OSError where the system fails for a moment:
    what is not known is not shown.
    """
    hidden: dict[Path, None] = {}
    for path in chain(_walk(root, denied), _other_names(root, hidden)):
        hidden[path] = None
        if len(hidden) > MAX_HIDDEN:
            raise _refuse(
                f"more than {MAX_HIDDEN} files of the workspace would have to be hidden from it",
                "let the policy deny their folder by its own name, such as `vault` and not `vault/**`",
            )
    return tuple(hidden)


def deny_reading(policy: Policy, look: Callable[[str], Decision]) -> Callable[[str], bool]:
    """Returns whether a rule denies reading a path, where `look` is what the policy says of it.

    What no rule speaks of is the command's own business.
    """
    may_deny = find_denials(policy, "fs.read")

    def denied(relative: str) -> bool:
        if not may_deny(relative):
            return False
        decision = look(relative)
        return decision.verdict is Verdict.DENY and decision.deciding.code != NO_RULE

    return denied


def _other_names(root: Path, hidden: Mapping[Path, None]) -> Iterator[Path]:
    """Yields the other names of hidden files: asked for when all others are known."""
    shut = {inode for path in tuple(hidden) for inode in _inodes(path)}
    for relative, _ in files_of(root, shut) if shut else ():
        path = root / relative
        if path not in hidden and hidden.keys().isdisjoint(path.parents):
            yield path


def _inodes(path: Path) -> Iterator[int]:
    """Yields the files with several names among what is hidden: the file itself, or those in the folder."""
    is_folder = path.is_dir() and not path.is_symlink()
    files = [path / name for name, _ in files_of(path)] if is_folder else [path]
    for file in files:
        try:
            status = file.lstat()
        except OSError as error:
            if is_transient(error):
                raise
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            yield status.st_ino


def _walk(root: Path, denied: Callable[[str], bool]) -> Iterator[Path]:
    limits = Limits(MAX_SECONDS, MAX_ENTRIES)
    pending = [("", root)]
    while pending:
        prefix, folder = pending.pop()
        for entry in _entries(folder):
            limits.entries -= 1
            if limits.spent():
                raise _refuse(
                    "the workspace is too large to find what has to be hidden from it",
                    "open a smaller folder as the workspace",
                )
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink():
                continue  # what it leads to is judged under its own name
            if not (is_folder or entry.is_file(follow_symlinks=False)) or denied(prefix + entry.name):
                yield folder / entry.name
            elif is_folder:
                pending.append((f"{prefix}{entry.name}/", folder / entry.name))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Returns a folder's entries; none of one that is gone, or not ours to read: the command cannot read it either.

    Raises ToolError where it cannot be named as a whole: a command goes there step by step. Raises OSError where the
    system fails for a moment, after which a command may read it.
    """
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            why = "folders of the workspace are too deep to find what has to be hidden from it"
            raise _refuse(why, "remove them, or open another folder as the workspace") from error
        if is_transient(error):
            raise
        return []


def _refuse(why: str, fix: str) -> ToolError:
    return ToolError("cannot run the command", why, fix, code=ErrorCode.LIMIT_REACHED)
