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

from remit_server.models.local.host.cache.token_caches import Cache

_CLEARED_EVERY = 256
"""The number of tokens after which MLX's cached buffers are freed, as in mlx-lm."""
_MASKS = 32
"""The number of masks cached: text uses the same few again and again. A mask has a byte per token."""


class TokenConstraint(Protocol):
    """Constrains a generation token by token; see `guide.Guide`. All methods may raise."""

    def allowed(self) -> bytes | None:
        """Returns the bits of the tokens allowed next; None: only the end."""
        ...

    def forces_little(self, allowed: bytes | None) -> bool:
        """Returns whether most of the tokens in `allowed` force no further token."""
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
        """What a model's folder states, else what its family's authors advise."""
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
        """What is wanted, where it is, and else this."""
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
"""By the `model_type` of `config.json`, for conversions that lost the file with the settings."""


def read(model: Any, tokens: Sequence[int], cache: Cache) -> None:
    """Reads tokens into a cache, without a result."""
    import mlx.core as mx

    model(mx.array(list(tokens))[None], cache=cache.layers)
    mx.eval([layer.state for layer in cache.layers])
    mx.clear_cache()


class Row:
    """One running generation: the cache holds all tokens but the last few, which the next step reads together."""

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
        self._key = mx.random.key(sampling.seed) if sampling.temperature > 0 else None

    def begin(self) -> None:
        """Starts to compute the scores after the last tokens, unless that is already running."""
        import mlx.core as mx

        if self._next:
            self._logits = self._scores(mx.array([list(self._next)]), len(self._next))
            cast(Any, mx.async_eval)(self._logits)
            self._next = ()

    def decide(self) -> Generated:
        """Chooses the next token. The allowed tokens are computed while the scores are.

        Forced tokens come with it: the model reads them together, without sampling. Where they are unlikely, the model
        starts to read the chosen token before its value is known here, so that neither side waits. Raises what the
        constraint raises.
        """
        import mlx.core as mx

        allowed = self._constraint.allowed()
        chosen = self._sample(_apply_mask(self._logits, allowed, min(self._end_tokens)))
        ahead = self._left > 1 and self._constraint.forces_little(allowed)
        if ahead:
            # Evaluated separately: arrays evaluated together are waited for together.
            cast(Any, mx.async_eval)(chosen)
            self._logits = self._scores(chosen[None], 1)
            cast(Any, mx.async_eval)(self._logits)
        token = cast(int, chosen.item())
        self._constraint.accept(token)
        self._left -= 1
        if token in self._end_tokens:
            return self._make_generated((token,), "stop")
        forced = self._constraint.accept_forced(self._left)
        self._left -= len(forced)
        self._next = tuple(forced) if ahead else (token, *forced)
        return self._make_generated((token, *forced), "length" if self._left == 0 else None)

    def _scores(self, tokens: Any, count: int) -> Any:
        self.held += count
        return self._model(tokens, cache=self._cache.layers)[:, -1, :]

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
        # A key of its own: other generations' sampling changes nothing here.
        self._key, now = mx.random.split(self._key)
        if self._sampling.top_p < 1:
            from mlx_lm.sample_utils import apply_top_p

            logits = apply_top_p(logits - mx.logsumexp(logits, axis=-1, keepdims=True), self._sampling.top_p)
        return mx.random.categorical(logits * (1 / self._sampling.temperature), key=now)


def _apply_mask(logits: Any, allowed: bytes | None, end: int) -> Any:
    import mlx.core as mx

    barred = mx.array(-float("inf"), logits.dtype)
    return mx.where(_mask(allowed, end, int(logits.shape[-1])), logits, barred)


@lru_cache(maxsize=_MASKS)
def _mask(allowed: bytes | None, end: int, width: int) -> Any:
    import mlx.core as mx
    import numpy as np

    bits: Any = np.zeros(width, bool)
    if allowed is None:
        bits[end] = True
    else:
        # The model may score more tokens than its tokenizer has, and the bit mask is padded to whole words.
        known = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[:width]
        bits[: known.size] = known
    return mx.array(bits)[None]
