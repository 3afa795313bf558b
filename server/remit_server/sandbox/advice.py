"""How to get a sandbox on this machine: packages by distribution, and the settings that forbid namespaces (BOX-01).

The advice is pure but for `this_machine`, which reads files. Also the stand-ins for a missing sandbox, which refuse
every command and say how to get a sandbox (BOX-01).
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName, Sandbox


@dataclass(frozen=True, slots=True)
class Machine:
    """What advice depends on: `sys.platform`, the ids of the distribution and of those it is like, and the kernel's
    settings by name."""

    platform: str
    ids: tuple[str, ...] = ()
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Packages:
    """A package manager's command, and its names for the packages that the sandbox needs."""

    install: str
    bubblewrap: str = "bubblewrap"
    seccomp: str = "libseccomp"
    unshare: str = "util-linux"


# By the ids of os-release(5). A derivative names the distribution that it is like in ID_LIKE.
_PACKAGES: Mapping[str, Packages] = {
    "debian": Packages("apt install", seccomp="libseccomp2"),
    "ubuntu": Packages("apt install", seccomp="libseccomp2"),
    "fedora": Packages("dnf install"),
    "rhel": Packages("dnf install"),
    "arch": Packages("pacman -S"),
    "alpine": Packages("apk add", unshare="unshare"),
    "opensuse": Packages("zypper install", seccomp="libseccomp2"),
    "suse": Packages("zypper install", seccomp="libseccomp2"),
    "void": Packages("xbps-install"),
    "gentoo": Packages("emerge", "sys-apps/bubblewrap", "sys-libs/libseccomp", "sys-apps/util-linux"),
}

APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
CLONE = "kernel.unprivileged_userns_clone"
MOST = "user.max_user_namespaces"


def this_machine() -> Machine:
    """Returns what advice depends on here; empty texts for what cannot be read."""
    settings = {name: _read(Path("/proc/sys", *name.split("."))).strip() for name in (APPARMOR, CLONE, MOST)}
    return Machine(sys.platform, distribution_ids(_read(Path("/etc/os-release"))), settings)


def distribution_ids(os_release: str) -> tuple[str, ...]:
    """Returns the ids of a distribution in os-release(5), its own before those it is like."""
    found: dict[str, str] = {}
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        try:
            found[name] = " ".join(shlex.split(value))
        except ValueError:  # an unclosed quote
            continue
    return tuple(f"{found.get('ID', '')} {found.get('ID_LIKE', '')}".lower().split())


def sandbox_advice(machine: Machine) -> str:
    """Returns what is best to install for a sandbox here."""
    if machine.platform == "darwin":
        return "use `sandbox-exec`, which comes with macOS: add `/usr/bin` to the PATH, and unset REMIT_SANDBOX"
    if not machine.platform.startswith("linux"):
        return "install Podman or Docker: there is no other sandbox for this system"
    packages = _packages_for(machine)
    if packages is None:
        return "install bubblewrap 0.8 or newer and util-linux with this system's package manager"
    return f"install bubblewrap 0.8 or newer: `{packages.install} {packages.bubblewrap}`"


def missing_advice(machine: Machine, part: str) -> str:
    """Returns how to install what the sandbox needs besides bubblewrap: `libseccomp`, or `unshare`."""
    packages = _packages_for(machine)
    if packages is None:
        return f"install {part} with this system's package manager"
    name = packages.seccomp if part == "libseccomp" else packages.unshare
    return f"install {part}: `{packages.install} {name}`"


def namespaces_advice(machine: Machine) -> str:
    """Returns how to allow bubblewrap to make namespaces, naming the setting that forbids them here, if any."""
    settings = machine.settings or {}
    if settings.get(APPARMOR) == "1":
        return (
            "AppArmor forbids user namespaces here, as in Ubuntu 24.04: allow them with "
            f"`sudo sysctl -w {APPARMOR}=0`, or give bwrap an AppArmor profile with `userns`"
        )
    for name, forbids, allows in ((CLONE, "0", "1"), (MOST, "0", "15000")):
        if settings.get(name) == forbids:
            return f"the kernel's setting {name}=0 forbids user namespaces: `sudo sysctl -w {name}={allows}`"
    return "no kernel setting forbids user namespaces, so the container around Remit does: run Remit outside of it"


def _packages_for(machine: Machine) -> Packages | None:
    known = (each.partition("-")[0] for each in machine.ids)  # opensuse-leap, opensuse-tumbleweed
    return next((_PACKAGES[each] for each in known if each in _PACKAGES), None)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_LESS = (
    "choose a weaker sandbox: set REMIT_SANDBOX=landlock-alone in your environment (commands then write nothing to the "
    "workspace, have no network, not even among themselves, and can tell which files exist that they may not open)"
)


class NoSandbox:
    """Stands in for a sandbox if nothing isolates. It never runs anything."""

    name: RuntimeName = "none"

    def __init__(self, why: str, fix: str) -> None:
        self._isolation = Isolation("none", available=False, why=why, fix=fix)

    def isolation(self) -> Isolation:
        """Returns an isolation that is not available, with the reason."""
        return self._isolation

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Always raises ToolError (`sandbox_unavailable`)."""
        del spec, progress
        raise no_sandbox(self._isolation)


class Fallback:
    """Several sandboxes of this system, the best first: commands run in the first one that isolates (BOX-12).

    If none does, the person is told how to get the best one, and that they may choose the weaker `less` (BOX-13).
    """

    def __init__(self, candidates: Sequence[Sandbox], advice: str, less: Sandbox | None = None) -> None:
        self._candidates, self._advice, self._less = candidates, advice, less
        self._taken: Sandbox | None = None

    @property
    def name(self) -> RuntimeName:
        """The runtime of the sandbox taken; before one is taken, that of the first candidate."""
        return (self._taken or self._candidates[0]).name

    def isolation(self) -> Isolation:
        """Returns the isolation of the first sandbox that isolates; else why none does, and how to get one."""
        tried: list[Isolation] = []
        for each in (self._taken,) if self._taken else self._candidates:
            found = each.isolation()
            if found.available:
                self._taken = each
                return found
            tried.append(found)
        self._taken = None
        why = ", and ".join(dict.fromkeys(found.why for found in tried))
        more = "; or, for ".join(dict.fromkeys((self._advice, *(f"{each.name}: {each.fix}" for each in tried[1:]))))
        less = f"; or {_LESS}" if self._less is not None and self._less.isolation().available else ""
        return replace(tried[0], why=why, fix=f"{more}{less}")

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command in the sandbox taken. Raises ToolError (`sandbox_unavailable`) if none isolates."""
        isolation = await asyncio.to_thread(self.isolation)
        if self._taken is None:
            raise no_sandbox(isolation)
        return await self._taken.run(spec, progress)


def no_sandbox(isolation: Isolation) -> ToolError:
    """Returns the error that refuses a command because nothing isolates."""
    return ToolError(
        "cannot run the command",
        f"there is no sandbox: {isolation.why}",
        isolation.fix,
        code=ErrorCode.SANDBOX_UNAVAILABLE,
    )


def require_isolation(isolation: Isolation, spec: CommandSpec) -> None:
    """Raises ToolError (`sandbox_unavailable`) if nothing isolates, or if the workspace is the whole file system."""
    if not isolation.available:
        raise no_sandbox(isolation)
    if not spec.workspace.name:
        why = "the workspace is the whole file system"
        raise no_sandbox(replace(isolation, why=why, fix="open a folder inside it instead"))
