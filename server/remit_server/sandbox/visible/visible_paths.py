"""What a command sees outside workspace and system: the person's toolchains, and what its tool names (BOX-02)."""

from __future__ import annotations

import os

from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import places_of
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, toolchain_mounts


def visible_outside(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """To be read, each where it is. Looks at what exists of the toolchains."""
    return (*toolchain_mounts(spec.environment, spec.workspace, places_of(os.environ)), *mounts_named_by(spec))


def mounts_named_by(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """What the command's tool names; what lies in the workspace is seen anyway."""
    named = {**{path: path for path in spec.readable}, **spec.in_place_of}
    return tuple(ReadOnlyMount(*each) for each in named.items() if not each[0].is_relative_to(spec.workspace))
