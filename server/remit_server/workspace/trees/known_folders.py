"""Finds what folders hold that concerns a command, and reads a folder again only if it changed (SEC-02, POL-16)."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from remit_server.workspace.content.open_files import is_transient

MAX_ENTRIES = 10_000_000
MAX_SECONDS = 30.0

_SETTLED_NS = 2_000_000_000
"""A folder that changed more recently may change again and keep its time, because file systems' clocks tick slowly."""
_KEEPS_TIMES = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs"})
"""Local file systems that give a folder a new time whenever a name in it is created or removed."""
_MOUNTS = Path("/proc/self/mountinfo")

Choose = Callable[[str, Iterable[str]], list[str]]
"""Takes a folder's relative path and names in it; returns the names that matter. The answer depends on these alone."""


class Folder(NamedTuple):
    """A folder by its relative path: the number of its `entries`, the names of its `folders`, the names that were
    `chosen` (of files and folders), the names of entries that are neither file, folder nor link (`odd`), and whether
    the folder may be a git repository or have one (`git`)."""

    relative: str
    entries: int
    folders: tuple[str, ...]
    chosen: tuple[str, ...]
    odd: tuple[str, ...]
    git: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What a tree holds: `telling` are the folders with chosen or odd entries, each after its parent; `repositories`
    are the paths of folders that may be a repository or have one. `whole` is False if the tree was too large to be
    searched.
    """

    telling: tuple[Folder, ...]
    repositories: tuple[str, ...]
    whole: bool = True


LookAgain = Callable[[], Survey]
"""Returns what a tree holds now. Raises OSError as `KnownFolders.survey` does."""

_Times = tuple[int, int, int]
"""The values that show a change of a folder: its device, its inode, and the time of its last change in nanoseconds."""


@dataclass(slots=True)
class _Tree:
    """The folders of a tree by their paths, and the `last` survey. `settled` has the times that tell whether the survey
    still holds, or is None if the times of some folder cannot be relied on."""

    root: str
    choose: Choose
    device: int | None
    folders: dict[str, tuple[_Times, Folder]] = field(default_factory=dict[str, tuple[_Times, Folder]])
    last: Survey | None = None
    at: float = 0.0
    settled: tuple[tuple[str, _Times], ...] | None = None

    def is_unchanged(self) -> bool:
        """Returns whether every folder is as it was."""
        try:
            return self.settled is not None and all(self.times(place) == times for place, times in self.settled)
        except OSError:
            return False

    def times(self, place: str) -> _Times:
        """Returns the values that show a change of the folder; only the root may be a link. Raises OSError."""
        # A Path for each of some thousand folders would cost more than the call.
        status = os.stat(place, follow_symlinks=place == self.root)  # noqa: PTH116
        return status.st_dev, status.st_ino, status.st_ctime_ns


@dataclass(slots=True)
class KnownFolders:
    """The surveys of some trees, each with one `Choose` function. Several threads may use it."""

    _trees: dict[Path, _Tree] = field(default_factory=dict[Path, _Tree], repr=False)

    def survey(self, root: Path, choose: Choose, name: str = "", within_s: float = 0.0) -> Survey:
        """Returns what `root` and the folders below it hold, now or at most `within_s` seconds ago. `name` is the
        relative path that `root` itself gets.

        A folder that is gone or that this user may not read counts as empty, because a command cannot read it either.
        Raises OSError if a folder's path is too long for the system, because a command can go there step by step, and
        if the system fails for a moment, because a command may read the folder afterwards.
        """
        tree = self._trees.get(root)
        if tree is None or tree.choose is not choose:
            tree = self._trees[root] = _Tree(str(root), choose, _device_of(root))
        begun = time.monotonic()
        if tree.last is None or begun - tree.at > within_s:
            if tree.last is None or not tree.is_unchanged():
                tree.last, tree.settled = _walk(tree, name)
            tree.at = begun
        return tree.last


def _walk(tree: _Tree, name: str) -> tuple[Survey, tuple[tuple[str, _Times], ...] | None]:
    left, end = MAX_ENTRIES, time.monotonic() + MAX_SECONDS
    telling: list[Folder] = []
    repositories: list[str] = []
    known: dict[str, tuple[_Times, Folder]] = {}
    all_settled = True
    pending = [(name, tree.root)]
    while pending:
        relative, place = pending.pop()
        times, folder = _look(tree, relative, place)
        if times is None:
            all_settled = False
        else:
            known[place] = times, folder
        left -= folder.entries
        if left < 0 or time.monotonic() > end:
            return Survey(tuple(telling), tuple(repositories), whole=False), None
        if folder.chosen or folder.odd:
            telling.append(folder)
        if folder.git:
            repositories.append(relative)
        prefix = f"{relative}/" if relative else ""
        pending += [(prefix + each, f"{place}/{each}") for each in folder.folders]
    tree.folders = known
    settled = tuple((place, times) for place, (times, _) in known.items()) if all_settled else None
    return Survey(tuple(telling), tuple(repositories)), settled


def _look(tree: _Tree, relative: str, place: str) -> tuple[_Times | None, Folder]:
    """Returns a folder and its times, by which a later change is noticed; None for times that cannot be relied on."""
    try:
        times = tree.times(place)
        kept = tree.folders.get(place)
        if kept is not None and kept[0] == times:
            return kept
        folder = _scan(tree.choose, relative, place)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG or is_transient(error):
            raise
        return None, Folder(relative, 0, (), (), (), git=False)
    settled = times[0] == tree.device and time.time_ns() - times[2] > _SETTLED_NS
    return times if settled else None, folder


def _scan(choose: Choose, relative: str, place: str) -> Folder:
    files: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    odd: list[str] = []
    entries = 0
    with os.scandir(place) as found:
        for entry in found:
            entries += 1
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_symlink():  # what a link leads to is judged under its own name
                links.append(entry.name)
            else:
                odd.append(entry.name)
    chosen = choose(relative, files) + choose(relative, folders)
    git = ".git" in folders or "HEAD" in files or "HEAD" in links
    return Folder(relative, entries, tuple(folders), tuple(chosen), tuple(odd), git)


def _device_of(root: Path) -> int | None:
    """Returns the device of a tree whose folders' times can be relied on, else None."""
    if sys.platform != "linux":
        return None
    try:
        here, mounts = os.path.realpath(root), _MOUNTS.read_text(errors="surrogateescape")
        kinds = [(_plain(line.split()[4]), line.partition(" - ")[2].split()[0]) for line in mounts.splitlines()]
        above = [(place, kind) for place, kind in kinds if place == "/" or f"{here}/".startswith(f"{place}/")]
        # If two mounts have the same place, the later one covers the other.
        _, kind = max(reversed(above), key=lambda each: len(each[0]))
        return root.stat().st_dev if kind in _KEEPS_TIMES else None
    except (OSError, IndexError, ValueError):
        return None


def _plain(place: str) -> str:
    """Returns a mount's place, in which the kernel writes blanks and backslashes as octal numbers."""
    return place.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
