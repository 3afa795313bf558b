"""Mounts a layer on the host for a container, if the server is root (BOX-05). A program of its own.

The command is another user, who could not change root's files. So the overlay uses the workspace and the written files
through mounts that exchange the two users: inside, the files belong to the command, and on the disk to root. These
mounts are only in the overlay: they have no path, and the workspace's is read-only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys

from remit_server.sandbox.landlock import kernel

_NEW_USER = 0x10000000
_OPEN_TREE, _MOUNT_SETATTR = 428, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_TREE_CLONE, _TREE_CLOSE_ON_EXEC = 1, 0o2000000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 1, 2, 4, 0x00100000
_MS_NOSUID, _MS_NODEV = 2, 4
_LAST = (1 << 32) - 2


def main(words: list[str]) -> int:
    """Mounts the overlay of each folder at its `merged`: `mount_layer USER GROUP FOLDER…`.

    Returns 1 and prints why if it cannot.
    """
    user, group, *folders = words
    try:
        users = _exchanging(int(user), int(group))
        for folder in folders:
            _mount(folder, users)
    except OSError as error:
        sys.stderr.write(f"{error.strerror}\n")
        return 1
    return 0


def _mount(folder: str, users: int) -> None:
    lower = _tree(f"{folder}/lower", users, _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
    written = _tree(folder, users, _ATTR_NOSUID | _ATTR_NODEV)
    parts = f"lowerdir=/proc/self/fd/{lower}"
    parts += "".join(f",{part}dir=/proc/self/fd/{written}/{part}" for part in ("upper", "work"))
    where, flags = f"{folder}/merged".encode(), ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    kernel.call("mount", b"overlay", where, b"overlay", flags, f"{parts},userxattr".encode())


def _tree(folder: str, users: int, attributes: int) -> int:
    """Returns a detached mount of this folder in which the users are exchanged. Raises OSError."""
    flags = ctypes.c_uint(_TREE_CLONE | _TREE_CLOSE_ON_EXEC)
    tree = kernel.call("syscall", ctypes.c_long(_OPEN_TREE), ctypes.c_int(_AT_FDCWD), folder.encode(), flags)
    wanted = struct.pack("QQQQ", _ATTR_IDMAP | attributes, 0, 0, users)
    given = (ctypes.c_int(tree), b"", ctypes.c_uint(_AT_EMPTY_PATH), wanted, ctypes.c_size_t(len(wanted)))
    kernel.call("syscall", ctypes.c_long(_MOUNT_SETATTR), *given)
    return tree


def _exchanging(user: int, group: int) -> int:
    """Returns a descriptor of a user namespace in which root and this user have each other's ids. Raises OSError."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            kernel.call("unshare", _NEW_USER)
            os.write(told, b"x")
            signal.pause()
        os._exit(1)
    os.close(told)
    try:
        if not os.read(ready, 1):
            raise OSError(0, "there is no new user namespace")
        kernel.write(f"/proc/{child}/uid_map", _exchange(user))
        kernel.write(f"/proc/{child}/gid_map", _exchange(group))
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _exchange(number: int) -> str:
    """Returns the lines of an id map that exchanges 0 and `number`: first id inside, first id outside, count."""
    ranges = [(0, number, 1), (number, 0, 1), (1, 1, number - 1), (number + 1, number + 1, _LAST - number)]
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in ranges if count > 0)
