"""Every command waits for a sandbox of its template by one schedule, whichever session it is of (SCH-01)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Sandbox
from remit_server.scheduling.freezer import Freezer
from remit_server.scheduling.runner import Runner
from remit_server.scheduling.schedule import Limits, Task

SANDBOX_LIMITS = Limits(
    most=4,
    age=30.0,
    per_template=MappingProxyType({"ai-provider": 2, "code-executor": 2, "policy-sandbox": 1, "integration-test": 2}),
)
"""For a machine of four to eight processors; `age` is seconds."""


def sandbox_slots() -> Runner:
    """Returns the schedule of a server's sandboxes."""
    return Runner(SANDBOX_LIMITS)


class Scheduled:
    """A sandbox whose commands begin in their turn; a more urgent one pauses or ends one that is less so (SCH-04)."""

    def __init__(self, sandbox: Sandbox, slots: Runner) -> None:
        self._sandbox, self._slots = sandbox, slots

    def isolation(self) -> Isolation:
        """That of the sandbox."""
        return self._sandbox.isolation()

    async def run(self, spec: CommandSpec, progress: Callable[[bytes], None] | None = None) -> CommandOutput:
        """Run it when it is its turn; its time begins then. Raises ToolError: `sandbox_unavailable`, or `stale` where
        it was ended for something more urgent.
        """
        task = Task(uuid.uuid4().hex, spec.priority, spec.template, most=spec.timeout_s)

        async def work(freezer: Freezer) -> CommandOutput:
            return await self._sandbox.run(replace(spec, freezer=freezer), progress)

        self._slots.add(task)
        return await self._slots.run(task.id, work)
