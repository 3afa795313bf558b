"""A model folder with random weights, whose prompt holds its whole conversation."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from model_parts import Shape, draw, ones_of, reading
from safetensors.numpy import save_file

BPE = Path(__file__).with_name("bpe_tokenizer.json")
"""A vocabulary of 1,024 tokens of English and code."""
KEPT = Path(__file__).parents[2] / ".cache" / "test-models" / "random-v1"
SHAPE = Shape(vocabulary=1024, width=32, heads=2, kept=1, inner=64)
TEMPLATE = (
    "{%- for m in messages -%}<|{{ 'user' if m.role == 'system' else m.role }}|>{{ m.content }}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def random_model(folder: Path, context: int) -> Path:
    """Write a qwen3 of one layer that reads `context` tokens."""
    folder.mkdir(parents=True)
    shutil.copy(BPE, folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps(reading(context, TEMPLATE)))
    config = SHAPE.config(context, 1, tied=True)
    (folder / "config.json").write_text(json.dumps(config))
    random = draw()
    weights = {
        "model.embed_tokens.weight": random(SHAPE.vocabulary, SHAPE.width),
        "model.norm.weight": ones_of(SHAPE.width),
        **SHAPE.layer(0, random),
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
