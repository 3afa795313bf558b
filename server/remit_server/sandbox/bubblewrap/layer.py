"""What a command wrote: an overlay's upper layer, read as changes once the command is dead (BOX-05).

The layer is laid over the workspace inside the sandbox alone, so that a command may write wherever it likes and nothing
of it reaches the workspace by itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from remit_server.sandbox.landlock import kernel

MAX_FILES = 2_000
MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 100
"""Folders in folders; a program that a person wrote needs a few dozen, one that means harm makes thousands."""
MAX_PATH_BYTES = 3_000
_OPAQUE = "user.overlay.opaque"
_TOO_MUCH = f"it changed more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
_NO_FILE = "it is a link, a pipe or a device"
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_PARTS = ("upper", "work", "merged")
MOUNT_SCRATCH = (
    'for each in "$layer"/scratch/*/; do [ -d "$each" ] || continue; mount -t overlay overlay '
    '-o "lowerdir=$each/lower,upperdir=$each/upper,workdir=$each/work,userxattr" "$each/merged" || exit; done; '
)
"""The part of a shell script that mounts what `Layer.make_scratch` has prepared in the folder `$layer`."""


@dataclass(frozen=True, slots=True)
class LayerChange:
    """One path that a command left otherwise than it found it, in bytes or in being executable. `data` is None where it
    removed the file. `folder` says of a folder that it was made, and nothing in it, or removed.

    `odd` says why it cannot be taken over: it is no regular file, or too large. Then `data` is None where nobody read
    it.
    """

    path: str
    data: bytes | None
    executable: bool = False
    odd: str | None = None
    folder: Literal["made", "removed"] | None = None

    @property
    def holds(self) -> bool:
        """Whether the person's content may be in it."""
        return self.odd != _NO_FILE if self.data is None and self.odd else bool(self.data)


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder with an overlay's parts, and `lower`, a link to the workspace: its name may hold any character."""

    folder: Path
    workspace: Path

    @classmethod
    def make(cls, area: Path, workspace: Path, prefix: str = "") -> Self:
        """Returns a fresh one below `area`, in a folder whose name begins so. Raises OSError."""
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=area))
        for part in _PARTS:
            (folder / part).mkdir(mode=0o700)
        (folder / "lower").symlink_to(workspace)
        return cls(folder, workspace)

    @classmethod
    def make_scratch(cls, area: Path, workspace: Path, folders: Sequence[Path], prefix: str = "") -> Self:
        """Returns one with an overlay for each of the folders besides, in `scratch` (BG-02). Raises OSError."""
        layer = cls.make(area, workspace, prefix)
        for number, folder in enumerate(folders):
            here = layer.scratch / str(number)
            for part in _PARTS:
                (here / part).mkdir(mode=0o700, parents=True)
            (here / "lower").symlink_to(folder)
        return layer

    @property
    def scratch(self) -> Path:
        """Where the overlays lie whose content is thrown away."""
        return self.folder / "scratch"

    def scratch_of(self, folders: Sequence[Path]) -> Mapping[Path, Path]:
        """Returns where the overlay over each of the folders is mounted."""
        return {folder: self.scratch / str(number) / "merged" for number, folder in enumerate(folders)}

    @property
    def merged(self) -> Path:
        """Where the overlay is mounted, for bwrap to bind."""
        return self.folder / "merged"

    @property
    def upper(self) -> Path:
        """What is written goes here."""
        return self.folder / "upper"

    def changes(self) -> tuple[LayerChange, ...]:
        """Returns what differs from the workspace now, by path. Of more than 2,000 files or 64 MiB none can be taken
        over.

        Half of what a command made is worse than nothing of it.
        """
        with contextlib.suppress(OSError):
            self.upper.chmod(0o700)  # it is the workspace to the command, which may have closed it
        found: list[LayerChange] = []
        room = MAX_BYTES
        for each in _changes_below(self.upper, self.workspace, ""):
            room -= len(each.data or b"")
            if len(found) >= MAX_FILES or room < 0:
                return tuple(LayerChange(left.path, None, odd=_TOO_MUCH) for left in found)
            found.append(each)
        return tuple(sorted(found, key=lambda left: left.path))

    def written(self) -> tuple[str, ...]:
        """Returns every path that was written, even where it was put back as it was before; of a folder that was
        removed, its own. Binary content that was put back is not there: a database is opened for writing by whoever
        reads it.
        """
        return tuple(sorted(path for path in _written_below(self.upper) if not self._is_as_before(path)))

    def _is_as_before(self, relative: str) -> bool:
        now, before = self.upper / relative, self.workspace / relative
        with contextlib.suppress(OSError):
            statuses = (now.lstat(), before.lstat())
            if all(stat.S_ISREG(each.st_mode) and each.st_size <= MAX_BYTES for each in statuses):
                data = now.read_bytes()
                return b"\0" in data and data == before.read_bytes()
        return False

    def remove(self) -> None:
        """Clear it away, whatever modes the command gave its folders, and however deep they are. Never raises."""
        for place in (self.merged, *self.scratch.glob("*/merged")):
            _unmount(place)
        pending, mark, count = [self.folder], secrets.token_hex(4), 0
        while pending:
            current = pending.pop()
            for entry in _list_folder(current):
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        Path(entry.path).unlink()
                        continue
                    with contextlib.suppress(OSError):
                        # An empty one, which may be another user's.
                        Path(entry.path).rmdir()
                        continue
                    # Moved up here: below, its path may be longer than a path can be.
                    count += 1
                    there = self.folder / f"{mark}-{count}"
                    Path(entry.path).chmod(0o700)
                    pending.append(Path(entry.path).rename(there))
            if current != self.folder:
                with contextlib.suppress(OSError):
                    current.rmdir()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _unmount(place: Path) -> None:
    """Takes away what a server that is root, or was, has mounted there for a container."""
    with contextlib.suppress(OSError):
        if place.is_mount():
            kernel.call("umount2", os.fsencode(place), _MNT_DETACH | _UMOUNT_NOFOLLOW)


def size_below(folder: Path, most_entries: int) -> tuple[int, int]:
    """Returns bytes on disk and entries below a folder, counted up to `most_entries`; more, where it is too deep to be
    seen."""
    total = entries = 0
    pending = [str(folder)]
    while pending and entries <= most_entries:
        path = pending.pop()
        try:
            with _scan_by_descriptor(path) as found:
                for entry in found:
                    entries += 1
                    # The command is at work there meanwhile.
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        total += status.st_blocks * 512
                        if stat.S_ISDIR(status.st_mode):
                            pending.append(f"{path}/{entry.name}")
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return total, most_entries + 1
    return total, entries


@contextlib.contextmanager
def _scan_by_descriptor(folder: str) -> Generator[Iterator[os.DirEntry[str]]]:
    """Yields its entries, which can be looked at however long their own paths are. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(fd) as entries:
            yield entries
    finally:
        os.close(fd)


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """Returns its entries, whatever its mode; none of what cannot be opened."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    return []


def _written_below(upper: Path) -> Iterator[str]:
    """Yields the paths of files, and of folders that stand for others; of what lies too deep, where it begins."""
    pending = [(upper, "")]
    while pending:
        folder, prefix = pending.pop()
        for entry in _list_folder(folder):
            relative, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
            if not is_folder or _is_too_deep(relative):
                yield relative
                continue
            if _is_opaque(Path(entry.path)):
                yield relative
            pending.append((Path(entry.path), f"{relative}/"))


def _is_too_deep(relative: str) -> bool:
    return relative.count("/") > MAX_DEPTH or len(os.fsencode(relative)) > MAX_PATH_BYTES


def _changes_below(upper: Path, lower: Path, prefix: str) -> Iterator[LayerChange]:
    """Folders are opened by their names: nobody but us has access by now."""
    for entry in sorted(os.scandir(upper), key=lambda entry: entry.name):
        relative = prefix + entry.name
        if _is_too_deep(relative):
            yield LayerChange(relative, None, odd="it lies too deep")
            continue
        below = lower / entry.name
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            yield from _removed_below(below, relative)
        elif stat.S_ISDIR(status.st_mode):
            yield from _folder_changes(Path(entry.path), below, relative)
        elif stat.S_ISREG(status.st_mode):
            yield from _file_changes(Path(entry.path), status, below, relative)
        else:
            yield LayerChange(relative, None, odd=_NO_FILE)


def _folder_changes(upper: Path, lower: Path, relative: str) -> Iterator[LayerChange]:
    with contextlib.suppress(OSError):
        upper.chmod(0o700)
    if lower.is_symlink():
        yield LayerChange(relative, None, odd="it takes the place of a link")
        return
    if lower.is_file():
        yield LayerChange(relative, None)
    elif _is_opaque(upper):
        # A folder that was removed and made anew: what is not in it any more is gone.
        below = (each for each in _removed_below(lower, relative) if each.path != relative)
        yield from (each for each in below if not os.path.lexists(upper / each.path[len(relative) + 1 :]))
    if not os.path.lexists(lower) and not any(upper.iterdir()):
        yield LayerChange(relative, None, folder="made")
    yield from _changes_below(upper, lower, f"{relative}/")


def _is_opaque(upper: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(upper, _OPAQUE) == b"y"
    return False


def _file_changes(upper: Path, status: os.stat_result, lower: Path, relative: str) -> Iterator[LayerChange]:
    if lower.is_dir() and not lower.is_symlink():
        yield from (each for each in _removed_below(lower, relative) if each.path != relative)
    with contextlib.suppress(OSError):
        upper.chmod(0o600)
    if status.st_size > MAX_BYTES:
        yield LayerChange(relative, None, odd=f"it is larger than {MAX_BYTES} bytes")
        return
    try:
        data = upper.read_bytes()
    except PermissionError:  # a container writes to another user's file where its mode lets it
        yield LayerChange(relative, None, odd="it is another user's")
        return
    if lower.is_symlink():
        yield LayerChange(relative, data, odd="it takes the place of a link")
    elif not lower.is_file() or _is_executable(lower.stat()) != _is_executable(status) or lower.read_bytes() != data:
        yield LayerChange(relative, data, executable=_is_executable(status))


def _is_executable(status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o100)


def _removed_below(lower: Path, relative: str) -> Iterator[LayerChange]:
    """Yields the removals of the regular files and folders at and below a path of the workspace, in any order."""
    pending = [(lower, relative)]
    while pending:
        path, name = pending.pop()
        if path.is_symlink():
            continue
        if path.is_file():
            yield LayerChange(name, None)
        elif path.is_dir():
            yield LayerChange(name, None, folder="removed")
            pending += [(Path(entry.path), f"{name}/{entry.name}") for entry in os.scandir(path)]
