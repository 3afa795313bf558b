"""The embedded model in torch, weight for weight the network that remit_server.models.embedded runs in MLX."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

SHIFT = 8
"""Positions that the token shift mixes: this one and those before it. With fewer, names that repeat a syllable are
copied in circles."""
LONGEST = 4096
"""Positions that the rotary tables cover."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the network; field names are those of config.json."""

    vocab_size: int = 1024
    hidden_size: int = 128
    num_hidden_layers: int = 5
    num_attention_heads: int = 4
    intermediate_size: int = 384
    rotary_dims: int = 16
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6

    def as_config(self) -> dict[str, object]:
        """Return the sizes as config.json spells them."""
        return dict(asdict(self))


class Block(nn.Module):
    """Token shift, attention with normed queries and keys, gated feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads, self.rotary = shape.hidden_size, shape.num_attention_heads, shape.rotary_dims
        head = width // self.heads
        self.attention_norm = nn.RMSNorm(width, eps=shape.rms_norm_eps)
        self.feed_norm = nn.RMSNorm(width, eps=shape.rms_norm_eps)
        older = [torch.zeros(width) for _ in range(SHIFT - 2)]
        self.shift = nn.Parameter(torch.stack([*older, torch.randn(width) * 0.3, torch.ones(width)]))
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.query_norm = nn.RMSNorm(head, eps=shape.rms_norm_eps)
        self.key_norm = nn.RMSNorm(head, eps=shape.rms_norm_eps)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * shape.intermediate_size, bias=False)
        self.down = nn.Linear(shape.intermediate_size, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        # In half precision, as the product after it is; on a CPU that is twenty times faster.
        y = functional.pad(self.attention_norm(x).to(torch.bfloat16), (0, 0, SHIFT - 1, 0))
        mix = self.shift.to(torch.bfloat16)
        y = sum((y[:, i : i + length] * mix[i] for i in range(1, SHIFT)), y[:, :length] * mix[0])
        heads = self.query_key_value(y).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query = self._rotate(self.query_norm(heads[0]), cos, sin)
        key = self._rotate(self.key_norm(heads[1]), cos, sin)
        mixed = functional.scaled_dot_product_attention(query, key, heads[2], is_causal=True)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(self.feed_norm(x)).chunk(2, dim=-1)
        fed: Tensor = self.down(functional.silu(gate) * up)
        return x + fed

    def _rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate the first `rotary` dimensions of each head by position; the rest see content only."""
        turned, kept = x[..., : self.rotary], x[..., self.rotary :]
        first, second = turned.chunk(2, dim=-1)
        return torch.cat([turned * cos + torch.cat([-second, first], -1) * sin, kept], dim=-1)


class Network(nn.Module):
    """The decoder: tied embedding, blocks, final norm."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.blocks = nn.ModuleList([Block(shape) for _ in range(shape.num_hidden_layers)])
        self.norm = nn.RMSNorm(shape.hidden_size, eps=shape.rms_norm_eps)
        frequencies = shape.rope_theta ** -(torch.arange(0, shape.rotary_dims, 2).float() / shape.rotary_dims)
        angles = torch.outer(torch.arange(LONGEST).float(), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self._initialise()

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cos[:length], self.sin[:length])
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Score the vocabulary at the given hidden states."""
        return functional.linear(hidden, self.embedding.weight)

    def _initialise(self) -> None:
        nn.init.normal_(self.embedding.weight, std=0.02)
        for name, parameter in self.blocks.named_parameters():
            if name.endswith(("attention_out.weight", "down.weight")):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 2 and not name.endswith("shift"):
                nn.init.normal_(parameter, std=0.7 / math.sqrt(parameter.shape[1]))
