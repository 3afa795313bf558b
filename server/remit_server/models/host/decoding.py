"""Reads prompts and decides tokens, one step at a time, so that several generations can take turns.

Everything here must be called from the model's thread, like `edge.py`.
"""
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from remit_server.models.host.caches import Cache

_CLEARED_EVERY = 256
"""Tokens after which buffers that MLX keeps for use again are given back, as mlx-lm does."""

LogitsMask = Callable[[list[int]], bytes | None]
"""Takes the tokens generated since the last call; gives the bits of those allowed next; None: only the end."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One token, the text it completes, and why it is the last, if it is."""

    token: int
    text: str
    done: Literal["stop", "length"] | None


def read(model: Any, tokens: Sequence[int], cache: Cache) -> None:
    """Put tokens into a cache, without an answer."""
    import mlx.core as mx

    model(mx.array(list(tokens))[None], cache=cache.layers)
    mx.eval([layer.state for layer in cache.layers])
    mx.clear_cache()


class Row:
    """One generation on its way: the cache holds all tokens but the last, which the next step reads."""

    def __init__(
        self,
        model: Any,
        cache: Cache,
        token: int,
        mask: LogitsMask,
        detokenizer: Any,
        *,
        end_tokens: frozenset[int],
        max_tokens: int,
        temperature: float,
        seed: int,
    ) -> None:
        import mlx.core as mx

        self._model = model
        self._cache = cache
        self._token = token
        self._logits: Any = None
        self._mask = mask
        self._detokenizer = detokenizer
        self._end_tokens = end_tokens
        self._left = max_tokens
        self._temperature = temperature
        self._key = mx.random.key(seed) if temperature > 0 else None
        self._new: list[int] = []

    def begin(self) -> None:
        """Start to compute what follows the last token."""
        import mlx.core as mx

        self._logits = self._model(mx.array([[self._token]]), cache=self._cache.layers)[:, -1, :]
        cast(Any, mx.async_eval)(self._logits)

    def decide(self) -> Generated:
        """Choose the next token. What the grammar allows is found while the scores are still being computed.

        Raises what the mask raises.
        """
        import mlx.core as mx

        allowed = self._mask(self._new)
        token = self._token = self._sampled(_masked(self._logits, allowed, min(self._end_tokens)))
        self._new = [token]
        self._left -= 1
        if self._left % _CLEARED_EVERY == 0:
            mx.clear_cache()
        if token in self._end_tokens:
            return self._last("stop")
        self._detokenizer.add_token(token)
        if self._left == 0:
            return self._last("length")
        return Generated(token, str(self._detokenizer.last_segment), None)

    def _last(self, reason: Literal["stop", "length"]) -> Generated:
        self._detokenizer.finalize()
        return Generated(self._token, str(self._detokenizer.last_segment), reason)

    def _sampled(self, logits: Any) -> int:
        import mlx.core as mx

        if self._key is None:
            return cast(int, mx.argmax(logits, axis=-1).item())
        # A key of its own, so that what others sample meanwhile changes nothing.
        self._key, now = mx.random.split(self._key)
        return cast(int, mx.random.categorical(logits * (1 / self._temperature), key=now).item())


def _masked(logits: Any, allowed: bytes | None, end: int) -> Any:
    import mlx.core as mx
    import numpy as np

    width = int(logits.shape[-1])
    bits: Any = np.zeros(width, bool)
    if allowed is None:
        bits[end] = True
    else:
        # The model may score more tokens than its tokenizer has, and the bits fill up to whole words.
        known = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[:width]
        bits[: known.size] = known
    return mx.where(mx.array(bits)[None], logits, mx.array(-float("inf"), logits.dtype))
