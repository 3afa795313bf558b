"""What a command has of /etc: what it needs of the system's own, and accounts that are nobody's (BOX-02)."""

from __future__ import annotations

# Names, not paths: this looks before each command.
# ruff: noqa: PTH112, PTH113, PTH114
import os
from collections.abc import Callable
from contextlib import suppress

ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types", "ssl/openssl.cnf"),
    *("nsswitch.conf", "protocols", "services", "java", "alternatives", "ssl/certs", "ca-certificates/extracted"),
    *("pki/tls/certs", "pki/ca-trust/extracted", "fonts", "manpath.config", "man_db.conf"),
)
"""All that a command sees of /etc, besides a `passwd`, a `group` and `hosts` of its own."""

PASSWD = b"remit:x:1000:1000:remit:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
GROUP = b"remit:x:1000:\nnogroup:x:65534:\n"
HOSTS = b"127.0.0.1 localhost\n"
"""Without it no program that asks for `localhost`, as Vitest does at its start, finds its own machine."""


def etc_options(opened: Callable[[bytes], int]) -> tuple[list[str], list[int]]:
    """Options of bwrap(1) for an /etc to be read, and the descriptors they name, to be passed on and closed.

    `opened` gives a descriptor to read bytes from. bwrap copies the files: a mount of each takes it ten times as long.
    """
    options: list[str] = []
    descriptors: list[int] = []

    def copy(descriptor: int, path: str) -> None:
        descriptors.append(descriptor)
        options.extend(("--perms", "0444", "--file", str(descriptor), path))

    copy(opened(PASSWD), "/etc/passwd")
    copy(opened(GROUP), "/etc/group")
    copy(opened(HOSTS), "/etc/hosts")
    for path in (f"/etc/{name}" for name in ETC):
        if os.path.islink(path) and (real := os.path.realpath(path)).startswith("/usr/"):
            options += ["--symlink", real, path]
        elif os.path.isdir(path):
            options += ["--ro-bind-try", path, path]
        elif os.path.isfile(path):
            with suppress(OSError):
                copy(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)
    return options, descriptors
