"""The kinds of sandbox and what each may use (BOX-04): one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit_governance.values import SandboxName
from remit_server.sandbox.bubblewrap.seccomp import ProfileName
from remit_server.sandbox.limits.limits import MIB, Limits

TemplateName = SandboxName

# The kernel's limits count threads: as many as this for each process.
_THREADS = 4
# Resident memory counts what processes share once for each of them.
_SHARED = 2


@dataclass(frozen=True, slots=True)
class Template:
    """Bytes, processors, processes, seconds. `restricted`: no network but a proxy's, to hosts that policy names."""

    network: Literal["none", "restricted"]
    memory: int
    cpus: float
    processes: int
    seconds: float
    seccomp: ProfileName

    @property
    def limits(self) -> Limits:
        """What is set and watched."""
        return Limits(
            processes=self.processes,
            tasks=self.processes * _THREADS,
            process_bytes=self.memory,
            total_bytes=self.memory * _SHARED,
        )


TEMPLATES: dict[TemplateName, Template] = {
    "code-executor": Template("none", 1024 * MIB, 1.0, 100, 300, "standard"),
    "integration-test": Template("restricted", 1024 * MIB, 1.0, 100, 300, "standard"),
}
