"""Downloads a model into the Hugging Face cache: verified, resumable, and never incomplete (MOD-07).

Each file goes to `blobs/HASH.incomplete`, which a later pull resumes, and becomes a blob once its hash is verified.
Only when all files are complete does the commit get its links, `config.json` last.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from remit_server.errors import ModelUnavailable
from remit_server.machine.free_space import free_disk
from remit_server.models.local.hub.cache import CachedRepo, HubName, cached_repo
from remit_server.models.local.hub.model_files import SPARE, ModelFolder, PullPlan, RemoteFile, describe, needed_files
from remit_server.models.local.hub.remote import fetch, list_files

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A pull's progress, in bytes of the whole model; `file` is the current one."""

    file: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class FileReporter:
    """Reports one file's progress as progress of the whole."""

    tell: Callable[[PullProgress], None]
    before: PullProgress

    def __call__(self, here: int) -> None:
        """Reports that `here` bytes of the file have arrived."""
        self.tell(replace(self.before, done=self.before.done + here))


def plan_pull(name: HubName, cache: Path) -> PullPlan:
    """Asks the hub for the files of `name` and checks which are here. Raises ModelUnavailable."""
    commit, files = list_files(name)
    wanted = needed_files(str(name), files)
    repo = cached_repo(cache, name.repo)
    return PullPlan(commit, wanted, {file.name: _here(repo, file) for file in wanted})


def pull(name: HubName, plan: PullPlan, cache: Path, tell: Callable[[PullProgress], None]) -> ModelFolder:
    """Downloads the missing files, verifies them, and links them as a model. Raises ModelUnavailable; downloaded bytes
    stay.
    """
    if (free := free_disk(cache)) < plan.to_load + SPARE:
        why = f"{plan.to_load + SPARE:,} bytes of disk are needed in {cache}, and {free:,} are free"
        raise ModelUnavailable(_what(name), why, "make room, or set HF_HOME to a folder on a larger disk")
    repo = cached_repo(cache, name.repo)
    try:
        with _alone(name, cache):
            done = 0
            for file in plan.files:
                _obtain(name, plan, file, repo, FileReporter(tell, PullProgress(file.name, done, plan.size)))
                done += file.size
            for file in plan.files:
                repo.link(plan.commit, file.name, file.blob)
            repo.remember(name.revision, plan.commit)
    except OSError as error:
        why = f"{cache} cannot be written: {(error.strerror or str(error)).lower()}"
        fix = f"fix that, then run `remit model pull {name}` again: it resumes where it stopped"
        raise ModelUnavailable(_what(name), why, fix) from error
    found = describe(repo.snapshot(plan.commit))
    if found.problem is not None:
        fix = "choose another model: this one is published that way"
        raise ModelUnavailable(f"`{name}` was pulled, but cannot be used", found.problem, fix)
    return found


def _obtain(name: HubName, plan: PullPlan, file: RemoteFile, repo: CachedRepo, report: FileReporter) -> None:
    """Downloads the file's blob unless it is here."""
    blob, unfinished = repo.blob(file.blob), repo.unfinished(file.blob)
    if _size(blob) == file.size:
        report(file.size)
        return
    blob.parent.mkdir(parents=True, exist_ok=True)
    with BufferedWriter(_Watched(unfinished, report, name, file)) as stream:
        if stream.tell() > file.size:
            stream.truncate(0)
            stream.seek(0)
        fetch(name, plan.commit, file, stream)
        stream.flush()
        os.fsync(stream.fileno())
    if _hash(unfinished, file) != file.blob:
        # Resuming with damaged bytes would fail every time.
        unfinished.unlink()
        why = f"{file.name} arrived damaged: its hash is not the one that the hub lists"
        raise ModelUnavailable(
            _what(name), why, f"run `remit model pull {name}` again; if it fails again, check the network"
        )
    unfinished.replace(blob)


class _Watched(FileIO):
    """A file that is appended to, reports its length, and accepts no more than the size that the hub stated."""

    def __init__(self, path: Path, report: FileReporter, name: HubName, file: RemoteFile) -> None:
        super().__init__(path, "ab")
        self._report, self._name, self._file = report, name, file

    def write(self, data: Buffer, /) -> int:
        """Writes some of `data`; returns how many bytes. Raises ModelUnavailable: endless data would fill the disk."""
        if self.tell() + memoryview(data).nbytes > self._file.size:
            why = f"{self._file.name} is longer than the {self._file.size:,} bytes that the hub lists"
            raise ModelUnavailable(_what(self._name), why, "check HF_ENDPOINT and the network, and pull again")
        written = super().write(data)
        self._report(self.tell())
        return written


def _here(repo: CachedRepo, file: RemoteFile) -> int:
    if _size(repo.blob(file.blob)) == file.size:
        return file.size
    partly = _size(repo.unfinished(file.blob))
    return partly if 0 < partly <= file.size else 0


def _size(path: Path) -> int:
    """Returns the bytes of a file, or -1 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _hash(path: Path, file: RemoteFile) -> str:
    with path.open("rb") as stream:
        if file.large:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        # Git's blob format: the hub states the SHA-1 of small files in it.
        return hashlib.sha1(b"blob %d\0" % file.size + stream.read(), usedforsecurity=False).hexdigest()


@contextmanager
def _alone(name: HubName, cache: Path) -> Generator[None]:
    """Holds the lock of a repository. Raises ModelUnavailable if another pull holds it."""
    folder = cache / ".locks" / cached_repo(cache, name.repo).folder.name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "remit-pull.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelUnavailable(_what(name), "another pull of it is running", "wait for that one") from error
        yield


def _what(name: HubName) -> str:
    return f"`{name}` cannot be pulled"
