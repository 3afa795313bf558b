"""Prompt caches, one a session, as append-only token lists (agent.md §Model engine; 000 §Session Management)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

MOST_SESSIONS = 8
MOST_BYTES = 1 << 30


class PromptCache(Protocol):
    """What a model remembers of the tokens it has read."""

    def trim(self, tokens: int) -> bool:
        """Forget the last `tokens`; False, and nothing forgotten, where this model's cache cannot."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        ...


C = TypeVar("C", bound=PromptCache)


@dataclass(frozen=True, slots=True)
class Session(Generic[C]):
    """Exactly what a cache has seen, as tokens; and as text, where the tokens are that text's."""

    tokens: tuple[int, ...]
    text: str | None
    cache: C


@dataclass(frozen=True, slots=True)
class Prompt(Generic[C]):
    """A prompt to read: all its tokens, how many of them the cache already holds, and the cache."""

    tokens: tuple[int, ...]
    cached: int
    cache: C


def resume(
    session: Session[C] | None, text: str, encode: Callable[[str], list[int]], new_cache: Callable[[], C]
) -> Prompt[C]:
    """Read as little of `text` again as the session's cache allows; at least one token is always left to read.

    A prompt that continues the session's text is continued in tokens, so that what the model generated stays as it was
    tokenised then. Otherwise the cache is cut back to the tokens in common, or started anew where it cannot be cut.
    """
    if session is not None and session.text is not None and text.startswith(session.text):
        rest = encode(text[len(session.text) :])
        if rest:
            return Prompt((*session.tokens, *rest), len(session.tokens), session.cache)
    tokens = tuple(encode(text))
    if session is None:
        return Prompt(tokens, 0, new_cache())
    keep = min(_common(tokens, session.tokens), len(tokens) - 1)
    surplus = len(session.tokens) - keep
    if keep > 0 and (surplus == 0 or session.cache.trim(surplus)):
        return Prompt(tokens, keep, session.cache)
    return Prompt(tokens, 0, new_cache())


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    shorter = min(len(left), len(right))
    return next((i for i in range(shorter) if left[i] != right[i]), shorter)


class Sessions(Generic[C]):
    """The sessions whose caches are kept: the most recently used, within a number and a size in bytes."""

    def __init__(self, most: int = MOST_SESSIONS, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Session[C]] = OrderedDict()

    def take(self, session_id: str) -> Session[C] | None:
        """Take a session out: its cache is about to change."""
        return self._kept.pop(session_id, None)

    def keep(self, session_id: str, session: Session[C]) -> None:
        """Keep a session, and drop those unused for longest where that is too much."""
        self._kept[session_id] = session
        total = sum(kept.cache.nbytes for kept in self._kept.values())
        while self._kept and (len(self._kept) > self._most or total > self._most_bytes):
            _, dropped = self._kept.popitem(last=False)
            total -= dropped.cache.nbytes
