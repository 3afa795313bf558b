"""No sandbox: every command is refused, with how to get one (agent.md §3)."""

from __future__ import annotations

from collections.abc import Callable

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation


class NoSandbox:
    """Stands where nothing isolates. It never runs anything."""

    def __init__(self, why: str, fix: str) -> None:
        self._isolation = Isolation("none", available=False, why=why, fix=fix)

    def isolation(self) -> Isolation:
        """Nothing, and why."""
        return self._isolation

    async def run(self, spec: CommandSpec, progress: Callable[[bytes], None] | None = None) -> CommandOutput:
        """Raises ToolError (`sandbox_unavailable`), always."""
        del spec, progress
        raise no_sandbox(self._isolation)


def no_sandbox(isolation: Isolation) -> ToolError:
    """The refusal of a command where nothing isolates."""
    return ToolError(
        "cannot run the command",
        f"there is no sandbox: {isolation.why}",
        isolation.fix,
        code=ErrorCode.SANDBOX_UNAVAILABLE,
    )
