"""What the adapters share at their edges: how an end is told, how a refusal reads, where their programs come from."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.sandbox.bubblewrap.run_contained import ProcessResult
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation


def command_output(
    ended: ProcessResult, left: tuple[LayerChange, ...] = (), written: tuple[str, ...] = ()
) -> CommandOutput:
    """Returns how a command ended, as the tools are told."""
    return CommandOutput(
        left=left,
        written=written,
        exit_code=ended.exit_code,
        stdout=ended.stdout.value(),
        stderr=ended.stderr.value(),
        timed_out=ended.timed_out,
        stopped=ended.stopped,
        truncated=ended.stdout.truncated or ended.stderr.truncated,
    )


def has_never_begun(ended: ProcessResult) -> bool:
    """Returns whether the command did not run at all, for reasons of the sandbox's own."""
    return ended.exit_code is None and not ended.timed_out and ended.stopped is None


def refuse_ways_out(spec: CommandSpec, runtime: str, isolation: Isolation | None = None) -> None:
    """Raises ToolError where a command wants hosts, or somebody to speak with, and this adapter has neither for it
    (PLG-08). `isolation` is what it found, where it may have them."""
    if spec.channel is not None and not (isolation and isolation.channel):
        because = f" here: {isolation.offline}" if isolation and isolation.offline else ""
        raise ToolError(
            "cannot run the plugin",
            f"`{runtime}` gives a command nobody to speak with{because}",
            "install bubblewrap, whose commands have a socket of their own",
            code=ErrorCode.SANDBOX_UNAVAILABLE,
        )
    if spec.reached and not (isolation and isolation.hosts):
        because = f" here: {isolation.offline}" if isolation and isolation.offline else ""
        raise ToolError(
            "cannot run the command",
            f"it lists hosts to connect to, and `{runtime}` gives a command no network{because}",
            "run it without hosts (`network` of a command, the person's `workflow.test_hosts` of tests), "
            "or install bubblewrap, whose commands have a proxy",
            code=ErrorCode.SANDBOX_UNAVAILABLE,
        )


def trusted_path(*workspaces: Path | None) -> str:
    """PATH for the programs that build the sandbox: a project must not bring its own `bwrap`."""
    folders = (folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/"))
    return _folders_outside(
        tuple(map(_folder_identity, folders)), tuple(_folder_identity(str(each)) for each in workspaces if each)
    )


def _folder_identity(folder: str) -> tuple[str, int, int]:
    """Returns the name, and what it is at the moment: another folder than before where a link has come to lead
    elsewhere."""
    with contextlib.suppress(OSError):
        status = os.stat(folder)  # noqa: PTH116  a name, for each folder before each command
        return folder, status.st_dev, status.st_ino
    return folder, 0, 0


@functools.lru_cache(maxsize=16)
def _folders_outside(folders: tuple[tuple[str, int, int], ...], workspaces: tuple[tuple[str, int, int], ...]) -> str:
    theirs = tuple(os.path.realpath(workspace).rstrip("/") + "/" for workspace, *_ in workspaces)
    return os.pathsep.join(folder for folder, *_ in folders if not f"{os.path.realpath(folder)}/".startswith(theirs))


def last_line(said: bytes) -> str:
    """Returns the last thing that a program said, or nothing."""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
