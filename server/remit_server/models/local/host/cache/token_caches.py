"""A model's prompt cache in memory (MOD-05).

Everything here must be called from the model's thread, like `mlx_backend.py`.
"""
# pyright: basic

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast


class Cache:
    """An mlx-lm prompt cache behind `session_caches.PromptCache`."""

    def __init__(self, layers: list[Any]) -> None:
        self.layers = layers

    @property
    def rewinds(self) -> bool:
        """Whether tokens can be dropped at any time: no layer overwrites what it held."""
        from mlx_lm.models.cache import KVCache, QuantizedKVCache

        from remit_server.models.embedded.architecture import ShiftCache

        return all(type(layer) in {KVCache, QuantizedKVCache, ShiftCache} for layer in self.layers)

    def trim(self, tokens: int) -> bool:
        """Drops the last `tokens`, where all layers can."""
        from mlx_lm.models.cache import can_trim_prompt_cache, trim_prompt_cache

        if not can_trim_prompt_cache(self.layers):
            return False
        return cast(int, trim_prompt_cache(self.layers, tokens)) == tokens

    def copy(self, tokens: int) -> Cache | None:
        """Returns a copy without the last `tokens`; None where not all layers can be trimmed."""
        from mlx_lm.models.cache import can_trim_prompt_cache

        if not can_trim_prompt_cache(self.layers):
            return None
        copied = Cache(copy.deepcopy(self.layers))
        return copied if copied.trim(tokens) else None

    def save(self, path: Path, metadata: dict[str, str]) -> None:
        """Writes a file that `load` reads. Raises what mlx-lm raises."""
        from mlx_lm.models.cache import save_prompt_cache

        save_prompt_cache(str(path), self.layers, metadata)

    @classmethod
    def load(cls, path: Path) -> tuple[Cache, dict[str, str]]:
        """Reads a file that `save` wrote. Raises what mlx-lm raises."""
        from mlx_lm.models.cache import load_prompt_cache

        layers, metadata = cast(tuple[list[Any], dict[str, str]], load_prompt_cache(str(path), return_metadata=True))
        return cls(layers), metadata

    @property
    def nbytes(self) -> int:
        """The size of all layers in bytes."""
        return sum(int(layer.nbytes) for layer in self.layers)
