"""Reads and writes a repository's own files as git does, following no link and starting no process (GIT-02).

Writes are atomic: objects under git's temporary names, the index and refs under git's locks. A lock is a second hard
link to a temporary file that its writer keeps locked (flock), so that a dead writer's lock is told from a living one's
and removed.
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

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import read_image
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath, sync_folder

GIT = ".git"
MAX_INDEX_BYTES = 200_000_000
_MAX_REFS_BYTES = 50_000_000
_TEMPORARY = re.compile(r"\.remit-tmp-[0-9a-f]{24}")
_SHA = re.compile(r"[0-9a-f]{40}")


def path_inside(workspace: Workspace, name: str) -> WorkspacePath:
    """Returns the path of that name in the repository's folder, unresolved: opening it follows no link."""
    relative = f"{GIT}/{name}" if name else GIT
    return WorkspacePath(relative, workspace.root)


def read_or_none(workspace: Workspace, name: str, most: int = MAX_INDEX_BYTES) -> bytes | None:
    """Reads that file of the repository. Returns None where there is none. Raises ToolError."""
    try:
        return read_image(workspace, path_inside(workspace, name), most).data
    except ToolError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise


def read_ref(workspace: Workspace, ref: str) -> str | None:
    """Returns the commit that a ref holds, None for a missing ref. Raises ToolError where it holds anything else."""
    data = read_or_none(workspace, ref, _MAX_REFS_BYTES)
    if data is None:
        return read_packed_refs(workspace).get(ref)
    text = data.decode(errors="replace").strip()
    if not _SHA.fullmatch(text):
        raise ToolError("cannot commit", f"`{ref}` holds no commit's id", "look at the repository with git")
    return text


def read_packed_refs(workspace: Workspace) -> dict[str, str]:
    """Returns the packed refs with their commits."""
    data = read_or_none(workspace, "packed-refs", _MAX_REFS_BYTES) or b""
    lines = (line.split(" ") for line in data.decode(errors="surrogateescape").split("\n"))
    return {words[1]: words[0] for words in lines if len(words) == 2 and _SHA.fullmatch(words[0])}


def write_object(workspace: Workspace, sha: str, whole: bytes) -> None:
    """Writes one loose object (header and body), on disk when this returns. Raises OSError."""
    folder = workspace.make_folder(path_inside(workspace, f"objects/{sha[:2]}"))
    try:
        with contextlib.suppress(FileNotFoundError):
            # An existing object gets a new date, so that git does not prune it as unused meanwhile.
            os.utime(sha[2:], dir_fd=folder, follow_symlinks=False)
            return
        name = f"tmp_obj_{secrets.token_hex(8)}"
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444, dir_fd=folder)
        try:
            _fill(fd, zlib.compress(whole))
            os.rename(name, sha[2:], src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(fd)
        sync_folder(folder)
    finally:
        os.close(folder)


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
def git_lock(workspace: Workspace, name: str, data: bytes, mode: int = 0o644) -> Generator[Lock]:
    """Locks that file as git does; `finish` replaces it with `data`, else it stays unchanged.

    Raises ToolError (`busy`) where git, or another, holds the lock; OSError.
    """
    parent, _, base = name.rpartition("/")
    with contextlib.ExitStack() as undo:
        git = workspace.open_folder(path_inside(workspace, ""))
        undo.callback(os.close, git)
        folder = workspace.make_folder(path_inside(workspace, parent))
        undo.callback(os.close, folder)
        temporary = f".remit-tmp-{secrets.token_hex(12)}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=git)
        undo.callback(os.close, fd)
        undo.callback(_unlink, temporary, git)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _fill(fd, data)
        _link(temporary, f"{base}.lock", git, folder, name)
        undo.callback(_unlink_same, f"{base}.lock", folder, os.fstat(fd).st_ino)
        yield Lock(folder, base)


def clear_stale_locks(workspace: Workspace, names: Iterable[str]) -> None:
    """Removes temporary files and locks on these files that this program's dead writers left."""
    git = workspace.open_folder(path_inside(workspace, ""))
    try:
        with os.scandir(git) as entries:
            found = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name)]
        for temporary in found:
            with contextlib.suppress(OSError):
                fd = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=git)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _clear(workspace, fd, names)
                    os.unlink(temporary, dir_fd=git)
                finally:
                    os.close(fd)
    finally:
        os.close(git)


def append_line(workspace: Workspace, name: str, line: bytes) -> None:
    """Appends a line to that file of the repository, creating it where it is missing. Raises OSError."""
    parent, _, base = name.rpartition("/")
    folder = workspace.make_folder(path_inside(workspace, parent))
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(base, flags, 0o644, dir_fd=folder)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
    finally:
        os.close(folder)


def _clear(workspace: Workspace, fd: int, names: Iterable[str]) -> None:
    """Removes the locks that are links to this file. Raises OSError where a link remains under an unknown name."""
    known = 1
    for name, folder in _folders(workspace, names):
        try:
            known += _same(name, folder, os.fstat(fd).st_ino)
            if _same(f"{name}.lock", folder, os.fstat(fd).st_ino):
                os.unlink(f"{name}.lock", dir_fd=folder)
        finally:
            os.close(folder)
    if os.fstat(fd).st_nlink > known:
        raise OSError(errno.EBUSY, "it is the lock of another ref")


def _folders(workspace: Workspace, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    for name in names:
        parent, _, base = name.rpartition("/")
        with contextlib.suppress(ToolError):
            yield base, workspace.open_folder(path_inside(workspace, parent))


def _link(temporary: str, lock: str, git: int, folder: int, name: str) -> None:
    try:
        os.link(temporary, lock, src_dir_fd=git, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise ToolError(
            "cannot commit now",
            f"`{GIT}/{name}.lock` is there: git is working on this repository, or was stopped while it did",
            f"try again; if no git is running, a person can remove `{GIT}/{name}.lock`",
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


def _fill(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.fsync(fd)
