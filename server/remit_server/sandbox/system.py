"""What of the system a command sees: folders mounted, small files copied (003 §Container Manager Module).

A mount costs bwrap several times as much, and makes each later one dearer: it reads the table of mounts for every one.
"""

from __future__ import annotations

# Names, not paths: this runs before each command.
# ruff: noqa: PTH110, PTH112, PTH114, PTH115
import os
import stat
from collections.abc import Iterable, Iterator

# Of /etc: what comes as a copy, folders of few small files among it, and what is too much for that.
_COPIED = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types", "ssl/openssl.cnf"),
    *("nsswitch.conf", "protocols", "services", "java"),
)
_MOUNTED = (
    *("alternatives", "ssl/certs", "ca-certificates/extracted", "pki/tls/certs", "pki/ca-trust/extracted", "fonts"),
)
ETC = (*_COPIED, *_MOUNTED)
"""All that a command sees of /etc, besides a `passwd` and a `group` of its own."""

_LARGEST = 512 * 1024
_MOST_FILES = 8


def system_options(folders: Iterable[str]) -> list[str]:
    """Those of the folders that exist, as they are, to be read."""
    options: list[str] = []
    for folder in folders:
        if os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            options += ["--ro-bind", folder, folder]
    return options


def existing(names: Iterable[str]) -> Iterator[str]:
    """Those that there are; most of those that are looked for are not."""
    return filter(os.path.exists, names)


def settings(opened: list[int]) -> list[str]:
    """Options of bwrap(1) for what there is of ETC, to be read; adds the descriptors that they name to `opened`.

    A link to a system's file is one inside too.
    """
    options: list[str] = []
    for name in ETC:
        path = f"/etc/{name}"
        if os.path.islink(path) and (real := os.path.realpath(path)).startswith("/usr/"):
            options += ["--symlink", real, path]
        elif os.path.exists(path):
            copied = copy(path, path, opened) if name in _COPIED else None
            options += ["--ro-bind-try", path, path] if copied is None else copied
    return options


def copy(source: str, place: str, opened: list[int]) -> list[str] | None:
    """Options to have a file, or a folder of few, at `place`; None for what is better mounted. Adds to `opened`.

    Better mounted is what is large, a program, no regular file, or not to be read.
    """
    files = _files_of(source, place) if os.path.isdir(source) else [(source, place)]
    descriptors: list[int] = []
    options = ["--perms", "0555", "--dir", place] if files != [(source, place)] else []
    for path, there in files or ():
        descriptor = _small(path)
        if descriptor is None:
            break
        descriptors.append(descriptor)
        options += ["--perms", "0444", "--file", str(descriptor), there]
    if files is not None and len(descriptors) == len(files):
        opened += descriptors
        return options
    for descriptor in descriptors:
        os.close(descriptor)
    return None


def _files_of(folder: str, place: str) -> list[tuple[str, str]] | None:
    """The files in it and where they are to be; None where there are many, or anything else in it."""
    found: list[tuple[str, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) == _MOST_FILES or not entry.is_file(follow_symlinks=False):
                    return None
                found.append((entry.path, f"{place}/{entry.name}"))
    except OSError:
        return None
    return found


def _small(path: str) -> int | None:
    """A descriptor to copy this file from, if it is one for that."""
    try:
        # Not blocking: it may be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and not status.st_mode & 0o111 and status.st_size <= _LARGEST:
        return descriptor
    os.close(descriptor)
    return None
