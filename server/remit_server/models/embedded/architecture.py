"""The embedded model's network in MLX: a small decoder with token shift (MOD-09).

Each attention layer's input is a learned mix of a position and the seven before it. mlx-lm generates with the module
like with any other; the inputs that the shift needs of earlier positions are part of the cache, so a prompt may be read
in parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import mlx.core as mx
from mlx import nn

SHIFT = 8
"""The number of positions that the token shift mixes: the current one and those before it."""
_GROWTH = 256
"""The number of positions by which a cache grows."""


@dataclass(frozen=True, slots=True)
class EmbeddedArgs:
    """Sizes of the network, named as in config.json."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    rotary_dims: int
    rope_theta: float
    rms_norm_eps: float

    @classmethod
    def from_dict(cls, config: Mapping[str, object]) -> EmbeddedArgs:
        """Reads the sizes from a config.json. Raises `KeyError` for a missing one."""
        sizes: dict[str, Any] = {field.name: config[field.name] for field in fields(cls)}
        return cls(**sizes)


class ShiftCache:
    """One layer's keys, values and normed inputs. The inputs of all positions are stored, so that it can be trimmed."""

    def __init__(self) -> None:
        self.keys: mx.array | None = None
        self.values: mx.array | None = None
        self.inputs: mx.array | None = None
        self.offset = 0

    def shift_window(self, x: mx.array) -> mx.array:
        """Prepends the inputs before `x`, zeros before the first, and stores `x`.

        Called before `update_and_fetch`, which advances `offset`.
        """
        self.inputs = _append(self.inputs, x[:, None], self.offset)
        known = min(self.offset, SHIFT - 1)
        window = self.inputs[:, 0, self.offset - known : self.offset + x.shape[1]]
        if known == SHIFT - 1:
            return window
        return mx.concatenate([mx.zeros((x.shape[0], SHIFT - 1 - known, x.shape[2]), x.dtype), window], axis=1)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Appends (batch, heads, positions, size) keys and values; returns all so far."""
        end = self.offset + keys.shape[2]
        self.keys = _append(self.keys, keys, self.offset)
        self.values = _append(self.values, values, self.offset)
        self.offset = end
        return self.keys[..., :end, :], self.values[..., :end, :]

    @property
    def state(self) -> list[mx.array]:
        """The arrays of the cache up to `offset`; empty before the first token."""
        if self.keys is None or self.values is None or self.inputs is None:
            return []
        return [array[..., : self.offset, :] for array in (self.keys, self.values, self.inputs)]

    @state.setter
    def state(self, arrays: Sequence[mx.array]) -> None:
        if not arrays:
            self.keys = self.values = self.inputs = None
            self.offset = 0
            return
        self.keys, self.values, self.inputs = arrays
        self.offset = self.keys.shape[2]

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return sum(array.nbytes for array in (self.keys, self.values, self.inputs) if array is not None)

    def size(self) -> int:
        """Returns the number of positions held."""
        return self.offset

    def empty(self) -> bool:
        """Returns whether the cache holds no token."""
        return self.offset == 0

    def is_trimmable(self) -> bool:
        """Returns True: mlx-lm may trim positions from the end."""
        return True

    def trim(self, n: int) -> int:
        """Drops the last `n` positions, or all there are. Returns their number."""
        cut = min(n, self.offset)
        self.offset -= cut
        return cut


def _append(held: mx.array | None, new: mx.array, offset: int) -> mx.array:
    """Writes `new` at `offset`, growing the buffer in steps so that most tokens need no copy."""
    end = offset + new.shape[2]
    if held is None or end > held.shape[2]:
        room = (end + _GROWTH - 1) // _GROWTH * _GROWTH - offset
        spare = mx.zeros((new.shape[0], new.shape[1], room, new.shape[3]), new.dtype)
        held = spare if held is None else mx.concatenate([held[..., :offset, :], spare], axis=2)
    held[..., offset:end, :] = new
    return held


class Block(nn.Module):  # type: ignore[misc]  # mypy skips mlx, so its classes are Any
    """Token shift, attention with normed queries and keys, gated feed-forward."""

    def __init__(self, args: EmbeddedArgs) -> None:
        super().__init__()
        width = args.hidden_size
        self._heads = args.num_attention_heads
        self._rotary = args.rotary_dims
        self._theta = args.rope_theta
        head = width // self._heads
        self.attention_norm = nn.RMSNorm(width, args.rms_norm_eps)
        self.feed_norm = nn.RMSNorm(width, args.rms_norm_eps)
        self.shift = mx.zeros((SHIFT, width))
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.query_norm = nn.RMSNorm(head, args.rms_norm_eps)
        self.key_norm = nn.RMSNorm(head, args.rms_norm_eps)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * args.intermediate_size, bias=False)
        self.down = nn.Linear(args.intermediate_size, width, bias=False)

    def __call__(self, x: mx.array, cache: ShiftCache) -> mx.array:
        """Returns the block's output for `x`, and stores what later positions need in `cache`."""
        batch, length, width = x.shape
        window = cache.shift_window(self.attention_norm(x))
        y = window[:, :length] * self.shift[0]
        for i in range(1, SHIFT):
            y = y + window[:, i : i + length] * self.shift[i]
        heads = mx.reshape(self.query_key_value(y), (batch, length, 3, self._heads, width // self._heads))
        query, key, value = (mx.transpose(heads[:, :, i], (0, 2, 1, 3)) for i in range(3))
        query = self._rotate(self.query_norm(query), cache.offset)
        keys, values = cache.update_and_fetch(self._rotate(self.key_norm(key), cache.offset), value)
        mixed = mx.fast.scaled_dot_product_attention(
            query, keys, values, scale=query.shape[-1] ** -0.5, mask="causal" if length > 1 else None
        )
        x = x + self.attention_out(mx.reshape(mx.transpose(mixed, (0, 2, 1, 3)), (batch, length, width)))
        gate, up = mx.split(self.gate_up(self.feed_norm(x)), 2, axis=-1)
        fed: mx.array = self.down(gate * mx.sigmoid(gate) * up)
        return x + fed

    def _rotate(self, x: mx.array, offset: int) -> mx.array:
        return mx.fast.rope(x, self._rotary, traditional=False, base=self._theta, scale=1.0, offset=offset)


class EmbeddedModel(nn.Module):  # type: ignore[misc]
    """The decoder: tied embedding, blocks, final norm; called like mlx-lm's own models."""

    def __init__(self, args: EmbeddedArgs) -> None:
        super().__init__()
        self.embedding = nn.Embedding(args.vocab_size, args.hidden_size)
        self.blocks = [Block(args) for _ in range(args.num_hidden_layers)]
        self.norm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)

    def __call__(self, tokens: mx.array, cache: Sequence[ShiftCache] | None = None) -> mx.array:
        """Returns (batch, positions, vocabulary) logits for (batch, positions) tokens that follow those in `cache`."""
        x = self.embedding(tokens)
        for block, layer_cache in zip(self.blocks, cache or self.make_cache(), strict=True):
            x = block(x, layer_cache)
        logits: mx.array = self.norm(x) @ self.embedding.weight.T
        return logits

    @property
    def layers(self) -> list[Block]:
        """The blocks, under the name that mlx-lm expects."""
        return self.blocks

    def make_cache(self) -> list[ShiftCache]:
        """Returns an empty cache, one part per block."""
        return [ShiftCache() for _ in self.blocks]
