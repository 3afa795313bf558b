"""What a command wrote: an overlay's upper layer, read as changes once the command is dead (BOX-05).

The layer lies over the workspace only inside the sandbox, so a command may write anywhere and nothing that it writes
reaches the workspace by itself.
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

from remit_server.machine.descriptors import closing_fd
from remit_server.sandbox.landlock import kernel

MAX_FILES = 2_000
MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 100
"""Levels of nested folders: an ordinary program needs a few dozen, a hostile one makes thousands."""
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
    """One path that a command changed, in its bytes or in its executable bit. `data` is None if the command removed the
    file. `folder` is set for a folder that was made and is empty, or that was removed.

    `odd` says why the change cannot be taken over, as when it is no regular file or too large. Then `data` is None if
    the file was not read.
    """

    path: str
    data: bytes | None
    executable: bool = False
    odd: str | None = None
    folder: Literal["made", "removed"] | None = None

    @property
    def holds(self) -> bool:
        """Whether the change may hold content of a file."""
        return self.odd != _NO_FILE if self.data is None and self.odd else bool(self.data)


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder with an overlay's parts, and the link `lower` to the workspace, because mount options cannot hold every
    character that the workspace's name may have."""

    folder: Path
    workspace: Path

    @classmethod
    def make(cls, area: Path, workspace: Path, prefix: str = "") -> Self:
        """Returns a fresh layer below `area`, in a folder whose name begins with `prefix`. Raises OSError."""
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=area))
        for part in _PARTS:
            (folder / part).mkdir(mode=0o700)
        (folder / "lower").symlink_to(workspace)
        return cls(folder, workspace)

    @classmethod
    def make_scratch(cls, area: Path, workspace: Path, folders: Sequence[Path], prefix: str = "") -> Self:
        """Returns a fresh layer that has also, in `scratch`, an overlay for each folder (BG-02). Raises OSError."""
        layer = cls.make(area, workspace, prefix)
        for number, folder in enumerate(folders):
            here = layer.scratch / str(number)
            for part in _PARTS:
                (here / part).mkdir(mode=0o700, parents=True)
            (here / "lower").symlink_to(folder)
        return layer

    @property
    def scratch(self) -> Path:
        """The folder of the overlays whose content is thrown away."""
        return self.folder / "scratch"

    def scratch_of(self, folders: Sequence[Path]) -> Mapping[Path, Path]:
        """Returns where the overlay over each of the folders is mounted."""
        return {folder: self.scratch / str(number) / "merged" for number, folder in enumerate(folders)}

    @property
    def merged(self) -> Path:
        """The folder at which the overlay is mounted, for bwrap to bind."""
        return self.folder / "merged"

    @property
    def upper(self) -> Path:
        """The folder that takes what the command writes."""
        return self.folder / "upper"

    def changes(self) -> tuple[LayerChange, ...]:
        """Returns what differs from the workspace now, sorted by path.

        If there are more than 2,000 files or 64 MiB, every change is marked as one that cannot be taken over, because
        half of a command's changes would be worse than none.
        """
        with contextlib.suppress(OSError):
            self.upper.chmod(0o700)  # the command sees this folder as the workspace, and may have changed its mode
        found: list[LayerChange] = []
        room = MAX_BYTES
        for each in _changes_below(self.upper, self.workspace, ""):
            room -= len(each.data or b"")
            if len(found) >= MAX_FILES or room < 0:
                return tuple(LayerChange(left.path, None, odd=_TOO_MUCH) for left in found)
            found.append(each)
        return tuple(sorted(found, key=lambda left: left.path))

    def written(self) -> tuple[str, ...]:
        """Returns every path that was written, sorted, also those put back as they were; for a removed folder, its own
        path. A binary file that was put back is left out, because programs open a database for writing only to read it.
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
        """Removes the layer, whatever modes the command gave its folders, and however deep they are. Never raises."""
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
                        # An empty folder can be removed even if it belongs to another user.
                        Path(entry.path).rmdir()
                        continue
                    # Move it up, because its path further below may be longer than a path can be.
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
    """Unmounts the overlay that a server running as root may have mounted there for a container."""
    with contextlib.suppress(OSError):
        if place.is_mount():
            kernel.call("umount2", os.fsencode(place), _MNT_DETACH | _UMOUNT_NOFOLLOW)


def size_below(folder: Path, most_entries: int) -> tuple[int, int]:
    """Returns the bytes on disk and the number of entries below a folder; stops once there are more than
    `most_entries`, and returns more than that if the folder is too deep to be read."""
    total = entries = 0
    pending = [str(folder)]
    while pending and entries <= most_entries:
        path = pending.pop()
        try:
            with _scan_by_descriptor(path) as found:
                for entry in found:
                    entries += 1
                    # The command may remove files meanwhile.
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
    """Yields the folder's entries, which can be inspected however long their own paths are. Raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with closing_fd(os.open(folder, flags)) as fd, os.scandir(fd) as entries:
        yield entries


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """Returns the folder's entries, whatever its mode; none if it cannot be opened."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            return list(entries)
    return []


def _written_below(upper: Path) -> Iterator[str]:
    """Yields the paths of files, and of opaque folders, which replace removed ones; of a branch that is too deep, its
    first path that is."""
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
    """Yields the changes of `upper` against `lower`. Opens folders by name, because the command is dead and nothing
    else has access to them."""
    for entry in sorted(os.scandir(upper), key=lambda entry: entry.name):
        relative = prefix + entry.name
        if _is_too_deep(relative):
            yield LayerChange(relative, None, odd="its folders are nested too deeply")
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
        yield LayerChange(relative, None, odd="it replaces a link")
        return
    if lower.is_file():
        yield LayerChange(relative, None)
    elif _is_opaque(upper):
        # The folder was removed and made anew, so what is no longer in it was removed.
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
    except PermissionError:  # a container can write to another user's file if its mode allows that
        yield LayerChange(relative, None, odd="it belongs to another user")
        return
    if lower.is_symlink():
        yield LayerChange(relative, data, odd="it replaces a link")
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
