"""Folders with tiny Llamas of random weights, each over a vocabulary of its own kind, made in about a second."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from model_parts import bytes_tokenizer, draw, ones_of, reading
from random_model import BPE

Kind = Literal["bpe", "bytes", "large"]
KINDS: tuple[Kind, ...] = ("bpe", "bytes", "large")
SPECIAL = ("<|pad|>", "<|end|>")
WIDTH, HEADS, INNER = 64, 4, 128


def tiny_model(
    kind: Kind,
    folder: Path,
    *,
    layers: int = 1,
    width: int = WIDTH,
    spread: float = 0.3,
    markers: tuple[str, ...] = (),
) -> Path:
    """Write a model in MLX format: over a BPE of 1,024 tokens, over bytes alone, or over a unigram of 8,000 tokens.

    The last has no byte fallback, like some real ones; `spread` is the deviation of the output weights, and `markers`
    are further tokens of its vocabulary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(kind)
    tokenizer.add_special_tokens(list(markers))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(reading(4096, pad=None)))
    vocabulary = -(-tokenizer.get_vocab_size() // 64) * 64
    _write_weights(folder, vocabulary, layers, width, spread)
    shape = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": width, "num_hidden_layers": layers,
        "intermediate_size": 2 * width, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "rms_norm_eps": 1e-6, "vocab_size": vocabulary, "rope_theta": 10000.0, "max_position_embeddings": 8192,
        "tie_word_embeddings": False, "eos_token_id": tokenizer.token_to_id("<|end|>"),
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(shape))
    return folder


def _tokenizer(kind: Kind) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    if kind == "bpe":
        return Tokenizer.from_file(str(BPE))
    if kind == "bytes":
        return bytes_tokenizer(SPECIAL)
    markers = [AddedToken(each, special=True, normalized=False) for each in SPECIAL]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.UnigramTrainer(
        vocab_size=8000,
        special_tokens=[*markers, AddedToken("<unk>", special=True)],
        unk_token="<unk>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    return tokenizer


def _texts() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]:
        yield from path.read_text(encoding="utf-8").splitlines()


def _write_weights(folder: Path, vocabulary: int, layers: int, width: int, spread: float) -> None:
    from safetensors.numpy import save_file

    random, ones = draw(), ones_of(width)
    weights = {"model.embed_tokens.weight": random(vocabulary, width, scale=1.0), "model.norm.weight": ones}
    weights["lm_head.weight"] = random(vocabulary, width, scale=spread)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        weights |= {f"{prefix}input_layernorm.weight": ones, f"{prefix}post_attention_layernorm.weight": ones}
        weights |= {f"{prefix}self_attn.{name}_proj.weight": random(width, width) for name in "qkvo"}
        weights |= {f"{prefix}mlp.{name}_proj.weight": random(2 * width, width) for name in ("gate", "up")}
        weights[f"{prefix}mlp.down_proj.weight"] = random(width, 2 * width)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "mlx"})
