"""Limits how long to wait for an engine, and asks it again after some errors (MOD-13).

There are three limits: to connect, for the first token (a cold model takes minutes to load), and between tokens. The
engine is asked again only if nothing of the answer has come, because the person must not see text twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

from remit_governance.secrets.cutting import shorten
from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.ports import PromptRead
from remit_server.models.remote.ask import Busy, Piece

_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the libraries raise for an answer in another protocol, because they check little of it."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits, in seconds. `longest_wait_s` is the longest pause that an engine may ask for."""

    connect_s: float = 10.0
    first_token_s: float = 600.0
    between_tokens_s: float = 120.0
    retries: int = 3
    pause_s: float = 0.5
    longest_wait_s: float = 60.0

    def pause(self, attempt: int, busy: Busy) -> float | None:
        """Returns the seconds to wait before the next attempt, or None if there is no next attempt."""
        if attempt >= self.retries:
            return None
        if busy.wait_s is None:
            return self.pause_s * float(2**attempt)
        return busy.wait_s if busy.wait_s <= self.longest_wait_s else None


async def stream_patiently(
    begin: Callable[[], AsyncGenerator[Piece]], patience: Patience, name: str
) -> AsyncGenerator[Piece]:
    """Streams an answer within the limits. Raises ModelUnavailable, ModelFailed, and what the stream raises."""
    for attempt in range(patience.retries + 1):
        begun = False
        try:
            with read_as_foreign(name):
                async with aclosing(begin()) as pieces:
                    while True:
                        limit = patience.between_tokens_s if begun else patience.first_token_s
                        try:
                            piece = await asyncio.wait_for(anext(pieces), limit)
                        except StopAsyncIteration:
                            return
                        except TimeoutError as error:
                            raise _silent(name, limit, begun=begun) from error
                        begun = begun or not isinstance(piece, PromptRead)
                        yield piece
        except Busy as busy:
            pause = None if begun else patience.pause(attempt, busy)
            if pause is None:
                raise _refused(name, busy) from busy
        await asyncio.sleep(pause)


@contextmanager
def read_as_foreign(name: str) -> Generator[None]:
    """Turns what a library raises for an answer that it cannot read into ModelFailed (MOD-19).

    If `http_exit.py` stopped the answer, raises its ModelFailed, although the library reports a lost connection.
    """
    try:
        yield
    except (Busy, ModelUnavailable) as error:
        if (refused := _refused_within(error)) is not None:
            raise refused from error
        raise
    except _UNREADABLE as error:
        why = f"what it sent cannot be read: {shorten(str(error), 200)}"
        fix = "check its address and protocol"
        raise ModelFailed(f"`{name}` answered in another protocol", why, fix) from error


def _refused_within(error: BaseException) -> ModelFailed | None:
    cause = error.__cause__
    for _ in range(5):
        if cause is None or isinstance(cause, ModelFailed):
            return cause
        cause = cause.__cause__
    return None


def _silent(name: str, limit: float, *, begun: bool) -> ModelUnavailable:
    what = f"`{name}` stopped answering" if begun else f"`{name}` did not begin to answer"
    return ModelUnavailable(what, f"nothing came for {limit:g} s", "check that the server works, and ask again")


def _refused(name: str, busy: Busy) -> ModelUnavailable:
    asked = f", and asks for a pause of {busy.wait_s:g} s" if busy.wait_s is not None else ""
    return ModelUnavailable(f"`{name}` does not answer now", f"{busy.why}{asked}", "ask again later")
