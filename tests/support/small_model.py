"""A model of random weights, made on the fly: a qwen3 of one layer, and a tokenizer that knows bytes."""

from __future__ import annotations

import json
from typing import Any

MARKERS = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}"
    "{%- for c in m.tool_calls or [] -%}<tool_call>{{ c.function | tojson }}</tool_call>{%- endfor -%}"
    "<|end|>{%- endfor -%}<|assistant|>"
)
WIDTH, HEADS, HEAD = 128, 2, 16


def small_model(inner: int = 256) -> dict[str, bytes]:
    """Returns the files of the model by name; each unit of `inner` makes it 1,536 bytes larger."""
    import numpy as np
    from safetensors.numpy import save
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(m, special=True, normalized=False) for m in MARKERS])
    vocabulary = tokenizer.get_vocab_size()
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.1).astype(np.float32)

    ones = np.ones
    layer = "model.layers.0."
    first = {"model.embed_tokens.weight": random(vocabulary, WIDTH), "model.norm.weight": ones(WIDTH, np.float32)}
    second = {
        "lm_head.weight": random(vocabulary, WIDTH),
        f"{layer}input_layernorm.weight": ones(WIDTH, np.float32),
        f"{layer}post_attention_layernorm.weight": ones(WIDTH, np.float32),
        f"{layer}self_attn.q_proj.weight": random(HEADS * HEAD, WIDTH),
        f"{layer}self_attn.k_proj.weight": random(HEAD, WIDTH),
        f"{layer}self_attn.v_proj.weight": random(HEAD, WIDTH),
        f"{layer}self_attn.o_proj.weight": random(WIDTH, HEADS * HEAD),
        f"{layer}self_attn.q_norm.weight": ones(HEAD, np.float32),
        f"{layer}self_attn.k_norm.weight": ones(HEAD, np.float32),
        f"{layer}mlp.gate_proj.weight": random(inner, WIDTH),
        f"{layer}mlp.up_proj.weight": random(inner, WIDTH),
        f"{layer}mlp.down_proj.weight": random(WIDTH, inner),
    }
    shards = {"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second}
    index = {"weight_map": {tensor: file for file, tensors in shards.items() for tensor in tensors}}
    shape = {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": WIDTH, "num_hidden_layers": 1,
        "intermediate_size": inner, "num_attention_heads": HEADS, "num_key_value_heads": 1, "head_dim": HEAD,
        "rms_norm_eps": 1e-6, "vocab_size": vocabulary, "rope_theta": 10000.0, "max_position_embeddings": 8192,
        "tie_word_embeddings": False, "eos_token_id": tokenizer.token_to_id("<|end|>"),
    }  # fmt: skip
    reading = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
    }
    files = {name: save(tensors, metadata={"format": "mlx"}) for name, tensors in shards.items()}
    texts = {"config.json": shape, "tokenizer_config.json": reading, "model.safetensors.index.json": index}
    files |= {name: json.dumps(value).encode() for name, value in texts.items()}
    return files | {"tokenizer.json": tokenizer.to_str().encode()}
