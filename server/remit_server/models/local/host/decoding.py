"""Reads prompts and decodes tokens, one step at a time, so that several generations can alternate.

Everything here must be called from the model's thread, like `mlx_backend.py`.
"""
# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

from remit_server.models.local.host.caches import shared_prefix
from remit_server.models.local.host.speculation import Drafter
from remit_server.models.local.host.token_caches import Cache, load_mlx_lm

_CLEARED_EVERY = 256
"""The number of tokens after which MLX's cached buffers are freed, as in mlx-lm."""
_NEAR = {True: 0.01, False: 0.5}
"""The difference below which scores count as equal: in 32 bits (True), and in 16 bits (False)."""
_NEAR_SHARE = 0.005
_MASKS = 32
"""The number of masks cached: text uses the same few again and again. A mask has a byte per token."""


class TokenConstraint(Protocol):
    """Constrains a generation token by token; see `guide.Guide`. All methods may raise."""

    def allowed(self) -> bytes | None:
        """Returns the bits of the tokens allowed next, or None if only the end is."""
        ...

    def forces_little(self, allowed: bytes | None) -> bool:
        """Returns whether most of the tokens in `allowed` force no further token."""
        ...

    def fits(self, tokens: Sequence[int]) -> int:
        """Returns how many of these tokens might come next, one after another."""
        ...

    def accept(self, token: int) -> None:
        """Records a chosen token."""
        ...

    def accept_forced(self, most: int) -> list[int]:
        """Accepts and returns the tokens that must come next, at most `most`."""
        ...


@dataclass(frozen=True, slots=True)
class Generated:
    """A token with the forced tokens after it, the text they complete, and the reason if they are the last."""

    tokens: tuple[int, ...]
    text: str
    done: Literal["stop", "length"] | None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. A temperature of 0 takes the likeliest; `top_p` is the share to choose from."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    @classmethod
    def stated(cls, folder: Path) -> Sampling:
        """Returns what a model's folder states, or else what the authors of its family advise."""
        stated = _read_object(folder / "generation_config.json")
        if not stated:
            return FAMILIES.get(str(_read_object(folder / "config.json").get("model_type")), cls())
        if not stated.get("do_sample"):
            return cls()
        temperature, top_p = stated.get("temperature", 1.0), stated.get("top_p", 1.0)
        if not all(isinstance(each, int | float) and 0 < each <= 2 for each in (temperature, top_p)):
            return cls()
        return cls(float(temperature), min(float(top_p), 1.0))

    def wanted(self, temperature: float | None, top_p: float | None, seed: int) -> Sampling:
        """Returns the sampling with the given values; None keeps this sampling's own value."""
        return Sampling(
            self.temperature if temperature is None else temperature, self.top_p if top_p is None else top_p, seed
        )


def _read_object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


FAMILIES: Mapping[str, Sampling] = MappingProxyType(
    {
        "qwen3": Sampling(0.7, 0.8),
        "qwen3_moe": Sampling(0.7, 0.8),
        "qwen3_next": Sampling(0.7, 0.8),
        "gpt_oss": Sampling(1.0, 1.0),
        "glm4_moe": Sampling(1.0, 0.95),
        "glm4_moe_lite": Sampling(1.0, 0.95),
        "gemma3": Sampling(1.0, 0.95),
        "gemma4": Sampling(1.0, 0.95),
        "mistral3": Sampling(0.15, 1.0),
        "ministral3": Sampling(0.15, 1.0),
    }
)
"""The advised sampling, by the `model_type` of `config.json`, for conversions that lost the file with the settings."""


def read(model: Any, tokens: Sequence[int], cache: Cache) -> None:
    """Reads tokens into a cache, without a result."""
    import mlx.core as mx

    model(mx.array(list(tokens))[None], cache=cache.layers)
    mx.eval([layer.state for layer in cache.layers])
    mx.clear_cache()


class Row:
    """One running generation: the cache holds all tokens but the last few, which the next step reads together.

    With a `drafter` the step reads a guess with them, and keeps as much of it as the model would have written. The
    chosen tokens are the same as without, in fewer passes.
    """

    def __init__(
        self,
        model: Any,
        cache: Cache,
        token: int,
        constraint: TokenConstraint,
        detokenizer: Any,
        *,
        end_tokens: frozenset[int],
        max_tokens: int,
        sampling: Sampling,
        drafter: Drafter | None = None,
    ) -> None:
        import mlx.core as mx

        self.held = 0
        """Tokens that this generation has put into the cache."""
        self._model = model
        self._cache = cache
        self._next: tuple[int, ...] = (token,)
        self._logits: Any = None
        self._constraint = constraint
        self._detokenizer = detokenizer
        self._end_tokens = end_tokens
        self._left = max_tokens
        self._sampling = sampling
        self._drafter = drafter if cache.rewinds else None
        self._guess: list[int] = []
        self._key = mx.random.key(sampling.seed) if sampling.temperature > 0 else None

    def begin(self) -> None:
        """Starts to compute the scores after the last tokens, unless that is already running."""
        import mlx.core as mx

        if self._next:
            self._guess = self._propose()
            tokens = (*self._next, *self._guess)
            self._logits = self._scores(mx.array([list(tokens)]), len(tokens), 1 + len(self._guess))
            cast(Any, mx.async_eval)(self._logits)

    def decide(self) -> Generated:
        """Chooses the next token, and the tokens of a guess that the model agrees with. The allowed tokens are computed
        while the scores are. Raises what the constraint raises.
        """
        written = self._decide_guessed() if self._guess else self._decide_one()
        if self._drafter is not None:
            self._drafter.observe(written)
        ended = written[-1] in self._end_tokens
        return self._make_generated(tuple(written), "stop" if ended else "length" if self._left == 0 else None)

    def _decide_one(self) -> list[int]:
        """Chooses one token. Forced tokens come with it: the model reads them together, without sampling.

        If forced tokens are unlikely, the model starts to read the chosen token before its value is known here, so that
        neither side waits; but if the next tokens can be guessed, it waits, to read those with it.
        """
        import mlx.core as mx

        allowed = self._constraint.allowed()
        chosen = self._sample(self._masked(0, allowed))
        follows = self._drafter is not None and self._drafter.propose(1)
        ahead = self._left > 1 and not follows and self._constraint.forces_little(allowed)
        self._next = ()
        if ahead:
            # Evaluated separately: arrays evaluated together are waited for together.
            cast(Any, mx.async_eval)(chosen)
            self._logits = self._scores(chosen[None], 1, 1)
            cast(Any, mx.async_eval)(self._logits)
        written = self._take(cast(int, chosen.item()))
        self._next = tuple(written[1:] if ahead else written)
        return written

    def _decide_guessed(self) -> list[int]:
        """Chooses token after token as long as they agree with the guess."""
        import mlx.core as mx
        import numpy as np

        guess, self._guess = self._guess, []
        near, rows = _NEAR[self._logits.dtype == mx.float32], np.array(self._logits[0].astype(mx.float32))
        written: list[int] = []
        right = 0
        while True:
            bits = _bits(self._constraint.allowed(), min(self._end_tokens), rows.shape[1])
            token = self._sample_surely(np.where(bits, rows[right], -np.inf), near)
            if token is None:
                return [*written, *self._decide_again(guess, right)]
            more = self._take(token)
            written += more
            agreed = shared_prefix(more, guess[right:])
            right += agreed
            if agreed < len(more) or self._left == 0 or token in self._end_tokens:
                break
        self._forget(len(guess) - right)
        self._next = tuple(more[agreed:])
        if self._drafter is not None:
            self._drafter.rate(len(guess), right)
        return written

    def _decide_again(self, guess: list[int], right: int) -> list[int]:
        """Chooses the token after the first `right` tokens of a guess in a pass of its own, because in the common pass
        two tokens were about as likely."""
        import mlx.core as mx

        last = (*self._next, *guess)[len(self._next) + right - 1]
        self._forget(len(guess) - right + 1)
        self._logits = self._scores(mx.array([[last]]), 1, 1)
        return self._decide_one()

    def _propose(self) -> list[int]:
        """Returns a guess that the constraint allows, and that leaves at least one token of the limit to be chosen."""
        if self._drafter is None or self._left < 2:
            return []
        guess = self._drafter.propose(self._left - 1)
        return guess[: self._constraint.fits(guess)] if guess else []

    def _take(self, token: int) -> list[int]:
        """Accepts a chosen token and the tokens that it forces, and returns them."""
        self._constraint.accept(token)
        self._left -= 1
        forced = [] if token in self._end_tokens else self._constraint.accept_forced(self._left)
        self._left -= len(forced)
        return [token, *forced]

    def _forget(self, tokens: int) -> None:
        self._cache.trim(tokens)
        self.held -= tokens

    def _scores(self, tokens: Any, count: int, wanted: int) -> Any:
        """Reads `count` tokens; returns the scores after each of the last `wanted` ones."""
        self.held += count
        return self._model(tokens, cache=self._cache.layers)[:, -wanted:, :]

    def _masked(self, place: int, allowed: bytes | None) -> Any:
        return _apply_mask(self._logits[:, place, :], allowed, min(self._end_tokens))

    def _make_generated(self, tokens: tuple[int, ...], done: Literal["stop", "length"] | None) -> Generated:
        import mlx.core as mx

        if (self._left + len(tokens)) // _CLEARED_EVERY != self._left // _CLEARED_EVERY:
            mx.clear_cache()
        text = ""
        for token in tokens:
            if token not in self._end_tokens:
                self._detokenizer.add_token(token)
                text += str(self._detokenizer.last_segment)
        if done is not None:
            self._detokenizer.finalize()
            text += str(self._detokenizer.last_segment)
        return Generated(tokens, text, done)

    def _sample(self, logits: Any) -> Any:
        import mlx.core as mx

        if self._key is None:
            return mx.argmax(logits, axis=-1)
        # The key is this generation's own, so that other generations' sampling changes nothing here.
        self._key, now = mx.random.split(self._key)
        return mx.argmax(self._scored(logits, now, self._sampling.top_p), axis=-1)

    def _sample_surely(self, row: Any, near: float) -> int | None:
        """Returns the token that `_sample` would choose in a pass of its own, or None if that is not certain: the last
        bits of scores depend on how many tokens are read together, and decide between two about equally likely ones.
        """
        import mlx.core as mx
        import numpy as np

        sampling, key = self._sampling, self._key
        tried = [row]
        if key is not None:
            key, now = mx.random.split(key)
            around = (sampling.top_p - _NEAR_SHARE, sampling.top_p + _NEAR_SHARE) if sampling.top_p < 1 else (1.0,)
            tried = [np.array(self._scored(mx.array(row)[None], now, share))[0] for share in around]
        chosen = {int(np.argmax(scores)) for scores in tried}
        if len(chosen) > 1 or any(_lead(scores) < near / (sampling.temperature or 1.0) for scores in tried):
            return None
        self._key = key
        return chosen.pop()

    def _scored(self, logits: Any, key: Any, top_p: float) -> Any:
        """Returns scores whose largest is a sample (the Gumbel-max trick)."""
        import mlx.core as mx

        if top_p < 1:
            load_mlx_lm()
            from mlx_lm.sample_utils import apply_top_p

            logits = apply_top_p(logits - mx.logsumexp(logits, axis=-1, keepdims=True), top_p)
        return logits * (1 / self._sampling.temperature) + mx.random.gumbel(logits.shape, key=key)


def _lead(scores: Any) -> float:
    """Returns how far the best score is ahead of the second best."""
    import numpy as np

    second, first = np.partition(scores, -2)[-2:]
    return float(first - second)


def _apply_mask(logits: Any, allowed: bytes | None, end: int) -> Any:
    import mlx.core as mx

    barred = mx.array(-float("inf"), logits.dtype)
    return mx.where(_mask(allowed, end, int(logits.shape[-1])), logits, barred)


@lru_cache(maxsize=_MASKS)
def _mask(allowed: bytes | None, end: int, width: int) -> Any:
    import mlx.core as mx

    return mx.array(_bits(allowed, end, width))[None]


@lru_cache(maxsize=_MASKS)
def _bits(allowed: bytes | None, end: int, width: int) -> Any:
    import numpy as np

    bits: Any = np.zeros(width, bool)
    if allowed is None:
        bits[end] = True
    else:
        # The model may score more tokens than its tokenizer has, and the bit mask is padded to whole words.
        known = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[:width]
        bits[: known.size] = known
    return bits
