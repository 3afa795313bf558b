"""A command's /etc: a folder made once, with what it needs of the system's own (BOX-02).

What is small is copied there, for a copy or a mount of each in each sandbox was a tenth of what bwrap takes; the rest
is mounted in it. It is made again when anything of it has changed.
"""

from __future__ import annotations

# Names, not paths: this looks before each command.
# ruff: noqa: PTH102, PTH103, PTH110, PTH112, PTH114, PTH116, PTH120, PTH123, PTH208, PTH211
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remit_server.sandbox.server_identity import lasting_folder

# Copied where they are small, folders of few files among them.
_COPIED = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types", "ssl/openssl.cnf"),
    *("nsswitch.conf", "protocols", "services", "java"),
)
_MOUNTED = (
    *("alternatives", "ssl/certs", "ca-certificates/extracted", "pki/tls/certs", "pki/ca-trust/extracted", "fonts"),
)
ETC = (*_COPIED, *_MOUNTED)
"""All that a command sees of /etc, besides a `passwd` and a `group` of its own."""

PASSWD = b"remit:x:1000:1000:remit:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
GROUP = b"remit:x:1000:\nnogroup:x:65534:\n"

_SYSTEM = "/etc"
_LARGEST = 512 * 1024
_MOST_FILES = 8

# Inode, size, and when it last changed in any way, in nanoseconds: of the path itself and, where it is a link, of what
# it leads to; nothing of what is not there.
_State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """The folder that is bound over /etc, what is `mounted` in it, and how each path was that it was made of."""

    folder: str
    mounted: tuple[str, ...]
    seen: Mapping[str, _State]

    def is_current(self) -> bool:
        """Whether nothing has changed since, nor in the folder itself: somebody may clear old files away."""
        return all(_state(path) == state for path, state in self.seen.items())


# None goes before this process does: a command may be about to start with any of them.
_made: dict[tuple[str, ...], list[_Made]] = {}


def settings(places: Iterable[str] = ()) -> list[str]:
    """Options of bwrap(1) for an /etc to be read, where something else can be mounted at each of `places`.

    The folder goes with this process. Raises OSError.
    """
    below = tuple(place for place in places if place.startswith(f"{_SYSTEM}/"))
    made = _made.setdefault(below, [])
    if not made or not made[-1].is_current():
        made.append(_make(below))
    mounted = (option for path in made[-1].mounted for option in ("--ro-bind-try", path, _place(path, "/etc")))
    return ["--ro-bind", made[-1].folder, "/etc", *mounted]


def small_files(path: str) -> list[str] | None:
    """This file, or those in this folder; None for what is better mounted.

    That is what is large, a program, or not to be read, and what holds many files, or folders, or links.
    """
    try:
        if not os.path.isdir(path):
            return [path] if _is_small(path, linked=True) else None
        files = [f"{path}/{name}" for name in os.listdir(path)]
        small = len(files) <= _MOST_FILES and all(_is_small(file, linked=False) for file in files)
        return files if small else None
    except OSError:
        return None


def _make(places: tuple[str, ...]) -> _Made:
    folder = f"{lasting_folder('etc')}/etc"
    os.mkdir(folder)
    _write(f"{folder}/passwd", PASSWD)
    _write(f"{folder}/group", GROUP)
    seen: dict[str, _State] = {}
    mounted = tuple(path for path in (f"{_SYSTEM}/{name}" for name in ETC) if not _placed(path, folder, seen))
    for place in places:
        _mount_point(place, folder)
    seen[folder] = _state(folder)
    return _Made(folder, mounted, seen)


def _placed(path: str, folder: str, seen: dict[str, _State]) -> bool:
    """Whether what is there is now in the folder, too; otherwise there is a place to mount it.

    A link to a system's file is one inside too.
    """
    seen[path] = _state(path)
    if not os.path.exists(path):
        return True
    place = _place(path, folder)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.islink(path) and (real := os.path.realpath(path)).startswith("/usr/"):
        os.symlink(real, place)
        return True
    files = small_files(path) if path.removeprefix(f"{_SYSTEM}/") in _COPIED else None
    if files is None or os.path.isdir(path):
        _mount_point(path, folder)
    for file in files or ():
        seen[file] = _state(file)
        with open(file, "rb") as opened:
            _write(_place(file, folder), opened.read(_LARGEST))
    return files is not None


def _is_small(path: str, *, linked: bool) -> bool:
    status = os.stat(path, follow_symlinks=linked)
    return (
        stat.S_ISREG(status.st_mode)
        and not status.st_mode & 0o111
        and status.st_size <= _LARGEST
        and os.access(path, os.R_OK)
    )


def _mount_point(path: str, folder: str) -> None:
    """Something for `path` to be mounted on."""
    place = _place(path, folder)
    os.makedirs(place if os.path.isdir(path) else os.path.dirname(place), exist_ok=True)
    if not os.path.exists(place):
        _write(place, b"")


def _place(path: str, folder: str) -> str:
    return folder + path.removeprefix(_SYSTEM)


def _write(place: str, data: bytes) -> None:
    with open(place, "xb") as file:
        file.write(data)


def _state(path: str) -> _State:
    try:
        own = os.lstat(path)
        then = os.stat(path) if stat.S_ISLNK(own.st_mode) else own
    except OSError:
        return ()
    return own.st_ino, own.st_size, own.st_ctime_ns, then.st_ino, then.st_size, then.st_ctime_ns
