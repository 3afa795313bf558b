"""Chooses the provider that a model reference names (MOD-01). Besides the built-in provider, only the named one is
imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from remit_governance.secrets.redaction import Redactor
from remit_server.errors import ModelUnavailable
from remit_server.models.built_in.provider import BUILT_IN_MODEL, BuiltInProvider
from remit_server.models.local.hub.cache import cache_folder, hub_name
from remit_server.models.local.options import EngineOptions
from remit_server.models.ports import ModelProvider
from remit_server.models.profile import chosen_profile
from remit_server.models.remote.engines import parse_reference

Redact: TypeAlias = Callable[[str], str]


def choose_provider(
    reference: str, redact: Redact | None = None, options: EngineOptions | None = None
) -> ModelProvider:
    """Returns the provider of a reference; nothing is loaded yet, and nothing is ever downloaded.

    References are `built-in`, a model folder (`/…`, `./…`, `~/…` or a bare name), `org/name` of a pulled model,
    `PROVIDER:MODEL` or `PROVIDER:MODEL@URL` of a served one, `script:FILE.json`, `replay:FILE`, and `replay-timed:FILE`
    for the recorded pauses. `redact` is the redaction that a recording was made with, and that is applied to everything
    sent to a server. Raises SetupError for a file that cannot be played, and for a malformed address. An unusable model
    is reported by its first request.
    """
    for prefix, open_rest in BY_PREFIX.items():
        if reference.startswith(prefix):
            return open_rest(reference.removeprefix(prefix), redact or redact_text)
    if (remote := parse_reference(reference)) is not None:
        from remit_server.models.remote.choose import open_remote

        return open_remote(remote, redact or redact_text)
    if is_built_in(reference):
        return BuiltInProvider()
    return _open_local(reference, replace(options or EngineOptions(), profile=chosen_profile(os.environ)))


def is_built_in(reference: str) -> bool:
    """Returns whether a reference names the built-in model, as an empty one does."""
    return reference in {"", BUILT_IN_MODEL}


def is_on_this_machine(reference: str) -> bool:
    """Returns whether Remit itself loads what a reference names: it is neither played from a file nor served."""
    return not reference.startswith(PREFIXES) and parse_reference(reference) is None


def model_folder(reference: str) -> Path:
    """Returns the absolute folder that a model process loads for a reference.

    Raises ModelUnavailable if a model of the hub was not pulled, and for a bare name that no folder has.
    """
    if (name := hub_name(reference)) is not None:
        from remit_server.models.local.hub.model_files import pulled_folder

        return pulled_folder(name, cache_folder(os.environ))
    folder = Path(reference).expanduser().absolute()
    if _is_bare(reference) and not folder.is_dir():
        raise _no_folder(reference)
    return folder


_OWN_SERVICES: Mapping[str, str] = MappingProxyType({"gpt": "openai", "claude": "anthropic", "gemini": "google"})
"""How the models of a hosted service begin, and the service."""


def _is_bare(reference: str) -> bool:
    """Returns whether a reference is a word that may name a served model as well as a folder."""
    return not reference.startswith((".", "~")) and "/" not in reference


def _no_folder(name: str) -> ModelUnavailable:
    own = next((service for begins, service in _OWN_SERVICES.items() if name.lower().startswith(begins)), None)
    ways = [f"`{own}:{name}` of the service"] if own is not None else []
    ways += [f"`ollama:{name}`", f"`openai:{name}@http://127.0.0.1:8080/v1` of a server of yours"]
    return ModelUnavailable(
        f"there is no model `{name}` here",
        "no folder has this name, and a served model is named together with who serves it",
        f"write {', '.join(ways[:-1])} or {ways[-1]}; `remit model list` has those that you can use",
    )


def redact_text(text: str) -> str:
    """Returns the text without the secrets that are redacted under every policy."""
    return Redactor().redact(text)


def _open_local(reference: str, options: EngineOptions) -> ModelProvider:
    from remit_server.models.local.provider import MlxProvider

    find = partial(model_folder, reference) if _is_bare(reference) or hub_name(reference) is not None else None
    return MlxProvider(reference, options, find=find)


def _open_script(file: str, redact: Redact) -> ModelProvider:
    from remit_server.models.recorded.scripted import ScriptedProvider

    del redact
    return ScriptedProvider.from_file(Path(file).expanduser())


def _open_recording(file: str, redact: Redact, *, timed: bool = False) -> ModelProvider:
    from remit_server.models.recorded.replay import ReplayProvider

    return ReplayProvider.from_file(Path(file).expanduser(), redact, timed=timed)


BY_PREFIX: Mapping[str, Callable[[str, Redact], ModelProvider]] = MappingProxyType(
    {
        "script:": _open_script,
        "replay:": _open_recording,
        "replay-timed:": partial(_open_recording, timed=True),
    }
)
"""The functions that open the rest of a reference, by its prefix. These models take no memory and ask no server."""

PREFIXES = tuple(BY_PREFIX)
