"""Links each changed range of a file to the intent, the work item and the run that changed it: one line for each range
in the workspace's `.orchestration/agent_trace.jsonl` (INT-11, INT-12).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Literal

from pydantic import Field

from remit_governance.values import Action, Intent
from remit_governance.work_items import WORK_ITEMS_FILE
from remit_server.contract import Wire
from remit_server.harness.turn import Turn
from remit_server.machine.descriptors import closing_fd
from remit_server.machine.wall_clock import timestamp
from remit_server.tools.spec import FileChange
from remit_server.workspace.line_diff import Edit, line_edits

log = logging.getLogger(__name__)

FOLDER, NAME = WORK_ITEMS_FILE.partition("/")[0], "agent_trace.jsonl"
MOST_BYTES = 8 << 20
"""The size of the file from which a new one is begun."""
OLDER = ("agent_trace.1.jsonl", "agent_trace.2.jsonl", "agent_trace.3.jsonl", "agent_trace.4.jsonl")
"""The names of full files that are kept, the newest first."""


class AgentTraceLine(Wire):
    """One changed range of a file.

    `start_line` and `end_line` count from 1, both in it, in the file as it is afterwards; an end before the start is a
    place where lines were removed. Both are null where the file is no text, or was moved whole. `content_hash` is the
    SHA-256 of the range's bytes afterwards, `file_hash` of the whole file, null where it was removed. `follows` is that
    of the full trace file before this one, in the first line of a file that was begun because of it.
    """

    version: Literal[1] = 1
    time: str
    session_id: str
    run_id: str
    step: int = Field(ge=0)
    call_id: str
    tool: str
    caller: str
    intent: Intent | None
    work_item: str | None
    path: str
    moved_from: str | None = None
    start_line: int | None = Field(ge=1)
    end_line: int | None = Field(ge=0)
    content_hash: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    file_hash: str | None
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """The trace of one call, which links its changes to its turn and to the actions that were judged. `folder` is the
    workspace's, or None if the workspace has no work items, and then nothing is traced."""

    folder: Path | None
    turn: Turn
    call_id: str
    tool: str
    actions: tuple[Action, ...]

    def append(self, changes: Sequence[FileChange], changed: Sequence[str]) -> str | None:
        """Appends the ranges of the changes that were made; returns in words why that failed, or None."""
        if self.folder is None:
            return None
        done = (each for each in changes if each.path.relative in changed)
        lines = [line for each in done for line in self.lines(each)]
        try:
            if lines:
                _append(self.folder, lines)
        except OSError as error:
            return f"{FOLDER}/{NAME} cannot be written: {(error.strerror or str(error)).lower()}"
        return None

    def lines(self, change: FileChange) -> Iterator[AgentTraceLine]:
        """Yields a line for each range of the file that a change alters."""
        by = next((each for each in self.actions if each.path == change.path.relative), None)
        after = change.after
        for start, end, data in _ranges(change):
            yield AgentTraceLine(
                time=timestamp(self.turn.now()),
                session_id=self.turn.session_id,
                run_id=self.turn.turn_id,
                step=self.turn.step,
                call_id=self.call_id,
                tool=self.tool,
                caller=self.turn.caller,
                intent=by.intent if by else None,
                work_item=by.work_item if by else None,
                path=change.path.relative,
                moved_from=change.moved_from.relative if change.moved_from else None,
                start_line=start,
                end_line=end,
                content_hash=_hash(data),
                file_hash=change.digest if change.moved_from else None if after is None else _hash(after),
            )


def _ranges(change: FileChange) -> Iterator[tuple[int | None, int | None, bytes]]:
    before, after = change.before.data if change.before else b"", change.after or b""
    if change.moved_from is not None or b"\0" in after or (change.before is not None and change.before.left_out):
        yield None, None, after
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    edits = line_edits([each.decode("latin-1") for each in old], [each.decode("latin-1") for each in new])
    if not edits and change.before is None:  # a new file that holds nothing
        edits = [Edit(0, 0, 0, 0)]
    for edit in edits:
        yield edit.new + 1, edit.new_end, b"".join(new[edit.new : edit.new_end])


def _hash(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _append(root: Path, lines: Sequence[AgentTraceLine]) -> None:
    """Appends the lines to the trace file, and begins a new file first if it is full. Follows no links.

    Raises OSError.
    """
    with closing_fd(os.open(root / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)) as folder:
        with suppress(OSError):  # the file system may have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)  # another server may append, or begin a new file
        follows = _make_room(folder)
        first = lines[0].model_copy(update={"follows": follows})
        data = "".join(f"{line.model_dump_json()}\n" for line in (first, *lines[1:]))
        with _opened(folder, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab") as file:
            file.write(data.encode())


def _make_room(folder: int) -> str | None:
    """Renames a full file and drops the oldest one; returns the hash of the full file, or None if it is not full.
    Raises OSError."""
    try:
        with _opened(folder, os.O_RDONLY, "rb") as file:
            if os.fstat(file.fileno()).st_size < MOST_BYTES:
                return None
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    names = (NAME, *OLDER)
    for older, newer in reversed([*zip(names[1:], names, strict=False)]):
        with suppress(FileNotFoundError):
            os.replace(newer, older, src_dir_fd=folder, dst_dir_fd=folder)
    return f"sha256:{digest}"


def _opened(folder: int, flags: int, mode: str) -> FileIO:
    """Opens the trace file if it is a regular file without another name (hard link). Raises OSError if not."""
    fd = os.open(NAME, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=folder)
    file = FileIO(fd, mode)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file with one name")
    return file
