"""A model's prompt cache in memory (MOD-05).

Everything here must be called from the model's thread, like `mlx_backend.py`.
"""
# pyright: basic

from __future__ import annotations

import copy
import resource
from pathlib import Path
from typing import Any, cast

_REWIND = frozenset({"mlx_lm.models.cache.KVCache", "mlx_lm.models.cache.QuantizedKVCache"})
"""Kinds of layers that overwrite nothing, by name, so that mlx-lm need not be imported to recognise them."""


def load_mlx_lm() -> None:
    """Imports mlx-lm, which takes a second, and keeps it from lowering the limit of open files on import, which would
    be permanent unless the process is root. Raises ImportError."""
    kept = resource.setrlimit
    resource.setrlimit = lambda *_: None
    try:
        import mlx_lm  # noqa: F401
    finally:
        resource.setrlimit = kept


class Cache:
    """An mlx-lm prompt cache as a `caches.PromptCache`."""

    def __init__(self, layers: list[Any]) -> None:
        self.layers = layers

    @property
    def rewinds(self) -> bool:
        """Whether tokens can be dropped at any time: no layer overwrites what it held."""
        return all(f"{type(layer).__module__}.{type(layer).__name__}" in _REWIND for layer in self.layers)

    def trim(self, tokens: int) -> bool:
        """Drops the last `tokens` if all layers can. Returns whether they were dropped."""
        if not self._can_be_trimmed:
            return False
        return [layer.trim(tokens) for layer in self.layers][:1] == [tokens]

    def copy(self, tokens: int) -> Cache | None:
        """Returns a copy without the last `tokens`, or None if not all layers can be trimmed."""
        if not self._can_be_trimmed:
            return None
        copied = Cache(copy.deepcopy(self.layers))
        return copied if copied.trim(tokens) else None

    def save(self, path: Path, metadata: dict[str, str]) -> None:
        """Writes a file that `load` reads. Raises what mlx-lm raises."""
        load_mlx_lm()
        from mlx_lm.models.cache import save_prompt_cache

        save_prompt_cache(str(path), self.layers, metadata)

    @classmethod
    def load(cls, path: Path) -> tuple[Cache, dict[str, str]]:
        """Reads a file that `save` wrote. Raises what mlx-lm raises."""
        load_mlx_lm()
        from mlx_lm.models.cache import load_prompt_cache

        layers, metadata = cast(tuple[list[Any], dict[str, str]], load_prompt_cache(str(path), return_metadata=True))
        return cls(layers), metadata

    @property
    def _can_be_trimmed(self) -> bool:
        return all(layer.is_trimmable() for layer in self.layers)

    @property
    def nbytes(self) -> int:
        """The size of all layers in bytes."""
        return sum(int(layer.nbytes) for layer in self.layers)
