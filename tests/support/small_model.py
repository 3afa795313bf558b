"""A model of random weights, made on the fly: a qwen3 of one layer, and a tokenizer that knows bytes."""

from __future__ import annotations

import json

from model_parts import Shape, bytes_tokenizer, draw, ones_of, reading

MARKERS = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}"
    "{%- for c in m.tool_calls or [] -%}<tool_call>{{ c.function | tojson }}</tool_call>{%- endfor -%}"
    "<|end|>{%- endfor -%}<|assistant|>"
)


def small_model(inner: int = 256) -> dict[str, bytes]:
    """Returns the files of the model by name; each unit of `inner` makes it 1,536 bytes larger."""
    from safetensors.numpy import save

    tokenizer = bytes_tokenizer(MARKERS)
    shape = Shape(tokenizer.get_vocab_size(), width=128, heads=2, kept=1, inner=inner)
    random = draw()
    first = {
        "model.embed_tokens.weight": random(shape.vocabulary, shape.width),
        "model.norm.weight": ones_of(shape.width),
    }
    second = {"lm_head.weight": random(shape.vocabulary, shape.width), **shape.layer(0, random)}
    shards = {"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second}
    index = {"weight_map": {tensor: file for file, tensors in shards.items() for tensor in tensors}}
    config = shape.config(8192, tokenizer.token_to_id("<|end|>"), tied=False)
    told = reading(4096, TEMPLATE)
    files = {name: save(tensors, metadata={"format": "mlx"}) for name, tensors in shards.items()}
    texts = {"config.json": config, "tokenizer_config.json": told, "model.safetensors.index.json": index}
    files |= {name: json.dumps(value).encode() for name, value in texts.items()}
    return files | {"tokenizer.json": tokenizer.to_str().encode()}
