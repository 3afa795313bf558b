"""Finds what the sandbox really guarantees on this machine, by trying to break each property from inside (BOX-07).

Also tries which sockets a command reaches from inside: it should reach its own, and none of the host's (BOX-11).
"""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from remit_server.machine.descriptors import closing_fd
from remit_server.sandbox.policy_profile import runtime_folders
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Sandbox
from remit_server.sandbox.server_identity import prefix_of
from remit_server.sandbox.visible.environment import command_environment, places_of
from remit_server.sandbox.visible.toolchains import toolchain_mounts

_PROBE_S = 30.0
_MANY = 1000
_NAME = "probe"


@dataclass(frozen=True, slots=True)
class Property:
    """One thing a sandbox promises, whether it held when we tried, and what was tried."""

    name: str
    holds: bool
    detail: str


def broken_of(found: Iterable[Property], isolation: Isolation) -> tuple[Property, ...]:
    """Returns the properties that do not hold although this sandbox says that it has them (BOX-14)."""
    return tuple(each for each in found if not each.holds and each.name not in isolation.lacks)


# Name, what is tried in words, and a shell attempt that succeeds only where the property is broken.
_ATTEMPTS: tuple[tuple[str, str, str], ...] = (
    ("workspace", "write into the workspace", "touch ./probe"),
    ("system", "write to system folders", "touch /usr/remit-probe || touch /etc/remit-probe || touch /remit-probe"),
    (
        "home",
        "read the home folder, and files in it that belong to no toolchain",
        "ls {home} || ls {home}/.ssh || ls {home}/.config || cat {home}/.profile || cat {home}/.npmrc",
    ),
    ("toolchains", "write to the parts of the home folder that are shown", "{toolchains}"),
    ("user", "be root", 'test "$(id -u)" = 0'),
    (
        "environment",
        "find one of the server's environment variables",
        '(env; tr "\\0" "\\n" </proc/1/environ) | grep -vE "^(LC_[A-Z]*|PWD|OLDPWD|SHLVL|_|{variables})=" | grep .',
    ),
    ("memory", "use memory without a limit", 'test "$(ulimit -d)" = unlimited && test "$(ulimit -v)" = unlimited'),
    (
        "signals",
        "signal the server",
        # Signal only in the server's own pid namespace, because elsewhere its pid is another process; a server that is
        # the first process of its container has pid 1, which every namespace has.
        'case "$(readlink /proc/self/ns/pid)" in ""|{space}) kill -0 {server};; *) false;; esac',
    ),
    (
        "network",
        "reach a port of this machine, or find an interface",
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' || tail -n +3 /proc/net/dev | grep -v '^ *lo:' | grep -q .",
    ),
)
# For sandboxes in which a Linux kernel runs, whatever the system is.
_LINUX: tuple[tuple[str, str, str], ...] = (
    ("capabilities", "find a capability", "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status"),
    ("privileges", "check whether they can grow", "grep -E '^NoNewPrivs:[[:space:]]*0' /proc/self/status"),
    ("seccomp", "make a user namespace", "unshare --user true || grep -E '^Seccomp:[[:space:]]*0' /proc/self/status"),
    ("kernel", "write a kernel setting", "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname"),
    ("processes", "see other processes", 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt 20'),
)


async def probe(sandbox: Sandbox, home: Path, server: int) -> tuple[Property, ...]:
    """Tries to break each property once; a command must not reach the folder `home` and the process `server`."""
    isolation = sandbox.isolation()
    attempts = _ATTEMPTS + (() if isolation.name == "seatbelt" else _LINUX)
    if not isolation.available:
        return tuple(Property(name, False, isolation.why) for name, _, _ in attempts)
    with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder, socket.socket() as listening:
        here = _make_readable(folder)
        environment = command_environment(os.environ)
        shown = toolchain_mounts(environment, here, places_of(os.environ))
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        known = {
            "home": shlex.quote(str(home)),
            "server": server,
            "space": shlex.quote(_pid_namespace()),
            "port": listening.getsockname()[1],
            "variables": "|".join(environment),
            "toolchains": " || ".join(f"touch {shlex.quote(f'{each.place}/remit-probe')}" for each in shown) or "false",
        }
        script = "\n".join(
            f"({attempt.format(**known)}) >/dev/null 2>&1 && echo {name}" for name, _, attempt in attempts
        )
        broken = (await _run(sandbox, here, f"{script}\necho end")).stdout.decode(errors="replace").split()
        return (
            *(Property(name, "end" in broken and name not in broken, f"tried to {what}") for name, what, _ in attempts),
            await _try_limits(sandbox, here, isolation.processes),
            await _try_layer(sandbox, here, layers=isolation.layers),
            *await _try_sockets(sandbox, here, isolation),
        )


def _pid_namespace() -> str:
    """Returns the name of our pid namespace, as the link in /proc gives it, or an empty text if there is none."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115  the target is no path
    return ""


async def _try_limits(sandbox: Sandbox, here: Path, bounded_by: str) -> Property:
    """Starts many processes that sleep so long that all live at once; they must be refused or stopped meanwhile."""
    script = f"i=0; while [ $i -lt {_MANY} ]; do sleep 50 & i=$((i+1)); done; sleep 3; echo all"
    output = await _run(sandbox, here, script)
    detail = f"tried to start {_MANY} processes" + (f"; bounded by {bounded_by}" if bounded_by else "")
    return Property("limits", b"all" not in output.stdout, detail)


async def _try_layer(sandbox: Sandbox, here: Path, *, layers: bool) -> Property:
    """Tries whether a write lands in the layer, or fails if there is none, and never reaches the workspace."""
    output = await _run(sandbox, here, f"echo x > {_NAME}", writes=True)
    apart = not (here / _NAME).exists()
    if not layers:
        return Property("layer", apart and output.exit_code != 0, "tried to write, which nothing may without a layer")
    landed = [left.path for left in output.left] == [_NAME]
    return Property("layer", apart and landed, "wrote, and checked where it landed")


async def _try_sockets(sandbox: Sandbox, here: Path, isolation: Isolation) -> tuple[Property, ...]:
    """Tries, with a layer and without one, whether a program reaches itself and no socket of the host (BOX-11)."""
    python = runtime_folders()
    spec = CommandSpec(
        trial_argv(str(python[0])), here, here, command_environment(os.environ), _PROBE_S, readable=python, writes=True
    )
    with listening_in(here):
        layered = (await sandbox.run(spec)).stdout.decode(errors="replace").split()
        plain = (await sandbox.run(replace(spec, writes=False))).stdout.decode(errors="replace").split()
    apart = "end" in layered and "end" in plain and "host" not in (*layered, *plain)
    out = Property("sockets", apart, "tried to reach a socket of this machine that lies in the workspace")
    if isolation.name in {"podman", "docker"} and not (layered or plain):
        return ()  # this Python may not run in an image that the person named, so nothing was tried
    if isolation.name == "seatbelt":
        return (out,)
    ways = "over IP and by UNIX sockets" if "unix" in layered else "over IP; UNIX sockets are not possible here"
    return out, Property("itself", "ip" in layered and "ip" in plain, f"had a program talk to itself {ways}")


async def _run(sandbox: Sandbox, here: Path, script: str, *, writes: bool = False) -> CommandOutput:
    environment = command_environment(os.environ)
    return await sandbox.run(CommandSpec(("/bin/sh", "-c", script), here, here, environment, _PROBE_S, writes=writes))


def _make_readable(folder: str) -> Path:
    """Makes a private folder readable for the user inside, and returns its real path, because macOS compares that."""
    here = Path(folder).resolve()
    here.chmod(0o755)
    return here


Reached = Literal["ip", "unix", "host"]
"""A word that the trial prints: it reached itself over IP, or by a UNIX socket, or it reached the host's socket."""

_SOCKET = "remit-trial"
_TRIAL = f"""
import os, socket
def reaches(family, address):
    try:
        socket.socket(family).connect(address)
    except OSError:
        return False
    return True
def reaches_own(family, address):
    try:
        own = socket.socket(family)
        own.bind(address)
        own.listen()
        return reaches(family, own.getsockname())
    except OSError:
        return False
for word, reached in (
    ("ip", reaches_own(socket.AF_INET, ("127.0.0.1", 0))),
    ("unix", reaches_own(socket.AF_UNIX, os.environ["TMPDIR"] + "/own")),
    ("host", reaches(socket.AF_UNIX, "{_SOCKET}")),
    ("end", True),
):
    if reached:
        print(word)
"""


def trial_argv(python: str) -> tuple[str, ...]:
    """Returns a command for a folder in which a socket of the host listens: it prints a word for each socket that it
    reaches, and then `end`."""
    return (python, "-I", "-S", "-B", "-c", _TRIAL)


@contextmanager
def listening_in(workspace: Path) -> Generator[None]:
    """Makes a socket of the host listen in the workspace until the end. Raises OSError."""
    opened = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with closing_fd(opened) as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(_short_name(folder, workspace))
        listening.listen()
        yield


def _short_name(folder: int, workspace: Path) -> str:
    """Returns a short path of the socket, by the folder's descriptor if /proc has it, because the path of a socket may
    be 108 bytes long at most."""
    by_descriptor = Path(f"/proc/self/fd/{folder}")
    return str((by_descriptor if by_descriptor.is_dir() else workspace) / _SOCKET)
