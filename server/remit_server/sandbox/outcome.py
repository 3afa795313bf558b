"""What the adapters share: how they tell a command's end and refuse one, and the PATH for their own programs."""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import replace
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation


def with_changes(ended: CommandOutput, layer: Layer) -> CommandOutput:
    """Returns how a command ended, with what it left in its layer."""
    return replace(ended, left=layer.changes(), written=layer.written())


def has_never_begun(ended: CommandOutput) -> bool:
    """Returns whether the sandbox failed before the command could begin."""
    return ended.exit_code is None and not ended.timed_out and ended.stopped is None


def refuse_ways_out(spec: CommandSpec, runtime: str, isolation: Isolation | None = None) -> None:
    """Raises ToolError if a command needs hosts or a channel, and this adapter does not give them (PLG-08).

    `isolation` is what the adapter's trial found; None for an adapter that never gives either.
    """
    because = f" here: {isolation.offline}" if isolation and isolation.offline else ""
    if spec.channel is not None and not (isolation and isolation.channel):
        raise ToolError(
            "cannot run the plugin",
            f"`{runtime}` gives a command no socket to the server{because}",
            "install bubblewrap, which gives each command such a socket",
            code=ErrorCode.SANDBOX_UNAVAILABLE,
        )
    if spec.reached and not (isolation and isolation.hosts):
        raise ToolError(
            "cannot run the command",
            f"it lists hosts to connect to, and `{runtime}` gives a command no network{because}",
            "run it without hosts (a command's are in `network`, those of tests in the person's "
            "`workflow.test_hosts`), or install bubblewrap, which gives commands a proxy",
            code=ErrorCode.SANDBOX_UNAVAILABLE,
        )


def trusted_path(*workspaces: Path | None) -> str:
    """Returns PATH without folders inside the workspaces, because a project must not bring its own `bwrap`."""
    folders = (folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/"))
    return _folders_outside(
        tuple(map(_folder_identity, folders)), tuple(_folder_identity(str(each)) for each in workspaces if each)
    )


def _folder_identity(folder: str) -> tuple[str, int, int]:
    """Returns the folder's name, device and inode, so that the cache notices when a link leads elsewhere than before;
    zeros if the folder cannot be looked at."""
    with contextlib.suppress(OSError):
        status = os.stat(folder)  # noqa: PTH116  a name, for each folder before each command
        return folder, status.st_dev, status.st_ino
    return folder, 0, 0


@functools.lru_cache(maxsize=16)
def _folders_outside(folders: tuple[tuple[str, int, int], ...], workspaces: tuple[tuple[str, int, int], ...]) -> str:
    theirs = tuple(os.path.realpath(workspace).rstrip("/") + "/" for workspace, *_ in workspaces)
    return os.pathsep.join(folder for folder, *_ in folders if not f"{os.path.realpath(folder)}/".startswith(theirs))


def last_line(said: bytes) -> str:
    """Returns the last line that a program printed, or an empty text."""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
