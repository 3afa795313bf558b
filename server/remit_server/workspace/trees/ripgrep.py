"""ripgrep as a list of names: the files of a large tree, or those of them that an expression may match (FILE-05).

It is the one program that reading tools start outside the sandbox, whose start would cost more than it saves. That is
safe: its arguments are written here, but for an expression and a folder that stand where no option can; it reads no
configuration and starts nothing (`--pre`, `--search-zip` and `--hostname-bin` do, and are never given); it follows no
links, opens no network, writes to a pipe only, and gets an empty environment. It is killed when its time is over or the
call is cancelled. What it prints are names, which are no more believed than a file's: whoever gets them opens each anew
below the workspace and judges it.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_server.workspace.content.files import TEMPORARY_PREFIX
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.walk import Limits, asks_root

_FLAGS = (
    # What is too large it passes over in silence, but for its debug messages.
    *("--no-config", "--no-ignore-messages", "--debug", "--color=never", "--null", "--hidden", "--no-follow"),
    # Only the project's own `.gitignore` files count, with or without a repository around them; but ripgrep 13, which
    # has a defect there, goes on to obey `.rgignore` files.
    *("--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--no-ignore-parent"),
    *("--glob=!.git", f"--glob=!{TEMPORARY_PREFIX}*"),
)
# Bytes as they are: whoever wrote the expression knows of encodings. Maps of files that shrink would kill it.
_MATCHING = ("--files-with-matches", "--no-unicode", "--text", "--encoding=none", "--no-mmap", "--no-crlf")
_MAX_OUTPUT = 64 * 1024 * 1024
_MAX_REMARKS = 1024 * 1024
_TOO_LARGE = re.compile(rb"(?:rg: )?DEBUG\|.*: ignoring (.+): \d+ bytes")
_CLOSED = re.compile(rb"(?:rg: )?(\.\.?/.*): .* \(os error \d+\)")
_TICK_S = 0.05
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Listing:
    """Relative paths in no order: the files, also those that are too large to be looked into, and files and folders
    that could not be read. `complete` is False where it was stopped."""

    paths: tuple[str, ...]
    closed: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Matching:
    """Which files: those with a line of bytes that `expression` matches, up to `max_bytes` long."""

    expression: str
    max_bytes: int


def find_ripgrep(workspace: Workspace) -> str | None:
    """Where ripgrep is: installed beside this Python, or on PATH; never in the workspace, which is not trusted."""
    folders = [Path(sys.executable).parent, *map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep))]
    for folder in folders:
        program = folder / "rg"
        with contextlib.suppress(OSError):
            if (
                folder.is_absolute()
                and os.access(program, os.X_OK)
                and not program.resolve().is_relative_to(workspace.root)
                and not folder.resolve().is_relative_to(workspace.root)
            ):
                return str(program)
    return None


def list_with_ripgrep(
    workspace: Workspace, base: WorkspacePath, limits: Limits, matching: Matching | None = None
) -> Listing | None:
    """The files below `base` that the project does not ignore; None where ripgrep is missing or cannot say.

    Names that `walk` leaves out for other reasons than an ignore file are in it, and so may be files that one in a
    folder between the workspace's and `base` excludes: see `listed`.
    """
    program = find_ripgrep(workspace)
    if program is None:
        return None
    about = [] if matching is None else [*_MATCHING, f"--max-filesize={matching.max_bytes}"]
    what = ["--files"] if matching is None else [f"--regexp={matching.expression}"]
    above = ["--ignore-file=.gitignore"] if base.names and asks_root(workspace, base) else []
    where = "/".join((".", *base.names))
    return _run([program, *_FLAGS, *above, *about, *what, "--", where], workspace.root, limits)


def _run(argv: Sequence[str], folder: Path, limits: Limits) -> Listing | None:
    try:
        process = subprocess.Popen(
            argv, cwd=folder, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError:
        return None
    with process:
        try:
            output, remarks, ended = _drain(process, limits)
        finally:
            process.kill()
    closed = _names_in(_CLOSED, remarks)
    # 1: nothing found. 2: some files could not be read, which the walk passes over as well, or it did not even begin.
    if ended and process.returncode not in {0, 1} and not (process.returncode == 2 and closed):
        return None
    names = output[: output.rfind(b"\0") + 1].split(b"\0")[:-1]
    return Listing((*map(_relative, names), *_names_in(_TOO_LARGE, remarks)), closed, ended)


def _names_in(remark: re.Pattern[bytes], remarks: bytes) -> tuple[str, ...]:
    found = map(remark.fullmatch, remarks.split(b"\n"))
    return tuple(_relative(each[1]) for each in found if each)


def _relative(name: bytes) -> str:
    return os.fsdecode(name).removeprefix("./")


def _drain(process: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, bytes, bool]:
    """Its output, what it remarked, and whether it ended by itself."""
    output, remarks = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout or 0, selectors.EVENT_READ, output)
        selector.register(process.stderr or 0, selectors.EVENT_READ, remarks)
        while selector.get_map():
            if len(remarks) > _MAX_REMARKS:
                _keep_telling(remarks)
            if limits.spent() or len(output) > _MAX_OUTPUT or len(remarks) > _MAX_REMARKS:
                return bytes(output), bytes(remarks), False
            for key, _ in selector.select(_TICK_S):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
    process.wait()
    return bytes(output), bytes(remarks), True


def _keep_telling(remarks: bytearray) -> None:
    """Drop those that say nothing here, as there is one for each file that the project ignores."""
    whole, _, begun = remarks.rpartition(b"\n")
    kept = [line for line in whole.split(b"\n") if _TOO_LARGE.fullmatch(line) or _CLOSED.fullmatch(line)]
    remarks[:] = b"\n".join([*kept, begun])
