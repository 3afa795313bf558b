"""What a person's own rules see: a Python runtime and nothing else (EXT-01)."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from remit_server.sandbox.bubblewrap.bubblewrap_options import CONFINED
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, system_options

PROGRAM = "/program.py"
MEMORY_BYTES = 128 * 1024 * 1024

# Folders of libraries without programs, except `/nix/store`, which has both in the same folders.
_LIBRARIES = (
    *("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"),
    *("/lib", "/lib32", "/lib64", "/libx32", "/nix/store"),
)


def policy_options(program: int) -> list[str]:
    """Returns bwrap(1)'s options and command, with which Python runs the program that the descriptor `program` holds.

    Inside there is no workspace, no home except folders of Python itself, no /proc, no devices, nothing writable. Looks
    at which files exist.
    """
    python = runtime_folders()
    return [
        *CONFINED,
        *system_options(_LIBRARIES),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *(option for path in python for option in ("--ro-bind", str(path), str(path))),
        *(option for path in python for option in package_covers(path)),
        *("--ro-bind-data", str(program), PROGRAM, "--remount-ro", "/", "--chdir", "/", "--"),
        *rules_argv(),
    ]


def rules_argv() -> list[str]:
    """Returns the words that run the program of the rules."""
    return [str(runtime_folders()[0]), "-I", "-S", "-B", "-X", "utf8", PROGRAM, str(MEMORY_BYTES)]


def library_folders() -> tuple[Path, ...]:
    """Returns the real folders of the system's libraries, and the cache by which a program finds them."""
    folders = tuple(path for path in map(Path, _LIBRARIES) if path.is_dir() and not path.is_symlink())
    return (*folders, *(path for path in (Path("/etc/ld.so.cache"),) if path.exists()))


def runtime_folders() -> tuple[Path, ...]:
    """Returns the interpreter that runs Remit, outside its virtual environment, first; then its standard library, its
    extension modules and its shared library."""
    named = sysconfig.get_config_vars("LIBDIR", "INSTSONAME", "DESTSHARED")
    folder, library, modules = (str(value or "") for value in named)
    executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    parts = [executable, sysconfig.get_path("stdlib"), modules, os.path.join(folder, library)]  # noqa: PTH118
    return tuple(path for path in map(Path, parts) if path.is_absolute() and path.exists())


def runtime_beside(seen: Iterable[Path]) -> tuple[ReadOnlyMount, ...]:
    """Returns mounts for the runtime's folders that are not in the `seen` ones; installed packages are private."""
    folders = tuple(seen)
    own = [path for path in runtime_folders() if not any(map(path.is_relative_to, folders))]
    return tuple(ReadOnlyMount(path, path, _packages_in(path)) for path in own)


def package_covers(folder: Path) -> list[str]:
    """Returns options that cover packages installed beside the standard library with empty folders."""
    return [option for path in _packages_in(folder) for option in ("--tmpfs", str(path), "--remount-ro", str(path))]


def _packages_in(folder: Path) -> tuple[Path, ...]:
    covered = (folder / name for name in ("site-packages", "dist-packages"))
    return tuple(path for path in covered if path.is_dir() and not path.is_symlink())
