"""File contents with their digests, and atomic writes: the old file or the new one, never a mixture (FILE-02).

For files that are moved or removed unchanged, the digest is computed without holding their bytes (`delete_file`;
FILE-02).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd, write_all
from remit_server.workspace.content.open_files import bytes_at, digest_at
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath, sync_folder

MAX_FILE_BYTES = 10 * 1024 * 1024
TEMPORARY_PREFIX = ".remit-tmp-"
_TEMPORARY_NAME = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{24}")

_ATTEMPTS = 8
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileImage:
    """A file's bytes at one moment. `digest` is `sha256:` and hex; `links` above 1 means further hard links.

    For a large file read by `image_by_digest`, `data` is empty and `left_out` is the number of bytes.
    """

    data: bytes
    digest: str
    mode: int = 0o644
    links: int = 1
    left_out: int = 0

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self.data) + self.left_out


def is_executable(mode: int) -> bool:
    """Returns whether the owner may execute a file of this mode."""
    return bool(mode & 0o100)


def digest_of(data: bytes) -> str:
    """Returns the digest by which contents are compared everywhere."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def image_of(data: bytes) -> FileImage:
    """Returns the image of bytes that are not in a file yet."""
    return FileImage(data, digest_of(data))


def image_of_text(text: str) -> FileImage:
    """Returns the image of an editor's buffer as UTF-8. Raises ToolError (`binary_file`) if that is impossible."""
    try:
        return image_of(text.encode())
    except UnicodeEncodeError as error:
        raise ToolError(
            "cannot use the open document",
            "it holds half a character",
            "fix or close the document",
            code=ErrorCode.BINARY_FILE,
        ) from error


def read_image(workspace: Workspace, path: WorkspacePath, max_bytes: int = MAX_FILE_BYTES) -> FileImage:
    """Reads the file at `path`. Raises ToolError (`not_found`, `not_a_file`, `too_large`, `stale`)."""
    with closing_fd(workspace.open_read(path)) as fd:
        return image_at(fd, path, max_bytes)


def if_there(read: Callable[[], T]) -> T | None:
    """Returns what `read` returns, None if it raises `not_found`."""
    try:
        return read()
    except ToolError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise


def image_at(fd: int, path: WorkspacePath, max_bytes: int = MAX_FILE_BYTES) -> FileImage:
    """Reads an open file from its current offset. Raises ToolError (`too_large`)."""
    image = _image(fd, max_bytes)
    if image is None:
        raise _too_large(path, max_bytes)
    return image


def read_bytes(workspace: Workspace, path: WorkspacePath, max_bytes: int) -> bytes:
    """Reads the bytes of the file at `path`, without a digest. Raises ToolError as `read_image` does."""
    with closing_fd(workspace.open_read(path)) as fd:
        found = bytes_at(fd, max_bytes, os.fstat(fd).st_size)
    if found is None:
        raise _too_large(path, max_bytes)
    return found


def write_atomically(
    workspace: Workspace,
    path: WorkspacePath,
    before: FileImage | None,
    after: bytes,
    executable: bool | None = None,
) -> FileImage:
    """Replaces exactly `before` (None: no file) by exactly `after`, and returns once that is on disk.

    `executable` sets the executable bits; None leaves them, and a new file has none. Other hard links keep the old
    contents. Raises ToolError: `stale` if the file no longer is `before`, `read_only`, `not_a_file`, `limit_reached`
    if the disk is full; the file is then unchanged.
    """
    if not path.names:
        raise _write_error(path, ErrorCode.NOT_A_FILE, "it is a folder", "name a file in it")
    if before is not None and not before.mode & 0o222:
        raise _write_error(path, ErrorCode.READ_ONLY, "the file is marked read-only", "make it writable (`chmod u+w`)")
    with contextlib.ExitStack() as undo:
        undo.callback(remove_empty, workspace, missing_folders(path))
        try:
            image = _write(workspace, path, before, after, executable)
        except OSError as error:
            raise explain_error(path, error) from error
        undo.pop_all()
    return image


def collect_leftovers(workspace: Workspace, *, below: bool = True) -> tuple[str, ...]:
    """Removes temporary files of writers that died, also in folders `below` the root. Returns their paths; never
    raises.
    """
    removed: list[str] = []
    for folder, folders, files in os.walk(workspace.root, followlinks=False):
        folders[:] = [name for name in folders if below and name != ".git"]
        for file in files:
            if _TEMPORARY_NAME.fullmatch(file):
                absolute = Path(folder, file)
                path = WorkspacePath(absolute.relative_to(workspace.root).as_posix(), workspace.root)
                with contextlib.suppress(OSError, ToolError):
                    _remove_stale(workspace, path)
                    removed.append(path.relative)
    return tuple(removed)


def _image(fd: int, max_bytes: int) -> FileImage | None:
    status = os.fstat(fd)
    whole = bytes_at(fd, max_bytes, status.st_size)
    if whole is None:
        return None
    return FileImage(whole, digest_of(whole), stat.S_IMODE(status.st_mode), status.st_nlink)


def _too_large(path: WorkspacePath, max_bytes: int) -> ToolError:
    return ToolError(
        f"cannot read `{path.relative}`",
        f"it is larger than {max_bytes} bytes",
        "search it with search_files, or work on a smaller file",
        code=ErrorCode.TOO_LARGE,
    )


def _write(
    workspace: Workspace, path: WorkspacePath, before: FileImage | None, after: bytes, executable: bool | None
) -> FileImage:
    # A new file gets the umask's mode; an existing one's mode is set before the rename.
    born = 0o600 if before else 0o777 if executable else 0o666
    with closing_fd(workspace.open_folder(path.parent) if before else workspace.make_folder(path.parent)) as folder:
        with _temporary(folder, born) as (name, fd):
            _fill(fd, after, None if before is None else _mode(before.mode, executable))
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if before is None:
                _link_into_place(folder, name, path)
            else:
                _replace(folder, name, path, before)
        sync_folder(folder)
    return FileImage(after, digest_of(after), mode)


def _mode(mode: int, executable: bool | None) -> int:
    """Returns the mode with the executable bits set as chmod does it: everyone who may read may also execute."""
    if executable is None:
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def missing_folders(path: WorkspacePath) -> tuple[WorkspacePath, ...]:
    """Returns the missing parent folders of `path`, innermost first."""
    missing: list[WorkspacePath] = []
    with contextlib.suppress(OSError):
        while path.parent.names:
            path = path.parent
            try:
                os.lstat(path.absolute)
                break
            except FileNotFoundError:
                missing.append(path)
    return tuple(missing)


def remove_empty(workspace: Workspace, folders: tuple[WorkspacePath, ...]) -> None:
    """Removes folders made for a file that was then not written, unless they hold something else."""
    for path in folders:
        with contextlib.suppress(OSError, ToolError), closing_fd(workspace.open_folder(path.parent)) as above:
            os.rmdir(path.names[-1], dir_fd=above)


@contextlib.contextmanager
def _temporary(folder: int, mode: int) -> Generator[tuple[str, int]]:
    """Yields a new, locked file with an unguessable name, and removes it at the end unless it was renamed."""
    name, fd = _create_temporary(folder, mode)
    try:
        yield name, fd
    finally:
        with contextlib.suppress(OSError):
            os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _create_temporary(folder: int, mode: int) -> tuple[str, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(_ATTEMPTS):
        name = TEMPORARY_PREFIX + secrets.token_hex(12)
        with contextlib.suppress(FileExistsError):
            fd = os.open(name, flags, mode, dir_fd=folder)
            if _lock_temporary(fd):
                return name, fd
            os.close(fd)
    raise FileExistsError(errno.EEXIST, "no free temporary name")


def _lock_temporary(fd: int) -> bool:
    """Locks a temporary file, which marks its writer as alive. Returns False if a collector was faster."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(fd).st_nlink > 0
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: no collector removes anything there


def _fill(fd: int, data: bytes, mode: int | None) -> None:
    write_all(fd, data)
    if mode is not None:
        # Drop the set-user-id bits, as the kernel does when a program writes to such a file.
        os.fchmod(fd, mode & 0o777)
    os.fsync(fd)


def _link_into_place(folder: int, temporary: str, path: WorkspacePath) -> None:
    """Links the finished file under its name. Raises `stale` if a file of that name exists by now."""
    try:
        try:
            os.link(temporary, path.names[-1], src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without hard links: the check and the rename are two steps.
            _must_be_free(folder, path.names[-1])
            os.rename(temporary, path.names[-1], src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError as error:
        raise stale_file(path, "a file of that name has appeared") from error


def _must_be_free(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _replace(folder: int, temporary: str, path: WorkspacePath, before: FileImage) -> None:
    """Renames the finished file over the old one, if that still is `before`."""
    status = must_hold(folder, path, before)
    # Keep the owner if this process has the right to.
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid, dir_fd=folder, follow_symlinks=False)
    os.rename(temporary, path.names[-1], src_dir_fd=folder, dst_dir_fd=folder)


def must_hold(folder: int, path: WorkspacePath, before: FileImage) -> os.stat_result:
    """Returns the file's status if it holds exactly `before`. Raises ToolError (`stale`), OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path.names[-1], flags, dir_fd=folder)
    except FileNotFoundError as error:
        raise stale_file(path, "it has been removed") from error
    with closing_fd(fd):
        status = os.fstat(fd)
        now = digest_at(fd, before.size) if stat.S_ISREG(status.st_mode) else None
    if now != before.digest:
        raise stale_file(path, "its contents have changed")
    return status


def _remove_stale(workspace: Workspace, path: WorkspacePath) -> None:
    with closing_fd(workspace.open_read(path)) as fd:
        # Hold the lock until the file is removed. If the lock is refused, the writer is alive.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with closing_fd(workspace.open_folder(path.parent)) as folder:
            os.unlink(path.names[-1], dir_fd=folder)


def _write_error(path: WorkspacePath, code: ErrorCode, why: str, fix: str) -> ToolError:
    return ToolError(f"cannot write `{path.relative}`", why, fix, code=code)


def stale_file(path: WorkspacePath, why: str) -> ToolError:
    """Returns the error for a change to a file whose contents are not those that the change was made for."""
    return ToolError(
        f"cannot write `{path.relative}`",
        f"{why} since it was read",
        "read it again and repeat the change",
        code=ErrorCode.STALE,
        retryable=True,
    )


_DISK_FULL = (ErrorCode.LIMIT_REACHED, "the disk is full", "free some space and try again")
_FOLDER = (ErrorCode.NOT_A_FILE, "it is a folder, or a part of its path is a file", "name a file")
_NOT_ALLOWED = (
    ErrorCode.READ_ONLY,
    "the system does not let this user write there",
    "make the folder writable, or open a workspace that is",
)
_REASONS: dict[int, tuple[ErrorCode, str, str]] = {
    errno.EROFS: (ErrorCode.READ_ONLY, "the file system is read-only", "open a workspace that is writable"),
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.ENOSPC: _DISK_FULL,
    errno.EDQUOT: _DISK_FULL,
    errno.EFBIG: _DISK_FULL,
    errno.EISDIR: _FOLDER,
    errno.ENOTDIR: _FOLDER,
}


def explain_error(path: WorkspacePath, error: OSError) -> ToolError:
    """Returns the error that says why the system refused a change to a file."""
    if error.errno in {errno.ELOOP, errno.ENOENT}:
        return stale_file(path, "a folder or link in its path has changed")
    unknown = (ErrorCode.READ_ONLY, (error.strerror or str(error)).lower(), "check the disk and try again")
    code, why, fix = _REASONS.get(error.errno or 0, unknown)
    return _write_error(path, code, why, fix)


MAX_KNOWN_BYTES = 1024 * 1024 * 1024
"""The size limit of a file that is moved or removed unchanged: all of it is read for its digest, three times in all."""


def image_by_digest(workspace: Workspace, path: WorkspacePath) -> FileImage:
    """Returns the image of a file of any size up to the limit, with its digest; the image of a large file holds no
    bytes.

    Raises ToolError as `read_image` does, `too_large` only past MAX_KNOWN_BYTES, `stale` if it grows meanwhile.
    """
    with closing_fd(workspace.open_read(path)) as fd:
        status = os.fstat(fd)
        if status.st_size <= MAX_FILE_BYTES:
            return image_at(fd, path)
        if status.st_size > MAX_KNOWN_BYTES:
            raise ToolError(
                f"cannot touch `{path.relative}`",
                f"it is larger than {MAX_KNOWN_BYTES} bytes, too large to verify before it is moved or removed",
                "ask the person to do it",
                code=ErrorCode.TOO_LARGE,
            )
        digest = digest_at(fd, status.st_size)
    if digest is None:
        raise stale_file(path, "it has grown")
    return FileImage(b"", digest, stat.S_IMODE(status.st_mode), status.st_nlink, left_out=status.st_size)
