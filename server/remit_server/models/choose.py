"""Which provider a model reference means (001 §Providers)."""

from __future__ import annotations

from pathlib import Path

from remit_server.models.mlx import EMBEDDED, MlxProvider
from remit_server.models.options import EngineOptions
from remit_server.models.ports import ModelProvider
from remit_server.models.scripted import ScriptedProvider

SCRIPT_PREFIX = "script:"


def choose_provider(reference: str, options: EngineOptions | None = None) -> ModelProvider:
    """Return the provider for `embedded`, `script:FILE.json` or a model folder; nothing is loaded yet.

    Raises SetupError for a script that cannot be read. A folder that cannot be used is reported when it is asked.
    """
    if reference.startswith(SCRIPT_PREFIX):
        return ScriptedProvider.from_file(Path(reference.removeprefix(SCRIPT_PREFIX)).expanduser())
    return MlxProvider(reference or EMBEDDED, options)
