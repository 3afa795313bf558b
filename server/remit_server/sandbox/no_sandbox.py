"""No sandbox: every command is refused, with how to get one (BOX-01)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName, Sandbox


class NoSandbox:
    """Stands where nothing isolates. It never runs anything."""

    name: RuntimeName = "none"

    def __init__(self, why: str, fix: str) -> None:
        self._isolation = Isolation("none", available=False, why=why, fix=fix)

    def isolation(self) -> Isolation:
        """Nothing, and why."""
        return self._isolation

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Raises ToolError (`sandbox_unavailable`), always."""
        del spec, progress
        raise no_sandbox(self._isolation)


class Fallback:
    """A sandbox that was taken because the best one of this system is missing; where it does not work either, the best
    one is what the person is told to install."""

    def __init__(self, taken: Sandbox, missing: str, advice: str) -> None:
        self._taken, self._missing, self._advice = taken, missing, advice

    @property
    def name(self) -> RuntimeName:
        """The sandbox taken."""
        return self._taken.name

    def isolation(self) -> Isolation:
        """That of the sandbox taken; why and fix begin with the best one."""
        found = self._taken.isolation()
        if found.available:
            return found
        why = f"there is no program `{self._missing}`, and {found.why}"
        return replace(found, why=why, fix=f"{self._advice}; or, for {found.name}: {found.fix}")

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Run it in the sandbox taken. Raises ToolError (`sandbox_unavailable`) where that does not work."""
        isolation = await asyncio.to_thread(self.isolation)
        if not isolation.available:
            raise no_sandbox(isolation)
        return await self._taken.run(spec, progress)


def no_sandbox(isolation: Isolation) -> ToolError:
    """The refusal of a command where nothing isolates."""
    return ToolError(
        "cannot run the command",
        f"there is no sandbox: {isolation.why}",
        isolation.fix,
        code=ErrorCode.SANDBOX_UNAVAILABLE,
    )
