"""A write-ahead log of merges: after a crash an approved merge is finished, or reported (FILE-04).

Each merge has a folder with `plan.json`, the new contents (`0`, `1`, …) and `done`, which has a line for each finished
step. The folder gets its final name once all of it is on disk, is locked while its writer lives, and is removed when
the merge has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from remit_server.machine.descriptors import closing_fd

_BEGUN, _OVER, _LEFT = ".new", ".old", ".left"


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a merge, by digests: from `before` (None: it is created) to `after` (None: it is removed).

    `moved_from`: the path from which the file is moved. `in_editor`: the editor makes this change, in its buffer.
    `executable`: whether the file becomes executable or stops being so; None if that does not change.
    """

    path: str
    before: str | None
    after: str | None
    moved_from: str | None = None
    in_editor: bool = False
    executable: bool | None = None


@dataclass(slots=True)
class LoggedMerge:
    """A merge in the log, locked by the process that holds this."""

    folder: Path
    policy_version: str
    steps: tuple[Step, ...]
    done: set[int] = field(default_factory=set[int])
    _lock: int = -1

    def finished(self, number: int) -> None:
        """Records durably that a step is done: it is never done again. Raises OSError."""
        os.write(self._lock, f"{number}\n".encode())
        os.fsync(self._lock)
        self.done.add(number)

    def content(self, number: int) -> bytes:
        """Returns the bytes that a step writes. Raises OSError."""
        return (self.folder / str(number)).read_bytes()

    def end(self) -> None:
        """Removes the merge from the log, after every step is done or the person has been told."""
        gone = self.folder.with_suffix(_OVER)
        with contextlib.suppress(OSError):
            self.folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        self.release()

    def keep(self) -> Path:
        """Abandons the merge and keeps the contents it would have written. Returns their folder."""
        kept = self.folder.with_suffix(_LEFT)
        with contextlib.suppress(OSError):
            self.folder.rename(kept)
        self.release()
        return kept

    def release(self) -> None:
        """Releases the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class MergeLog:
    """The unfinished merges of one workspace, in a folder outside of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, steps: Sequence[tuple[Step, bytes | None]], policy_version: str) -> LoggedMerge:
        """Writes a merge to the log, durably, before any of its steps is done. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._folder / secrets.token_hex(8)
        drafted = folder.with_suffix(_BEGUN)
        drafted.mkdir(mode=0o700)
        try:
            for number, (_, content) in enumerate(steps):
                if content is not None:
                    _write(drafted / str(number), content)
            plan = {"policy_version": policy_version, "steps": [asdict(step) for step, _ in steps]}
            _write(drafted / "plan.json", json.dumps(plan).encode())
            lock = _lock(drafted / "done")
            _sync(drafted)
            drafted.rename(folder)
            _sync(self._folder)
        except BaseException:
            shutil.rmtree(drafted, ignore_errors=True)
            raise
        return LoggedMerge(folder, policy_version, tuple(step for step, _ in steps), _lock=lock)

    def unfinished(self) -> Iterator[LoggedMerge]:
        """Yields the merges whose writers died, each locked. Merges that never began, or had ended, are removed."""
        if not self._folder.is_dir():
            return
        for folder in sorted(self._folder.iterdir()):
            if folder.suffix == _OVER or (folder.suffix == _BEGUN and not _is_locked(folder / "done")):
                shutil.rmtree(folder, ignore_errors=True)
            elif not folder.suffix and (merge := _reopen(folder)) is not None:
                yield merge


def _reopen(folder: Path) -> LoggedMerge | None:
    """Locks an unfinished merge and reads it. Returns None if its writer lives, or another server recovers it."""
    try:
        lock = _lock(folder / "done")
    except OSError:
        return None
    try:
        plan: dict[str, Any] = json.loads((folder / "plan.json").read_bytes())
        steps = tuple(Step(**step) for step in plan["steps"])
        # A line that the crash cut short was not synced: that step's state is found by looking at the file.
        done = {int(line) for line in (folder / "done").read_text().splitlines(keepends=True) if line.endswith("\n")}
        return LoggedMerge(folder, str(plan["policy_version"]), steps, done, _lock=lock)
    except (OSError, ValueError, KeyError, TypeError):
        os.close(lock)
        return None


def _lock(path: Path) -> int:
    """Returns a descriptor for appending, locked by one process at a time. Raises BlockingIOError if it is locked."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _is_locked(path: Path) -> bool:
    try:
        os.close(_lock(path))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        os.fsync(fd)
