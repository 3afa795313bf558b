"""Stores prompt caches in files, so that a conversation is not read again after a restart; off by default.

The files hold the text of conversations. Only the person can read them, and each is loaded only by the model that wrote
it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from remit_server.models.local.host.cache.session_caches import Session
from remit_server.models.local.host.cache.token_caches import Cache

log = logging.getLogger("remit.model")

_SUFFIX = ".safetensors"
_LEFT_S = 3_600.0


class _Known(BaseModel):
    """A cache file's metadata."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    tokens: tuple[int, ...]
    text: str | None
    held: int
    whole: int


class CacheStore:
    """A folder with a file per session, of `most_bytes` in all; the oldest files are removed first."""

    def __init__(self, folder: Path, model: str, most_bytes: int) -> None:
        """`model` identifies the model's weights."""
        self._folder = folder
        self._model = model
        self._most_bytes = most_bytes

    def save(self, name: str, session: Session[Cache]) -> None:
        """Writes a session's cache. Errors are only logged: the conversation is then read again."""
        known = _Known(
            model=self._model, tokens=session.tokens, text=session.text, held=session.held, whole=session.whole
        )
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _must_be_ours(self._folder)
            with _partial(self._folder) as partial:
                session.cache.save(partial, {"session": known.model_dump_json()})
                partial.replace(self._path(name))
            self._prune()
        except Exception as error:
            log.warning("a prompt cache cannot be written to `%s`: %s", self._folder, error)

    def load(self, name: str) -> Session[Cache] | None:
        """Reads a session's cache. Returns None where there is none, or it is another model's, which is logged."""
        path = self._path(name)
        if not path.is_file():
            return None
        try:
            _must_be_ours(self._folder)
            cache, metadata = Cache.load(path)
            known = _Known.model_validate_json(metadata["session"])
            if known.model != self._model:
                raise ValueError("it was written by another model")
        except Exception as error:
            log.warning("the prompt cache `%s` is ignored: %s", path, error)
            return None
        return Session(known.tokens, known.text, cache, known.held, known.whole)

    def _path(self, name: str) -> Path:
        """A file of this model's: a session may go on with another model, and come back."""
        named = f"{self._model}\n{name}".encode("utf-8", "surrogatepass")
        return self._folder / (hashlib.sha256(named).hexdigest() + _SUFFIX)

    def _prune(self) -> None:
        """Removes the oldest files; of those that a process is still writing, what a kill left an hour ago."""
        found = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.glob(f"*{_SUFFIX}"))
        whole = [each for each in found if not each[2].name.startswith(".")]
        left = [path for written, _, path in found if path.name.startswith(".") and written < time.time() - _LEFT_S]
        total = sum(size for _, size, _ in whole)
        for _, size, path in whole:
            if total <= self._most_bytes:
                break
            total -= size
            left.append(path)
        for path in left:
            path.unlink(missing_ok=True)


@contextmanager
def _partial(folder: Path) -> Generator[Path]:
    """Yields a new file with an unguessable name, and removes it unless it was renamed."""
    descriptor, name = tempfile.mkstemp(_SUFFIX, ".", folder)  # O_EXCL, O_NOFOLLOW, 0600
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        with suppress(OSError):
            Path(name).unlink()


def _must_be_ours(folder: Path) -> None:
    """Raises PermissionError where another user could place a file in the cache folder."""
    found = folder.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise PermissionError("the folder is not yours, or others may write to it; use one of your own with mode 0700")


def fingerprint(folder: Path) -> str:
    """Returns a string that identifies a model folder and the state of its files."""
    known = [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.glob("*")) if path.is_file()
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()
