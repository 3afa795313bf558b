"""Every command waits for a sandbox of its template by one schedule, whichever session it is of (SCH-01)."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial, reduce

from remit_server.sandbox.limits.at_once import AtOnce
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName, Sandbox
from remit_server.scheduling.runner import Freezer, Runner
from remit_server.scheduling.schedule import Task


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
