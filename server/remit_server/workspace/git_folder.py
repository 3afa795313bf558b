"""Reads and writes a repository's own files as git does, following no link and starting no process (GIT-02).

Writes are atomic: objects under git's temporary names, the index and refs under git's locks. A lock is a second hard
link to a temporary file that its writer keeps locked (flock), so that the lock of a dead writer can be told from that
of a living one, and removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import zlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import SetupError, ToolError
from remit_server.machine.descriptors import closing_fd, write_all
from remit_server.workspace.content.files import if_there, read_image
from remit_server.workspace.git_linked import Folders
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath, sync_folder

MAX_INDEX_BYTES = 200_000_000
_MAX_REFS_BYTES = 50_000_000
_TEMPORARY = re.compile(r"\.remit-tmp-[0-9a-f]{24}")
_SHA = re.compile(r"[0-9a-f]{40}")
_COMMON = frozenset({"", "config", "hooks", "info", "objects", "packed-refs", "refs"})
"""The first parts of the names that all working trees of a repository share; each tree has the other names for
itself."""

_OWN = frozenset({"info/sparse-checkout"})
"""Exceptions from `_COMMON`: names that each working tree has for itself."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder of a repository, at `prefix` in `workspace`; the workspace may have been opened for this folder
    alone."""

    workspace: Workspace
    prefix: str

    def at(self, name: str) -> WorkspacePath:
        """Returns the unresolved path of `name` in the folder; opening that path follows no link."""
        parts = (part for part in (self.prefix, name) if part)
        return WorkspacePath("/".join(parts) or ".", self.workspace.root)


@dataclass(frozen=True, slots=True)
class GitFiles:
    """A repository's own files, by their names in a plain `.git`."""

    folders: Folders
    _own: _Place
    _common: _Place

    def absolute(self, name: str) -> Path:
        """Returns the absolute path of the file `name`."""
        return self._place(name).at(name).absolute

    def spell(self, name: str) -> str:
        """Returns how messages name the file: by its path in the workspace, or by its absolute path if it is
        outside."""
        path = self._place(name).at(name)
        return path.relative if self._place(name).prefix else str(path.absolute)

    def open_folder(self, name: str) -> int:
        """Opens the folder `name`. Raises ToolError."""
        place = self._place(name)
        return place.workspace.open_folder(place.at(name))

    def make_folder(self, name: str) -> int:
        """Opens the folder `name`, creating missing parts on disk. Raises OSError."""
        place = self._place(name)
        return place.workspace.make_folder(place.at(name))

    def open_parent(self, name: str) -> int:
        """Opens the parent folder of the file `name`. Raises ToolError."""
        place = self._place(name)
        return place.workspace.open_folder(place.at(name).parent)

    def make_parent(self, name: str) -> int:
        """Opens the parent folder of the file `name`, creating missing parts on disk. Raises OSError."""
        place = self._place(name)
        return place.workspace.make_folder(place.at(name).parent)

    def read(self, name: str, most: int = MAX_INDEX_BYTES) -> bytes | None:
        """Reads the file `name`. Returns None if there is none. Raises ToolError."""
        place = self._place(name)
        return if_there(lambda: read_image(place.workspace, place.at(name), most).data)

    def read_ref(self, ref: str) -> str | None:
        """Returns the commit that a ref holds, None for a missing ref. Raises ToolError if the ref holds no id."""
        data = self.read(ref, _MAX_REFS_BYTES)
        if data is None:
            return self.read_packed_refs().get(ref)
        text = data.decode(errors="replace").strip()
        if not _SHA.fullmatch(text):
            raise ToolError("cannot commit", f"`{ref}` does not hold a commit's id", "look at the repository with git")
        return text

    def read_packed_refs(self) -> dict[str, str]:
        """Returns the packed refs with their commits."""
        data = self.read("packed-refs", _MAX_REFS_BYTES) or b""
        lines = (line.split(" ") for line in data.decode(errors="surrogateescape").split("\n"))
        return {words[1]: words[0] for words in lines if len(words) == 2 and _SHA.fullmatch(words[0])}

    def _place(self, name: str) -> _Place:
        first, _, rest = name.partition("/")
        shared = first in _COMMON and name not in _OWN
        return self._common if shared or (first == "logs" and rest != "HEAD") else self._own


@contextlib.contextmanager
def open_git(workspace: Workspace, folders: Folders) -> Generator[GitFiles]:
    """Opens the repository's folders: those below the workspace through the workspace, each other one as a workspace of
    its own.

    Raises ToolError if one of them is gone or has become a link.
    """
    with contextlib.ExitStack() as held:

        def place(folder: Path) -> _Place:
            if folder.is_relative_to(workspace.root):
                return _Place(workspace, folder.relative_to(workspace.root).as_posix())
            try:
                opened = held.enter_context(Workspace(folder))
            except SetupError as error:
                raise ToolError("cannot open the repository", error.why, error.fix) from error
            if opened.root != folder:
                why = f"`{folder}` has been replaced by another folder"
                raise ToolError("cannot open the repository", why, "try again", code=ErrorCode.STALE, retryable=True)
            return _Place(opened, "")

        common = place(folders.common)
        yield GitFiles(folders, place(folders.own) if folders.linked else common, common)


def write_object(git: GitFiles, sha: str, whole: bytes) -> None:
    """Writes one loose object (header and body), on disk when this returns. Raises OSError."""
    with closing_fd(git.make_folder(f"objects/{sha[:2]}")) as folder:
        with contextlib.suppress(FileNotFoundError):
            # An existing object gets a new date, so that git does not prune it as unused meanwhile.
            os.utime(sha[2:], dir_fd=folder, follow_symlinks=False)
            return
        name = f"tmp_obj_{secrets.token_hex(8)}"
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444, dir_fd=folder)
        try:
            write_all(fd, zlib.compress(whole))
            os.fsync(fd)
            os.rename(name, sha[2:], src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(fd)
        sync_folder(folder)


@dataclass(frozen=True, slots=True)
class Lock:
    """A locked file of the repository and its pending contents."""

    folder: int
    name: str

    def finish(self) -> None:
        """Renames the pending contents over the file, which releases the lock."""
        os.rename(f"{self.name}.lock", self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        sync_folder(self.folder)


@contextlib.contextmanager
def git_lock(git: GitFiles, name: str, data: bytes, mode: int = 0o644) -> Generator[Lock]:
    """Locks the file `name` as git does; `finish` replaces its contents with `data`, otherwise it stays unchanged.

    Raises ToolError (`busy`) if git or another program holds the lock; OSError.
    """
    base = name.rpartition("/")[2]
    with contextlib.ExitStack() as undo:
        top = git.open_folder("")
        undo.callback(os.close, top)
        folder = git.make_parent(name)
        undo.callback(os.close, folder)
        temporary = f".remit-tmp-{secrets.token_hex(12)}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=top)
        undo.callback(os.close, fd)
        undo.callback(_unlink, temporary, top)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(fd, data)
        os.fsync(fd)
        _link(temporary, f"{base}.lock", top, folder, git.spell(name))
        undo.callback(_unlink_same, f"{base}.lock", folder, os.fstat(fd).st_ino)
        yield Lock(folder, base)


def clear_stale_locks(git: GitFiles, names: Iterable[str]) -> None:
    """Removes temporary files, and locks on the files `names`, that dead processes of this program left behind."""
    with closing_fd(git.open_folder("")) as top:
        with os.scandir(top) as entries:
            found = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]
        for temporary in found:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with contextlib.suppress(OSError), closing_fd(os.open(temporary, flags, dir_fd=top)) as fd:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(git, fd, names)
                os.unlink(temporary, dir_fd=top)


def append_line(git: GitFiles, name: str, line: bytes) -> None:
    """Appends a line to that file of the repository, creating it where it is missing. Raises OSError."""
    base = name.rpartition("/")[2]
    with closing_fd(git.make_parent(name)) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with closing_fd(os.open(base, flags, 0o644, dir_fd=folder)) as fd:
            os.write(fd, line)


def _clear(git: GitFiles, fd: int, names: Iterable[str]) -> None:
    """Removes those locks on `names` that are hard links to the file `fd`. Raises OSError if another link to it
    remains."""
    known = 1
    for name, folder in _folders(git, names):
        with closing_fd(folder):
            known += _same(name, folder, os.fstat(fd).st_ino)
            if _same(f"{name}.lock", folder, os.fstat(fd).st_ino):
                os.unlink(f"{name}.lock", dir_fd=folder)
    if os.fstat(fd).st_nlink > known:
        raise OSError(errno.EBUSY, "it is the lock of another ref")


def _folders(git: GitFiles, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    for name in names:
        with contextlib.suppress(ToolError):
            yield name.rpartition("/")[2], git.open_parent(name)


def _link(temporary: str, lock: str, top: int, folder: int, name: str) -> None:
    try:
        os.link(temporary, lock, src_dir_fd=top, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise ToolError(
            "cannot commit now",
            f"`{name}.lock` is there: git is working on this repository, or was stopped while it did",
            f"try again; if no git is running, a person can remove `{name}.lock`",
            code=ErrorCode.BUSY,
            retryable=True,
        ) from error


def _same(name: str, folder: int, inode: int) -> bool:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino == inode
    except OSError:
        return False


def _unlink_same(name: str, folder: int, inode: int) -> None:
    if _same(name, folder, inode):
        _unlink(name, folder)


def _unlink(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)
