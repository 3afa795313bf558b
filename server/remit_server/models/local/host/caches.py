"""Prompt caches, one per session, as append-only token lists (MOD-05). They can be stored in files, so that a
conversation is not read again after a restart; that is off by default.

The files hold the text of conversations. Only the person can read them, and each is loaded only by the model that
wrote it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from remit_server.contract import Wire
from remit_server.models.local.host.token_caches import Cache

MOST_SESSIONS = 64
CHUNK = 256
"""Prompt tokens per step; a step ends at a multiple of it. It takes at most 0.3 s on a slow CPU, and the queue is
checked after it."""


class PromptCache(Protocol):
    """A model's state for the tokens it has read."""

    def trim(self, tokens: int) -> bool:
        """Drops the last `tokens`. Returns False, and drops none, if this model's cache cannot."""
        ...

    def copy(self, tokens: int) -> Self | None:
        """Returns a copy without the last `tokens`, or None if this model's cache cannot be trimmed."""
        ...

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        ...


C = TypeVar("C", bound=PromptCache)


@dataclass(frozen=True, slots=True)
class Session(Generic[C]):
    """A conversation as tokens, and as text if the tokens are exactly those of the text.

    The cache holds the first `held` tokens, of which the first `whole` were read in whole chunks.
    """

    tokens: tuple[int, ...]
    text: str | None
    cache: C
    held: int
    whole: int


@dataclass(frozen=True, slots=True)
class Prompt(Generic[C]):
    """A prompt to read: all its tokens, the cache, and how many of them it holds; `whole` as in `Session`.

    `shared` says that another session's cache was copied.
    """

    tokens: tuple[int, ...]
    cached: int
    whole: int
    cache: C
    shared: bool = False


def resume(
    session: Session[C] | None,
    others: Iterable[Session[C]],
    text: str,
    encode: Callable[[str], list[int]],
    new_cache: Callable[[], C],
) -> Prompt[C]:
    """Returns a prompt that reuses as much of the caches as possible; at least one token is left to read.

    A prompt that continues the session's text continues its tokens, so that generated text keeps its tokens. Otherwise
    the session's cache is trimmed to the common tokens, or another session's is copied up to them.
    """
    if session is not None and session.text is not None and text.startswith(session.text):
        rest = encode(text[len(session.text) :])
        if rest:
            return Prompt((*session.tokens, *rest), session.held, session.whole, session.cache)
    tokens = tuple(encode(text))
    own = min(shared_prefix(tokens, session.tokens), session.held, len(tokens) - 1) if session is not None else 0
    lender, lent = _best_lender(others, tokens)
    if session is not None and own > 0 and own >= lent and session.cache.trim(session.held - own):
        return Prompt(tokens, own, min(session.whole, own // CHUNK * CHUNK), session.cache)
    copied = lender.cache.copy(lender.held - lent) if lender is not None else None
    if copied is not None:
        return Prompt(tokens, lent, lent, copied, shared=True)
    return Prompt(tokens, 0, 0, new_cache())


def _best_lender(others: Iterable[Session[C]], tokens: Sequence[int]) -> tuple[Session[C] | None, int]:
    """Returns the session that shares most tokens, in whole chunks.

    Tokens read in whole chunks from the beginning give bit for bit the same cache when read again, so a session's
    answers do not depend on other sessions' caches.
    """
    best, most = None, 0
    for other in others:
        if other.whole <= most:
            continue
        lent = min(shared_prefix(tokens, other.tokens), other.whole, len(tokens) - 1) // CHUNK * CHUNK
        if lent > most:
            best, most = other, lent
    return best, most


def shared_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Returns how many leading tokens two lists share."""
    shorter = min(len(left), len(right))
    return next((i for i in range(shorter) if left[i] != right[i]), shorter)


class Sessions(Generic[C]):
    """The cached sessions: the most recently used, within a number and a size in bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Session[C]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """The size of all caches in bytes."""
        return sum(kept.cache.nbytes for kept in self._kept.values())

    def kept(self) -> dict[str, Session[C]]:
        """Returns all sessions by id, the least recently used first."""
        return dict(self._kept)

    def take(self, session_id: str) -> Session[C] | None:
        """Removes and returns a session, because its cache is about to change."""
        return self._kept.pop(session_id, None)

    def keep(self, session_id: str, session: Session[C]) -> None:
        """Adds a session, and evicts the least recently used ones beyond the limits."""
        self._kept[session_id] = session
        self._kept.move_to_end(session_id)
        total = self.nbytes
        while self._kept and (len(self._kept) > MOST_SESSIONS or total > self._most_bytes):
            _, dropped = self._kept.popitem(last=False)
            total -= dropped.cache.nbytes


log = logging.getLogger("remit.model")

_SUFFIX = ".safetensors"
_LEFT_S = 3_600.0


class _Known(Wire):
    """A cache file's metadata."""

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
        """Writes a session's cache. Errors are only logged, because the conversation can be read again."""
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
        """Reads a session's cache. Returns None if there is none, or, with a warning in the log, if it is unusable."""
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
        """Returns the session's file for this model, because a session may go on with another model and come back."""
        named = f"{self._model}\n{name}".encode("utf-8", "surrogatepass")
        return self._folder / (hashlib.sha256(named).hexdigest() + _SUFFIX)

    def _prune(self) -> None:
        """Removes the oldest files beyond the limit, and unfinished files that are more than an hour old."""
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
    """Raises PermissionError if another user could place a file in the cache folder."""
    found = folder.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise PermissionError("the folder is not yours, or others may write to it; use one of your own with mode 0700")


def fingerprint(folder: Path) -> str:
    """Returns a string that identifies a model folder and the state of its files."""
    known = [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.glob("*")) if path.is_file()
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()
