"""Which provider a model reference means (MOD-01)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from remit_governance.secrets.redaction import Redactor
from remit_server.models.local.hub.cache import cache_folder
from remit_server.models.local.hub.names import hub_name
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.provider import EMBEDDED, MlxProvider, absolute
from remit_server.models.local.pulled import PulledProvider, pulled_folder
from remit_server.models.ports import ModelProvider
from remit_server.models.recorded.replay import ReplayProvider
from remit_server.models.recorded.scripted import ScriptedProvider

SCRIPT_PREFIX = "script:"
REPLAY_PREFIX = "replay:"
TIMED_REPLAY_PREFIX = "replay-timed:"
PLAYED = (SCRIPT_PREFIX, REPLAY_PREFIX, TIMED_REPLAY_PREFIX)
"""References of files that are played: no model is behind them."""


def choose_provider(
    reference: str, redact: Callable[[str], str] | None = None, options: EngineOptions | None = None
) -> ModelProvider:
    """Returns the provider of a reference; nothing is loaded yet, and nothing is ever fetched.

    `embedded`, a model folder (`/…`, `./…`, `~/…` or a bare name), `org/name` for a model that was pulled,
    `script:FILE.json`, or `replay:FILE` and with the recorded pauses `replay-timed:FILE`. `redact` is what a recording
    was redacted with. Raises SetupError for a file that cannot be played. A model that cannot be used is reported when
    it is asked.
    """
    for prefix in PLAYED:
        if reference.startswith(prefix):
            return _open_played(prefix, Path(reference.removeprefix(prefix)).expanduser(), redact or redact_text)
    if (name := hub_name(reference)) is not None:
        return PulledProvider(name, cache_folder(os.environ), options)
    return MlxProvider(reference or EMBEDDED, options)


def model_place(reference: str) -> str:
    """What a model process loads for a reference that is not played: `embedded`, or an absolute folder.

    Raises ModelUnavailable where a model of the hub was not pulled.
    """
    if (name := hub_name(reference)) is not None:
        return str(pulled_folder(name, cache_folder(os.environ)))
    return absolute(reference or EMBEDDED)


def redact_text(text: str) -> str:
    """Text without what always is a secret."""
    return Redactor().redact(text).text


def _open_played(prefix: str, file: Path, redact: Callable[[str], str]) -> ModelProvider:
    if prefix == SCRIPT_PREFIX:
        return ScriptedProvider.from_file(file)
    return ReplayProvider.from_file(file, redact, timed=prefix == TIMED_REPLAY_PREFIX)
