"""What the sandbox really holds on this machine, found by trying to break each property from inside (agent.md §3)."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from remit_server.sandbox.environment import command_environment
from remit_server.sandbox.ports import CommandSpec, Sandbox

_PROBE_S = 30.0


@dataclass(frozen=True, slots=True)
class Property:
    """One thing a sandbox promises, whether it held when we tried, and what was tried."""

    name: str
    holds: bool
    detail: str


# Name, what is tried in words, and a shell attempt that succeeds only where the property is broken.
_ATTEMPTS: tuple[tuple[str, str, str], ...] = (
    ("network", "look for a network interface", "tail -n +3 /proc/net/dev | grep -v '^ *lo:' | grep -q ."),
    ("workspace", "write into the workspace", "touch ./probe"),
    ("system", "write to system folders", "touch /usr/remit-probe || touch /etc/remit-probe || touch /remit-probe"),
    ("home", "read the home folder", "ls {home}"),
    ("capabilities", "look for a capability", "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status"),
    ("privileges", "look whether they can grow", "grep -E '^NoNewPrivs:[[:space:]]*0' /proc/self/status"),
    ("seccomp", "make a user namespace", "unshare --user true || grep -E '^Seccomp:[[:space:]]*0' /proc/self/status"),
    ("kernel", "write a kernel setting", "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname"),
    ("processes", "see or signal others", 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt 20 || kill -0 {server}'),
    ("memory", "use memory without a limit", 'test "$(ulimit -d)" = unlimited'),
    ("user", "be root", 'test "$(id -u)" = 0'),
)


async def probe(sandbox: Sandbox, home: Path, server: int) -> tuple[Property, ...]:
    """Try each property once; `home` and the process id `server` are what must not be reachable."""
    isolation = sandbox.isolation()
    if not isolation.available:
        return tuple(Property(name, False, isolation.why) for name, _, _ in _ATTEMPTS)
    script = "\n".join(
        f"({attempt.format(home=shlex.quote(str(home)), server=server)}) >/dev/null 2>&1 && echo {name}"
        for name, _, attempt in _ATTEMPTS
    )
    with tempfile.TemporaryDirectory(prefix="remit-") as folder:
        here = Path(folder)
        output = await sandbox.run(
            CommandSpec(("/bin/sh", "-c", f"{script}\necho end"), here, here, command_environment({}), _PROBE_S)
        )
    broken = output.stdout.decode(errors="replace").split()
    finished = "end" in broken
    return tuple(Property(name, finished and name not in broken, f"tried to {what}") for name, what, _ in _ATTEMPTS)
