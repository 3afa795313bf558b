"""Finds the paths of the workspace that a command must not see: files that policy denies reading, and pipes, sockets
and devices that lead outside (SEC-02).
"""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from remit_governance.policy.decision.evaluate import NO_RULE
from remit_governance.policy.decision.rule_paths import RulePaths
from remit_governance.values import Decision, Verdict
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.open_files import is_transient
from remit_server.workspace.paths.hard_links import files_of
from remit_server.workspace.trees.known_folders import KnownFolders

MAX_HIDDEN = 2_000


@dataclass(frozen=True, slots=True)
class DeniedReads:
    """Which paths policy denies reading. `paths` says which paths a rule may deny, judged by their names alone, and
    `look` returns policy's decision on one path. Paths that no rule names are not hidden."""

    paths: RulePaths
    look: Callable[[str], Decision]

    def denied(self, relative: str) -> bool:
        """Returns whether a rule denies reading a path, which is relative to the workspace."""
        if not self.paths.concern(relative):
            return False
        decision = self.look(relative)
        return decision.verdict is Verdict.DENY and decision.deciding.code != NO_RULE


def find_hidden_paths(root: Path, reads: DeniedReads, folders: KnownFolders, name: str = "") -> tuple[Path, ...]:
    """Returns the files and folders below `root` that a command must not see. `name` is the relative path by which
    policy knows `root`, and empty for the workspace itself.

    Pipes, sockets and devices are hidden too, because they can be written to even on a read-only mount, and a process
    outside may read from them. `folders` remembers folders, so that unchanged ones are not read again.

    Raises ToolError (`limit_reached`) if not all of them can be found, and OSError if the system fails for a moment, so
    that the command does not run with an incomplete list.
    """
    hidden: dict[Path, None] = {}
    for path in chain(_walk(root, reads, folders, name), _other_names(root, hidden)):
        hidden[path] = None
        if len(hidden) > MAX_HIDDEN:
            raise _refuse(
                f"more than {MAX_HIDDEN} files of the workspace would have to be hidden from it",
                "let the policy deny their folder by its own name, such as `vault` and not `vault/**`",
            )
    return tuple(hidden)


def _other_names(root: Path, hidden: Mapping[Path, None]) -> Iterator[Path]:
    """Yields the other names (hard links) of hidden files. Must run after all hidden paths are known."""
    shut = {inode for path in tuple(hidden) for inode in _inodes(path)}
    for relative, _ in files_of(root, shut) if shut else ():
        path = root / relative
        if path not in hidden and hidden.keys().isdisjoint(path.parents):
            yield path


def _inodes(path: Path) -> Iterator[int]:
    """Yields the inode numbers of files with several names: the hidden file itself, or the files in a hidden folder."""
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


def _walk(root: Path, reads: DeniedReads, folders: KnownFolders, name: str) -> Iterator[Path]:
    try:
        survey = folders.survey(root, reads.paths.among, name)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        why = "folders of the workspace are too deep to find what has to be hidden from it"
        raise _refuse(why, "remove them, or open another folder as the workspace") from error
    if not survey.whole:
        raise _refuse(
            "the workspace is too large to find what has to be hidden from it", "open a smaller folder as the workspace"
        )
    shut: set[str] = set()
    for relative, _, _, chosen, odd, _ in survey.telling:
        if shut and _is_within(relative, shut):
            continue
        prefix = f"{relative}/" if relative else ""
        denied = [each for each in chosen if reads.denied(prefix + each)]
        shut.update(prefix + each for each in denied)
        yield from (root / (prefix + each).removeprefix(f"{name}/" if name else "") for each in (*odd, *denied))


def _is_within(relative: str, folders: Container[str]) -> bool:
    return relative in folders or any(relative[: slash.start()] in folders for slash in re.finditer("/", relative))


def _refuse(why: str, fix: str) -> ToolError:
    return ToolError("cannot run the command", why, fix, code=ErrorCode.LIMIT_REACHED)
