"""Finds the runtimes on this machine, and tells how to install the others (CLI-11)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUNTIMES: Mapping[str, tuple[str, ...]] = {
    "python": ("runs Remit", "python3", "python"),
    "node": ("runs tests and tools of JavaScript projects", "node"),
    "bubblewrap": ("runs commands in a sandbox", "bwrap"),
    "podman": ("runs commands, or Remit itself, in a container", "podman"),
    "docker": ("runs commands, or Remit itself, in a container", "docker"),
}
"""The runtimes that may be needed: what each does, then the names of its programs."""

_LINUX = {name: name for name in RUNTIMES} | {"python": "python3", "node": "nodejs"}
INSTALL: Mapping[str, Mapping[str, str]] = {
    "debian": {name: f"apt install {package}" for name, package in {**_LINUX, "docker": "docker.io"}.items()},
    "fedora": {name: f"dnf install {package}" for name, package in {**_LINUX, "docker": "moby-engine"}.items()},
    "arch": {name: f"pacman -S {package}" for name, package in {**_LINUX, "python": "python"}.items()},
    "darwin": {
        "python": "brew install python",
        "node": "brew install node",
        "bubblewrap": "not for macOS, which has sandbox-exec",
        "podman": "brew install podman && podman machine init && podman machine start",
        "docker": "brew install --cask docker",
    },
    "win32": dict.fromkeys(RUNTIMES, "install it inside WSL2, and run Remit there"),
}
"""How to install each runtime, by system."""

FAMILIES: Mapping[str, str] = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "manjaro": "arch"}


@dataclass(frozen=True, slots=True)
class Found:
    """One runtime: where it is (None if it is not found), and how to install it here."""

    name: str
    path: str | None
    install: str


def this_system() -> str:
    """Returns the key of `INSTALL` for this machine; an empty text if Linux is of none of these families."""
    if not sys.platform.startswith("linux"):
        return sys.platform
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    rows = {key: value for line in text.splitlines() for key, sign, value in [line.partition("=")] if sign}
    ids = " ".join(rows.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()
    return next((name for each in ids if (name := FAMILIES.get(each, each)) in INSTALL), "")


def find_runtimes(system: str, path: str | None = None) -> tuple[Found, ...]:
    """Returns every runtime, found or not. Searches `path`, or PATH if `path` is None."""
    how = INSTALL.get(system, {})
    return tuple(
        Found(
            name,
            next((at for program in programs if (at := shutil.which(program, path=path))), None),
            how.get(name, f"install {name} with this system's package manager"),
        )
        for name, (_, *programs) in RUNTIMES.items()
    )


def describe_runtimes(found: Sequence[Found]) -> str:
    """Returns one line for each runtime: where it is, or what it is for and how to install it."""
    return "\n".join(
        f"{each.name:<11}{each.path or f'not found; it {RUNTIMES[each.name][0]}: {each.install}'}" for each in found
    )
