"""Makes every command wait for its turn in one schedule for all sessions (SCH-01).

Also says how many commands run at once (SCH-01).
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
    """How many commands run at once, in all and of each template (`code_executor` without a network).

    The defaults are for a machine of four to eight processors.
    """

    global_max: int = 4
    code_executor: int = 2
    integration_test: int = 2

    def lower(self, other: AtOnce) -> AtOnce:
        """Returns the lower of both for each limit."""
        return AtOnce(
            min(self.global_max, other.global_max),
            min(self.code_executor, other.code_executor),
            min(self.integration_test, other.integration_test),
        )

    @property
    def limits(self) -> Limits:
        """The same as limits of a schedule."""
        templates = {"code-executor": self.code_executor, "integration-test": self.integration_test}
        return Limits(self.global_max, AGE_S, MappingProxyType(templates))


class Slots:
    """The schedule of a server's sandboxes. Of the limits that its folders set the lowest counts, because all commands
    share one machine (SCH-06)."""

    def __init__(self) -> None:
        self.runner = Runner(AtOnce().limits)
        self._set: dict[object, AtOnce] = {}

    def hold(self, folder: object, at_once: AtOnce) -> None:
        """Applies a folder's limits, from the next start of a command on, until they are released."""
        self._set[folder] = at_once
        self._limit()

    def release(self, folder: object) -> None:
        """Forgets the limits of a folder that is closed. Idempotent."""
        self._set.pop(folder, None)
        self._limit()

    def _limit(self) -> None:
        held = list(self._set.values())
        if held:
            self.runner.limit(reduce(AtOnce.lower, held).limits)


class Scheduled:
    """A sandbox whose commands wait for their turn; a more urgent one can pause or end a less urgent one (SCH-04)."""

    def __init__(self, sandbox: Sandbox, slots: Runner) -> None:
        self._sandbox, self._slots = sandbox, slots

    @property
    def name(self) -> RuntimeName:
        """The runtime of the sandbox that commands wait for."""
        return self._sandbox.name

    def isolation(self) -> Isolation:
        """Returns what the sandbox that commands wait for gives here."""
        return self._sandbox.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command when it has its turn, or at once if it is a background command; its timeout begins then.

        Raises ToolError: `sandbox_unavailable`, or `stale` if the command was ended for a more urgent one.
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
