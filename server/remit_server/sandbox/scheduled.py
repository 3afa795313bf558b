"""Every command waits for a sandbox of its template by one schedule, whichever session it is of (SCH-01).

How many commands run at once is said here (SCH-01).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from functools import partial, reduce
from types import MappingProxyType

from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName, Sandbox
from remit_server.scheduling.runner import Freezer, Runner
from remit_server.scheduling.schedule import Limits, Task

AGE_S = 30.0


@dataclass(frozen=True, slots=True)
class AtOnce:
    """How many commands run at once, in all and of each template that commands have: without and with a network.

    For a machine of four to eight processors.
    """

    global_max: int = 4
    code_executor: int = 2
    integration_test: int = 2

    def lower(self, other: AtOnce) -> AtOnce:
        """Returns the lower limit of both, each by itself."""
        return AtOnce(
            min(self.global_max, other.global_max),
            min(self.code_executor, other.code_executor),
            min(self.integration_test, other.integration_test),
        )

    @property
    def limits(self) -> Limits:
        """The limits of a schedule in seconds."""
        templates = {"code-executor": self.code_executor, "integration-test": self.integration_test}
        return Limits(self.global_max, AGE_S, MappingProxyType(templates))


class Slots:
    """The schedule of a server's sandboxes. Of what its folders set, the lowest counts: it is one machine (SCH-06)."""

    def __init__(self) -> None:
        self.runner = Runner(AtOnce().limits)
        self._set: dict[object, AtOnce] = {}

    def hold(self, folder: object, at_once: AtOnce) -> None:
        """Has what a folder sets count, from the next start of a command on, until it is released."""
        self._set[folder] = at_once
        self._limit()

    def release(self, folder: object) -> None:
        """Forgets a folder's, which is closed. Idempotent."""
        self._set.pop(folder, None)
        self._limit()

    def _limit(self) -> None:
        held = list(self._set.values())
        if held:
            self.runner.limit(reduce(AtOnce.lower, held).limits)


class Scheduled:
    """A sandbox whose commands begin in their turn; a more urgent one pauses or ends one that is less so (SCH-04)."""

    def __init__(self, sandbox: Sandbox, slots: Runner) -> None:
        self._sandbox, self._slots = sandbox, slots

    @property
    def name(self) -> RuntimeName:
        """The runtime that commands wait for."""
        return self._sandbox.name

    def isolation(self) -> Isolation:
        """Returns what isolates in the sandbox that commands wait for."""
        return self._sandbox.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Run it when it is its turn, or at once in the background; its time begins then.

        Raises ToolError: `sandbox_unavailable`, or `stale` where it was ended for something more urgent.
        """
        if spec.background:
            return await self._sandbox.run(spec, progress)
        task = Task(uuid.uuid4().hex, spec.priority, spec.template, most=spec.timeout_s)

        async def work(freezer: Freezer) -> CommandOutput:
            if not at_once:
                spec.waits("started")
            freezer.paused = lambda is_paused: spec.waits("paused" if is_paused else "resumed")
            if spec.leave is not None:
                spec.leave.now = partial(self._slots.leave, task.id)
            try:
                return await self._sandbox.run(replace(spec, freezer=freezer), progress)
            finally:
                if spec.leave is not None:
                    spec.leave.now = None

        at_once = self._slots.add(task)
        if not at_once:
            spec.waits("queued")
        return await self._slots.run(task.id, work)
