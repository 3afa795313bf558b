"""The embedded model, which makes the first run work without configuration (MOD-09)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit_server.models.embedded.architecture import EmbeddedModel
    from remit_server.models.embedded.tokenizer import EmbeddedTokenizer

MODEL_DIR = Path(__file__).parent / "model"
"""The folder with config.json, model.safetensors, the tokenizer, and CARD.md with the measured scores."""


def load_embedded() -> tuple[EmbeddedModel, EmbeddedTokenizer]:
    """Loads the embedded model in float32, ready for mlx-lm's generation, and its tokenizer.

    Imports MLX on the first call, and nothing of mlx-lm, so call it only where models run. Raises `FileNotFoundError`
    when a file of the folder is missing.
    """
    import mlx.core as mx

    from remit_server.models.embedded.architecture import EmbeddedArgs, EmbeddedModel
    from remit_server.models.embedded.tokenizer import EmbeddedTokenizer

    model = EmbeddedModel(EmbeddedArgs.from_dict(json.loads((MODEL_DIR / "config.json").read_text("utf-8"))))
    model.load_weights(str(MODEL_DIR / "model.safetensors"))
    # Stored in half precision to keep the folder small; on a CPU half precision is several times slower.
    model.set_dtype(mx.float32)
    mx.eval(model.parameters())  # pyright: ignore[reportUnknownMemberType]
    return model, EmbeddedTokenizer(MODEL_DIR)
