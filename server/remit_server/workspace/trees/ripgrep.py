"""Lists the files of a large tree with ripgrep, or those that an expression may match (FILE-05).

It is the one program that reading tools start outside the sandbox, because the sandbox's start would cost more than
ripgrep saves. That is safe: its arguments are fixed here, but for an expression, a folder and ignore files in places
where no option can stand; it reads no configuration and starts no program (`--pre`, `--search-zip` and `--hostname-bin`
would, and are never given); it follows no links, opens no network connection, writes to a pipe only, and gets an empty
environment. It is killed at its time limit or when the call is cancelled. Its output is untrusted: the caller opens
each name anew below the workspace and judges it.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_server.workspace.content.files import TEMPORARY_PREFIX
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.exclude import folds_case
from remit_server.workspace.trees.ignore_layers import find_cut, ignore_files_above, ripgrep_passes_over
from remit_server.workspace.trees.walk import Limits

_FLAGS = (
    *("--no-config", "--no-ignore-messages", "--color=never", "--null", "--hidden", "--no-follow"),
    # By itself ripgrep obeys `.gitignore` files only, with or without a repository around them; all other lists are
    # given to it. But ripgrep 13 has a defect and still obeys `.rgignore` files.
    *("--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--no-ignore-parent"),
    *("--glob=!.git", f"--glob=!{TEMPORARY_PREFIX}*"),
)
# Files are searched as bytes, because the expression covers encodings. Memory maps would crash ripgrep when files
# shrink. Only its debug messages tell which files it skips because they are over its size limit.
_MATCHING = ("--debug", "--files-with-matches", "--no-unicode", "--text", "--encoding=none", "--no-mmap", "--no-crlf")
_MAX_OUTPUT = 64 * 1024 * 1024
_MAX_REMARKS = 1024 * 1024
_TOO_LARGE = re.compile(rb"(?:rg: )?DEBUG\|.*: ignoring (.+): \d+ bytes")
_CLOSED = re.compile(rb"(?:rg: )?(\.\.?/.*): .* \(os error \d+\)")
_TICK_S = 0.05
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Listing:
    """Relative paths in no order: the files, also those too large to be searched, and the files and folders that could
    not be read. `complete` is False if it was stopped.
    """

    paths: tuple[str, ...]
    closed: tuple[str, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Matching:
    """Selects files with a line of bytes that `expression` matches, of up to `max_bytes`."""

    expression: str
    max_bytes: int


def find_ripgrep(workspace: Workspace) -> str | None:
    """Returns ripgrep's path: beside this Python, or on PATH; never in the workspace, which is not trusted."""
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
    """Returns the files below `base` that the project does not ignore; None if ripgrep is missing, fails, or may miss
    some.

    The listing also has names that `walk` leaves out for other reasons than an ignore file, and may have files that an
    ignore file in a folder between the workspace's and `base` excludes; `listing_filter` tells which.
    """
    program = find_ripgrep(workspace)
    if program is None:
        return None
    about = [] if matching is None else [*_MATCHING, f"--max-filesize={matching.max_bytes}"]
    what = ["--files"] if matching is None else [f"--regexp={matching.expression}"]
    above = [f"--ignore-file={path}" for path in ignore_files_above(workspace, base)]
    above += ["--ignore-file-case-insensitive"] if folds_case(workspace) else []
    where = "/".join((".", *base.names))
    found, lists = _run(
        [
            [program, *_FLAGS, *above, *about, *what, "--", where],
            # Ask for the ignore files by name, because one that ripgrep reads otherwise than git may hide itself.
            [program, *_FLAGS, *above, "--files", "--glob=.gitignore", "--", where],
        ],
        workspace.root,
        limits,
    )
    # The ignore files of the folders above `base` count too.
    names = [f"{'/'.join(base.names[:depth])}/.gitignore" for depth in range(len(base.names) + 1)]
    below = () if lists is None else lists.paths
    if ripgrep_passes_over(workspace, base, [*names, *below]):
        return None
    limits.cut.update(find_cut(workspace, below))
    return found


def _run(lines: Sequence[Sequence[str]], folder: Path, limits: Limits) -> list[Listing | None]:
    """Runs one ripgrep for each command line, all at once; returns what each has listed."""
    with contextlib.ExitStack() as running:
        try:
            begun = [running.enter_context(_begun(argv, folder)) for argv in lines]
        except OSError:
            return [None for _ in lines]
        return [_listed(process, limits) for process in begun]


@contextlib.contextmanager
def _begun(argv: Sequence[str], folder: Path) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        argv, cwd=folder, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _listed(process: subprocess.Popen[bytes], limits: Limits) -> Listing | None:
    output, remarks, ended = _drain(process, limits)
    closed = _names_in(_CLOSED, remarks)
    # 1: nothing found. 2: some files could not be read, which the walk skips as well, or it failed to start.
    if ended and process.returncode not in {0, 1} and not (process.returncode == 2 and closed):
        return None
    names = os.fsdecode(output[: output.rfind(b"\0") + 1]).split("\0")[:-1]
    found = tuple(name.removeprefix("./") for name in names)
    return Listing((*found, *_names_in(_TOO_LARGE, remarks)), closed, ended)


def _names_in(remark: re.Pattern[bytes], remarks: bytes) -> tuple[str, ...]:
    found = map(remark.fullmatch, remarks.split(b"\n"))
    return tuple(_relative(each[1]) for each in found if each)


def _relative(name: bytes) -> str:
    return os.fsdecode(name).removeprefix("./")


def _drain(process: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, bytes, bool]:
    """Returns the process's output, its error output, and whether the process ended by itself."""
    output, remarks = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout or 0, selectors.EVENT_READ, output)
        selector.register(process.stderr or 0, selectors.EVENT_READ, remarks)
        while selector.get_map():
            if len(remarks) > _MAX_REMARKS:
                _drop_noise(remarks)
            if limits.spent() or len(output) > _MAX_OUTPUT or len(remarks) > _MAX_REMARKS:
                return bytes(output), bytes(remarks), False
            for key, _ in selector.select(_TICK_S):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
    process.wait()
    return bytes(output), bytes(remarks), True


def _drop_noise(remarks: bytearray) -> None:
    """Drops messages without information: there is one for each ignored file."""
    whole, _, begun = remarks.rpartition(b"\n")
    kept = [line for line in whole.split(b"\n") if _TOO_LARGE.fullmatch(line) or _CLOSED.fullmatch(line)]
    remarks[:] = b"\n".join([*kept, begun])
