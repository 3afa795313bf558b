"""The parts that models of random weights have in common: their configuration, and the weights of a layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Random = Callable[..., Any]


@dataclass(frozen=True)
class Shape:
    """The size of a qwen3: `kept` is its number of key and value heads."""

    vocabulary: int
    width: int
    heads: int
    kept: int
    inner: int
    head: int = 16
    layers: int = 1

    def config(self, context: int, end: int, *, tied: bool) -> dict[str, Any]:
        """Returns the content of `config.json`; `end` is the token that ends a message."""
        return {
            "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": self.width,
            "num_hidden_layers": self.layers, "intermediate_size": self.inner, "num_attention_heads": self.heads,
            "num_key_value_heads": self.kept, "head_dim": self.head, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
            "vocab_size": self.vocabulary, "max_position_embeddings": context, "tie_word_embeddings": tied,
            "eos_token_id": end,
        }  # fmt: skip

    def layer(self, number: int, random: Random) -> dict[str, Any]:
        """Returns the weights of a layer by their names."""
        asked, kept = self.heads * self.head, self.kept * self.head
        ones = {"input_layernorm": self.width, "post_attention_layernorm": self.width}
        ones |= {"self_attn.q_norm": self.head, "self_attn.k_norm": self.head}
        drawn = {
            "self_attn.q_proj": (asked, self.width),
            "self_attn.k_proj": (kept, self.width),
            "self_attn.v_proj": (kept, self.width),
            "self_attn.o_proj": (self.width, asked),
            "mlp.gate_proj": (self.inner, self.width),
            "mlp.up_proj": (self.inner, self.width),
            "mlp.down_proj": (self.width, self.inner),
        }
        weights = {name: ones_of(size) for name, size in ones.items()}
        weights |= {name: random(*size) for name, size in drawn.items()}
        return {f"model.layers.{number}.{name}.weight": values for name, values in weights.items()}


def ones_of(size: int) -> Any:
    import numpy as np

    return np.ones(size, np.float32)


def draw() -> Random:
    """Returns a function that draws the same weights in each run, with the deviation `scale`."""
    import numpy as np

    rng = np.random.default_rng(0)
    return lambda *shape, scale=0.1: (rng.standard_normal(shape) * scale).astype(np.float32)


def bytes_tokenizer(markers: Iterable[str]) -> Any:
    """Returns a tokenizer of single bytes and of these markers."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer: Any = Tokenizer(models.BPE(vocab={each: number for number, each in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in markers])
    return tokenizer


def reading(context: int, template: str | None = None, pad: str | None = "<|pad|>") -> dict[str, Any]:
    """Returns the content of `tokenizer_config.json`."""
    given = {"pad_token": pad, "chat_template": template}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
        **{name: value for name, value in given.items() if value is not None},
    }
