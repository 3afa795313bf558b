"""What folders hold that concerns a command, looked at again only where they have changed (SEC-02, POL-16)."""

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
"""A folder that changed less long ago may change again without another time: clocks of file systems tick slowly."""
_KEEPS_TIMES = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs"})
"""File systems of this machine alone, which give a folder a new time whenever a name in it is made or goes."""
_MOUNTS = Path("/proc/self/mountinfo")

Choose = Callable[[str, Iterable[str]], list[str]]
"""Returns those of the names in a folder, by its relative path, that matter. The same function says the same."""


class Folder(NamedTuple):
    """A folder by its relative path: how many `entries` it has, the names of its `folders`, those that were `chosen`
    (folders may be among them), those of what is neither file nor folder nor link (`odd`), and whether it may be a
    repository of git's, or have one."""

    relative: str
    entries: int
    folders: tuple[str, ...]
    chosen: tuple[str, ...]
    odd: tuple[str, ...]
    git: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What a tree holds: the folders with something `telling` in them, what is chosen or odd, each after the one that
    it is in; and those that may be `repositories`, or have one. Not `whole` where there was more than can be looked at.
    """

    telling: tuple[Folder, ...]
    repositories: tuple[str, ...]
    whole: bool = True


LookAgain = Callable[[], Survey]
"""Returns what a tree holds by now. Raises OSError as `KnownFolders.survey` does."""

_Times = tuple[int, int, int]
"""What changes when a folder does: its device, its number, and the time of its last change."""


@dataclass(slots=True)
class _Tree:
    """The folders of a tree, each by its place, and what was last found; `settled` are those that tell whether that is
    still so, None where not all can."""

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
        """Returns what changes when a folder does; the root may be named by a link. Raises OSError."""
        # A Path for each of some thousand folders would cost more than the look.
        status = os.stat(place, follow_symlinks=place == self.root)  # noqa: PTH116
        return status.st_dev, status.st_ino, status.st_ctime_ns


@dataclass(slots=True)
class KnownFolders:
    """The folders of some trees, as they were found by one choice for each. May be asked by several threads."""

    _trees: dict[Path, _Tree] = field(default_factory=dict[Path, _Tree], repr=False)

    def survey(self, root: Path, choose: Choose, name: str = "", within_s: float = 0.0) -> Survey:
        """Returns what the folders below `root` hold, whose own relative path is `name`, as it is now, or was at most
        `within_s` ago.

        What is gone or not ours to read is empty: a command cannot read it either. Raises OSError where a folder cannot
        be named as a whole, since a command goes there step by step, and where the system fails for a moment, after
        which a command may read it.
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
    """Returns a folder, and the times by which it will be known again, None where it will not."""
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
        # Of two at one place the later one covers the other.
        _, kind = max(reversed(above), key=lambda each: len(each[0]))
        return root.stat().st_dev if kind in _KEEPS_TIMES else None
    except (OSError, IndexError, ValueError):
        return None


def _plain(place: str) -> str:
    """Returns a mount's place, in which the kernel writes blanks and backslashes as octal numbers."""
    return place.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
