"""Workspace paths, parsed once at the boundary: resolved, inside, and opened as they were judged (FILE-01)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from remit_governance.policy.matching.paths import fold
from remit_governance.secrets.cutting import shorten
from remit_server.contract import ErrorCode
from remit_server.errors import OutsideWorkspace, SetupError, ToolError
from remit_server.machine.descriptors import closing_fd
from remit_server.workspace.paths.kernel import BENEATH_FOLLOWING, Located, locate, open_exact, openat2, parts_below

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
_MOST_ALIKE = 5
_BEGINS = (
    ("file:", "give the path alone, without `file://`"),
    ("@", "give the path alone, without `@`, which is how a person attaches a file"),
)
"""Beginnings of texts that are no plain paths, each with the fix that the error suggests."""

# Control characters, bidirectional controls, and the surrogates by which Python represents bytes that are not
# UTF-8.
UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_GONE = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EXDEV})


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A resolved path inside the workspace at `root`: `relative` uses `/`, and is `.` for the root itself."""

    relative: str
    root: Path

    @property
    def absolute(self) -> Path:
        """The absolute path."""
        return self.root.joinpath(*self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The components below the root; empty for the root itself."""
        return () if self.relative == "." else tuple(self.relative.split("/"))

    @property
    def parent(self) -> WorkspacePath:
        """The parent folder. Undefined for the root itself."""
        return WorkspacePath("/".join(self.names[:-1]) or ".", self.root)


class Workspace:
    """One root folder, resolved once and held open, so that no rename can exchange it."""

    def __init__(self, root: Path, opened_as: Path | None = None) -> None:
        """`opened_as` is another path of the folder, as the person opened it; absolute paths below it are accepted too.

        Raises SetupError where `root` is no folder that can be opened.
        """
        try:
            self.root = root.resolve(strict=True)
            self._fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, RuntimeError) as error:
            raise SetupError(
                f"cannot open the workspace `{root}`",
                _words(error),
                "name a folder that exists and that you may read",
            ) from error
        # The root's unresolved spelling counts too: on macOS /tmp is a link, and editors send what they were given.
        given = PurePosixPath(Path(os.path.abspath(opened_as or root)).as_posix())  # noqa: PTH100  abspath does not follow links
        self._roots = tuple(dict.fromkeys((PurePosixPath(self.root.as_posix()), given)))

    def resolve(self, text: str) -> WorkspacePath:
        """Resolves `text` (relative, or absolute below the root) to its real path, existing or not.

        Raises OutsideWorkspace if it leads out, ToolError if it is malformed, a device or behind a file.
        """
        parts = _parse(text, self._roots)
        try:
            found = self._existing(parts) or locate(self._fd, self._roots, parts)
        except OSError as error:
            raise _resolve_error(text, error) from error
        if not (stat.S_ISREG(found.mode) or stat.S_ISDIR(found.mode)):
            raise ToolError(
                f"cannot use `{text}`",
                "it is a device, a pipe or a socket",
                "name a regular file or a folder",
                code=ErrorCode.NOT_A_FILE,
            )
        if found.missing and not stat.S_ISDIR(found.mode):
            raise _resolve_error(text, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
        names = (*found.names, *found.missing)
        if names != parts:
            for name in names:
                _check_name(text, name)
        return WorkspacePath("/".join(names) or ".", self.root)

    def open_read(self, path: WorkspacePath) -> int:
        """Opens the regular file at exactly `path`, following no link, so that a path exchanged since the check fails.

        Raises ToolError (`not_found`, `not_a_file`, `stale`).
        """
        try:
            fd = open_exact(self._fd, path.names, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except FileNotFoundError as error:
            raise self._missing_error(path, error) from error
        except OSError as error:
            raise _open_error(path, error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise ToolError(
                f"cannot read `{path.relative}`",
                "it is not a regular file",
                "name a file, or list the folder with list_files",
                code=ErrorCode.NOT_A_FILE,
            )
        return fd

    def _missing_error(self, path: WorkspacePath, error: OSError) -> ToolError:
        """Returns the error for a file that is not there, with the names beside it that look the same.

        None of these is opened instead, because policy judges the name that was asked for.
        """
        found = _open_error(path, error)
        with contextlib.suppress(OSError):
            with closing_fd(open_exact(self._fd, path.parent.names, os.O_RDONLY | os.O_DIRECTORY)) as folder:
                looks = fold(path.names[-1])
                alike = sorted(name for name in os.listdir(folder) if fold(name) == looks)  # noqa: PTH208
            if alike:
                spelled = ", ".join(json.dumps(name) for name in alike[:_MOST_ALIKE])
                why = f"there is no file of exactly this name, but one that looks like it: {spelled}"
                return ToolError(found.what, why, "use that name, with its escapes as JSON has them", code=found.code)
        return found

    def open_folder(self, path: WorkspacePath) -> int:
        """Opens the folder at exactly `path`, following no link. Raises ToolError."""
        try:
            return open_exact(self._fd, path.names, os.O_RDONLY | os.O_DIRECTORY)
        except NotADirectoryError as error:
            raise ToolError(f"cannot list `{path.relative}`", "it is not a folder", "name a folder") from error
        except OSError as error:
            raise _open_error(path, error) from error

    def make_folder(self, path: WorkspacePath) -> int:
        """Opens the folder at exactly `path`, creating missing parts on disk. Raises OSError."""
        flags = os.O_RDONLY | os.O_DIRECTORY
        try:
            return open_exact(self._fd, path.names, flags)
        except FileNotFoundError:
            here = os.dup(self._fd)
        try:
            for name in path.names:
                try:
                    os.mkdir(name, dir_fd=here)
                    sync_folder(here)
                except FileExistsError:
                    pass
                above, here = here, os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
                os.close(above)
        except OSError:
            os.close(here)
            raise
        return here

    def close(self) -> None:
        """Closes the root folder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _existing(self, parts: tuple[str, ...]) -> Located | None:
        """Resolves an existing path by one system call. Returns None where `locate` has to do it."""
        if sys.platform != "linux":
            return None
        try:
            fd = openat2(self._fd, "/".join(parts) or ".", os.O_PATH, BENEATH_FOLLOWING)
        except OSError:
            return None
        try:
            status = os.fstat(fd)
            real = _names_below(_path_of(self._fd), _path_of(fd))
        except OSError:
            return None
        finally:
            os.close(fd)
        return None if real is None or status.st_nlink == 0 else Located(real, status.st_mode)


def _names_below(root: str, path: str) -> tuple[str, ...] | None:
    """Returns the names of `path` below `root`, both as the kernel reports them: no parsing is needed."""
    if path == root:
        return ()
    prefix = root.rstrip("/") + "/"
    return tuple(path[len(prefix) :].split("/")) if path.startswith(prefix) else None


def _path_of(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115  no Path: the name is the kernel's, verbatim


def _parse(text: str, roots: tuple[PurePosixPath, ...]) -> tuple[str, ...]:
    """Returns the components of a path as given; `..` stays for `locate` to judge."""
    if not text:
        raise ToolError("cannot use an empty path", "it names nothing", "use `.` for the workspace folder")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise _malformed_error(text, "it holds characters that no file name can have") from error
    if size > MAX_PATH_BYTES:
        raise _malformed_error(shorten(text, 81), f"it is longer than {MAX_PATH_BYTES} bytes")
    if text.startswith("/"):
        parts = parts_below(roots, text)
        if parts is None:
            raise _outside_error(text)
    else:
        parts = tuple(part for part in text.split("/") if part not in {"", "."})
    for part in parts:
        _check_name(text, part)
    return parts


def _check_name(text: str, name: str) -> None:
    if UNUSABLE.search(name):
        raise _malformed_error(text, "it holds control characters")
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise _malformed_error(shorten(text, 81), f"one of its names is longer than {MAX_NAME_BYTES} bytes")
    if name not in {".", ".."} and name[-1] in " .":
        # Some file systems drop these characters, so that two spellings would name one file.
        raise _malformed_error(text, f"`{name}` ends with a dot or a space")


def _malformed_error(text: str, why: str) -> ToolError:
    return ToolError(f"cannot use the path {text!r}", why, "use a plain path relative to the workspace")


def _outside_error(text: str) -> OutsideWorkspace:
    return OutsideWorkspace(
        f"`{text}` is outside the workspace",
        "only files below the workspace folder can be used, even through a link",
        "use a path relative to the workspace",
    )


def _resolve_error(text: str, error: OSError) -> ToolError:
    """Returns the error for a path that could not be resolved; unknown errors are refusals too."""
    if error.errno == errno.EXDEV:
        return _outside_error(text)
    code, why, fix = _REASONS.get(error.errno or 0, _UNKNOWN)
    return ToolError(f"cannot use `{text}`", why or _words(error), fix, code=code)


def _open_error(path: WorkspacePath, error: OSError) -> ToolError:
    """Returns the error for a resolved path that could not be opened."""
    if error.errno in _GONE:
        return ToolError(
            f"cannot open `{path.relative}`",
            "a folder or link in its path changed after it was checked, or it is not a folder",
            "name the path again",
            code=ErrorCode.STALE,
            retryable=True,
        )
    code, why, fix = _REASONS.get(error.errno or 0, _UNKNOWN)
    if error.errno == errno.ENOENT:
        fix = next((other for begin, other in _BEGINS if path.relative.startswith(begin)), fix)
    return ToolError(f"cannot open `{path.relative}`", why or _words(error), fix, code=code)


_UNKNOWN = (ErrorCode.INVALID_ARGUMENTS, "", "use a plain path relative to the workspace")
_REASONS: dict[int, tuple[ErrorCode, str, str]] = {
    errno.ENOENT: (ErrorCode.NOT_FOUND, "there is no such file", "find it with list_files"),
    errno.ENOTDIR: (ErrorCode.NOT_FOUND, "a part of it is a file, not a folder", "find it with list_files"),
    errno.ELOOP: (ErrorCode.INVALID_ARGUMENTS, "its links lead in a circle", "name the real file"),
    errno.EACCES: (ErrorCode.DENIED, "the system does not let this user read it", "change its permissions"),
    errno.ENXIO: (ErrorCode.NOT_A_FILE, "it is a socket, a pipe or a device", "name a regular file"),
}


def _words(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def sync_folder(folder: int) -> None:
    """Syncs a folder's entries to disk, where the file system can; elsewhere a power cut may lose them."""
    with contextlib.suppress(OSError):
        os.fsync(folder)
