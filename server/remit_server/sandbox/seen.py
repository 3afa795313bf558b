"""What a command sees outside workspace and system: the person's toolchains, and what its tool names (agent.md §3)."""

from __future__ import annotations

import os

from remit_server.sandbox.environment import places_of
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.toolchains import Shown, needed


def seen_outside(spec: CommandSpec) -> tuple[Shown, ...]:
    """To be read, each where it is. Looks at what exists of the toolchains."""
    return (*needed(spec.environment, spec.workspace, places_of(os.environ)), *named_by(spec))


def named_by(spec: CommandSpec) -> tuple[Shown, ...]:
    """What the command's tool names; what lies in the workspace is seen anyway."""
    return tuple(Shown(path, path) for path in spec.readable if not path.is_relative_to(spec.workspace))
