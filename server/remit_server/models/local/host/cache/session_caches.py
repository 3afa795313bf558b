"""Prompt caches, one per session, as append-only token lists (MOD-05)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

MOST_SESSIONS = 64
CHUNK = 256
"""Prompt tokens per step, from multiples of it on: at most 0.3 s on a slow CPU between two checks of the queue."""


class PromptCache(Protocol):
    """A model's state for the tokens it has read."""

    def trim(self, tokens: int) -> bool:
        """Drops the last `tokens`. Returns False, and drops none, where this model's cache cannot."""
        ...

    def copy(self, tokens: int) -> Self | None:
        """Returns a copy without the last `tokens`; None where this model's cache cannot be trimmed."""
        ...

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        ...


C = TypeVar("C", bound=PromptCache)


@dataclass(frozen=True, slots=True)
class Session(Generic[C]):
    """A conversation as tokens, and as text where the tokens are exactly that text's.

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
    own = min(_common(tokens, session.tokens), session.held, len(tokens) - 1) if session is not None else 0
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
        lent = min(_common(tokens, other.tokens), other.whole, len(tokens) - 1) // CHUNK * CHUNK
        if lent > most:
            best, most = other, lent
    return best, most


def _common(left: Sequence[int], right: Sequence[int]) -> int:
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
        """Removes and returns a session: its cache is about to change."""
        return self._kept.pop(session_id, None)

    def keep(self, session_id: str, session: Session[C]) -> None:
        """Adds a session, and evicts the least recently used ones beyond the limits."""
        self._kept[session_id] = session
        self._kept.move_to_end(session_id)
        total = self.nbytes
        while self._kept and (len(self._kept) > MOST_SESSIONS or total > self._most_bytes):
            _, dropped = self._kept.popitem(last=False)
            total -= dropped.cache.nbytes
