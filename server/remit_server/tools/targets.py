"""What a call touches, for tools whose calls all touch the same kind of thing (TOOL-01)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remit_server.tools.spec import Target, ToolContext

Targets = Callable[[Any, ToolContext], tuple[Target, ...]]


def path_targets(*syscalls: str) -> Targets:
    """Returns the `targets` of a tool whose argument `path` is the object of these syscalls."""

    def targets(arguments: Any, ctx: ToolContext) -> tuple[Target, ...]:
        path = ctx.resolve(arguments.path)
        return tuple(Target(syscall, path) for syscall in syscalls)

    return targets


def process_targets(syscall: str) -> Targets:
    """Returns the `targets` of a tool that works on the background process `process`, which has to exist."""

    def targets(arguments: Any, ctx: ToolContext) -> tuple[Target, ...]:
        ctx.processes.find(arguments.process)
        return (Target(syscall),)

    return targets


def session_targets(syscall: str) -> Targets:
    """Returns the `targets` of a tool whose calls touch nothing but the session, whatever their arguments are."""
    return lambda _arguments, _ctx: (Target(syscall),)
