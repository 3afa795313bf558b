"""What a command sees: system and workspace read-only, a scratch folder, nothing else (BOX-02).

Of /etc it sees the system's files that programs need, and made-up accounts (BOX-02).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from remit_server.sandbox.bubblewrap.apart import mounts_below
from remit_server.sandbox.limits import pids
from remit_server.sandbox.limits.limits import Limits
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import SCRATCH, SYSTEM_FOLDERS
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, parents_of, system_options

# Inside, the command is an ordinary user, also if the server runs as root.
USER_ID = 1000

# The command has namespaces of its own and no capabilities, and dies together with its parent.
CONFINED = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(USER_ID), "--gid", str(USER_ID)),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "remit", "--clearenv"),
)
# `kmsg` is not listed, because the kernel opens it only to processes with a capability, which no command has.
_PROC_HIDDEN = (
    *("kcore", "keys", "key-users", "kallsyms", "timer_list", "sched_debug"),
    *("kpagecount", "kpageflags", "kpagecgroup", "slabinfo"),
)
_CREDENTIALS = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".config/gcloud", ".config/gh", ".password-store"),
    *(".netrc", ".git-credentials", ".pgpass", ".pypirc", ".npmrc", ".vault-token", ".m2/settings.xml"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".local/share/keyrings", ".mozilla"),
    *(".bash_history", ".zsh_history", ".python_history"),
)


def bubblewrap_options(
    spec: CommandSpec,
    limits: Limits,
    *,
    etc: Iterable[str],
    bound: int | None = None,
    merged: Path | None = None,
    shown: Sequence[ReadOnlyMount] = (),
    stand_ins: Mapping[str, str] = MappingProxyType({}),
    scratch: Mapping[Path, Path] = MappingProxyType({}),
    more: Iterable[str] = (),
) -> list[str]:
    """Returns options of bwrap(1), without the program's name. Looks at which files exist.

    `etc` are the options for /etc. The descriptor `bound` holds the value for `kernel.pid_max`, if that can be set.
    `merged` is the workspace with a layer over it, which the command may write to; without it the workspace is
    read-only. `shown` are the mounts outside the workspace, such as toolchains; `more` are options for anything else.
    `stand_ins` are the overlays shown in place of folders of the host (`apart.py`); `scratch` maps folders of the
    workspace that the command may write to, to their overlays.
    """
    return [
        *CONFINED,
        *system_options(SYSTEM_FOLDERS, stand_ins),
        *etc,
        *_proc_options(bound),
        *_device_options(limits),
        *_scratch_options(spec.workspace, limits),
        *_toolchain_options(shown, stand_ins, spec.listed),
        *("--bind" if merged else "--ro-bind", str(merged or spec.workspace), str(spec.workspace)),
        *(_mount_options(spec.workspace, stand_ins) if merged else ()),
        *(option for folder, place in scratch.items() for option in ("--bind", str(place), str(folder))),
        *_hiding_options(hidden_paths_below(spec)),
        *more,
        *("--remount-ro", "/", "--chdir", str(spec.cwd)),
        *(option for name, value in spec.environment.items() for option in ("--setenv", name, value)),
    ]


def _scratch_options(workspace: Path, limits: Limits) -> list[str]:
    """Returns options for /tmp and /var/tmp. /var/tmp is a link to /tmp, unless the workspace lies in /var/tmp, because
    nothing can be mounted behind a link."""
    room = ("--size", str(limits.scratch_bytes), "--tmpfs")
    other = "/var/tmp"  # noqa: S108
    inside = f"{workspace}/".startswith(f"{other}/")
    return [*room, SCRATCH, "--dir", "/var", *((*room, other) if inside else ("--symlink", SCRATCH, other))]


def _toolchain_options(
    shown: Sequence[ReadOnlyMount], stand_ins: Mapping[str, str], listed: Sequence[Path]
) -> list[str]:
    """Returns options for the mounts outside the workspace. The folders above them, such as the home, cannot be listed,
    except those in `listed`."""
    return [
        *(
            option
            for folder in parents_of(each.place for each in shown)
            for option in ("--perms", "0555" if folder in listed else "0111", "--dir", str(folder))
        ),
        *(option for each in shown for option in _bind(str(each.source), str(each.place), stand_ins)),
        *_hiding_options(path for each in shown for path in each.private),
    ]


def _mount_options(workspace: Path, stand_ins: Mapping[str, str]) -> list[str]:
    """Returns options that mount other file systems inside the workspace read-only."""
    return [option for place in map(str, mounts_below(workspace)) for option in _bind(place, place, stand_ins)]


def _bind(source: str, place: str, stand_ins: Mapping[str, str]) -> tuple[str, str, str]:
    return ("--ro-bind", stand_ins.get(source, source), place)


def _proc_options(bound: int | None) -> list[str]:
    setting = [] if bound is None else ["--file", str(bound), pids.SETTING]
    # A file that this user may not read needs no cover, because the command is the same user without capabilities.
    hidden = [path for name in _PROC_HIDDEN if os.access(path := f"/proc/{name}", os.R_OK)]
    covered = (option for path in hidden for option in ("--ro-bind", os.devnull, path))
    # If the server is root, /proc/sys and others belong to it, and writing to them needs no capability.
    return ["--proc", "/proc", *setting, *covered, "--remount-ro", "/proc"]


def _device_options(limits: Limits) -> list[str]:
    shared = ("--size", str(limits.shared_bytes), "--tmpfs", "/dev/shm")  # noqa: S108
    return ["--dev", "/dev", *shared, "--remount-ro", "/dev"]


def _hiding_options(paths: Iterable[Path]) -> list[str]:
    """Returns options that cover each of the paths with an empty file or folder."""
    options: list[str] = []
    for real in paths:
        covered = ["--tmpfs", str(real), "--remount-ro", str(real)] if real.is_dir() else []
        options += covered or ["--ro-bind", os.devnull, str(real)]
    return options


def hidden_paths_below(spec: CommandSpec) -> tuple[Path, ...]:
    """Returns the real paths that a command must not see: those of `spec.hidden` and of known credentials that exist
    and, with links followed, lie in the workspace or in what is `readable`."""
    credentials = map(Path, filter(os.path.exists, find_credentials(str(spec.workspace))))
    real = (path.resolve() for path in (*spec.hidden, *credentials) if path.exists())
    readable = set(spec.readable)
    return tuple(
        path
        for path in real
        if (spec.workspace in path.parents or not readable.isdisjoint((path, *path.parents))) and path.exists()
    )


def find_credentials(folder: str) -> Iterator[str]:
    """Yields the places of a home where programs keep credentials, because the workspace may be a home."""
    return (f"{folder}/{name}" for name in _CREDENTIALS)


ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "mime.types", "ssl/openssl.cnf"),
    *("nsswitch.conf", "protocols", "services", "java", "alternatives", "ssl/certs", "ca-certificates/extracted"),
    *("pki/tls/certs", "pki/ca-trust/extracted", "fonts", "manpath.config", "man_db.conf"),
)
"""The files of /etc that a command sees, besides made-up `passwd`, `group` and `hosts`."""

PASSWD = b"remit:x:1000:1000:remit:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
GROUP = b"remit:x:1000:\nnogroup:x:65534:\n"
HOSTS = b"127.0.0.1 localhost\n"
"""Without this file programs cannot resolve `localhost`, as Vitest does when it starts."""


def etc_options(opened: Callable[[bytes], int]) -> tuple[list[str], list[int]]:
    """Returns options of bwrap(1) for a read-only /etc, and their descriptors, which the caller passes on and closes.

    `opened` returns a descriptor from which the given bytes can be read. bwrap copies the files, because mounting each
    one would take ten times as long.
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
        if Path(path).is_symlink() and (real := os.path.realpath(path)).startswith("/usr/"):
            options += ["--symlink", real, path]
        elif Path(path).is_dir():
            options += ["--ro-bind-try", path, path]
        elif Path(path).is_file():
            with suppress(OSError):
                copy(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)
    return options, descriptors
