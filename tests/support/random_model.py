"""A model folder with random weights, whose prompt holds its whole conversation."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

BPE = Path(__file__).with_name("bpe_tokenizer.json")
"""A vocabulary of 1,024 tokens of English and code."""
KEPT = Path(__file__).parents[2] / ".cache" / "test-models" / "random-v1"
VOCABULARY, WIDTH, HEADS, HEAD, INNER = 1024, 32, 2, 16, 64
TEMPLATE = (
    "{%- for m in messages -%}<|{{ 'user' if m.role == 'system' else m.role }}|>{{ m.content }}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def random_model(folder: Path, context: int) -> Path:
    """Write a qwen3 of one layer that reads `context` tokens."""
    folder.mkdir(parents=True)
    shutil.copy(BPE, folder / "tokenizer.json")
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": False, "model_max_length": context, "chat_template": TEMPLATE,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    config = {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": WIDTH, "num_hidden_layers": 1,
        "intermediate_size": INNER, "num_attention_heads": HEADS, "num_key_value_heads": 1, "head_dim": HEAD,
        "rms_norm_eps": 1e-6, "vocab_size": VOCABULARY, "rope_theta": 10000.0, "max_position_embeddings": context,
        "tie_word_embeddings": True, "eos_token_id": 1,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.1).astype(np.float32)

    layer = "model.layers.0."
    weights = {
        "model.embed_tokens.weight": random(VOCABULARY, WIDTH),
        "model.norm.weight": np.ones(WIDTH, np.float32),
        f"{layer}input_layernorm.weight": np.ones(WIDTH, np.float32),
        f"{layer}post_attention_layernorm.weight": np.ones(WIDTH, np.float32),
        f"{layer}self_attn.q_proj.weight": random(HEADS * HEAD, WIDTH),
        f"{layer}self_attn.k_proj.weight": random(HEAD, WIDTH),
        f"{layer}self_attn.v_proj.weight": random(HEAD, WIDTH),
        f"{layer}self_attn.o_proj.weight": random(WIDTH, HEADS * HEAD),
        f"{layer}self_attn.q_norm.weight": np.ones(HEAD, np.float32),
        f"{layer}self_attn.k_norm.weight": np.ones(HEAD, np.float32),
        f"{layer}mlp.gate_proj.weight": random(INNER, WIDTH),
        f"{layer}mlp.up_proj.weight": random(INNER, WIDTH),
        f"{layer}mlp.down_proj.weight": random(WIDTH, INNER),
    }
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "mlx"})
    return folder


def kept_model() -> str:
    """Returns the path of such a model that reads 4,096 tokens, made once for all tests."""
    if not KEPT.exists():
        made = random_model(Path(tempfile.mkdtemp(dir=_parent(KEPT))) / "model", 4096)
        with suppress(OSError):  # another process was first
            made.rename(KEPT)
    return str(KEPT)


def _parent(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent
