"""Lists the models of this machine: the built-in one, those in the Hugging Face cache, and the configured folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from remit_server.models.built_in.provider import BUILT_IN_MODEL
from remit_server.models.choose import is_on_this_machine, model_folder
from remit_server.models.local.hub.cache import cache_folder, cached_models, hub_name
from remit_server.models.local.hub.model_files import ModelFolder, describe, machine_memory


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model under its `REMIT_MODEL` reference; `fits` says whether this machine's memory holds it."""

    reference: str
    configured: bool
    fits: bool
    model: ModelFolder


def list_models(environment: Mapping[str, str], configured: str) -> tuple[ListedModel, ...]:
    """Returns all models of this machine, usable or not, the built-in one first."""
    memory = machine_memory()
    return tuple(
        ListedModel(reference, reference == configured, model.problem is None and model.memory_bytes <= memory, model)
        for reference, model in _find_folders(environment, configured)
    )


def _find_folders(environment: Mapping[str, str], configured: str) -> Iterator[tuple[str, ModelFolder]]:
    yield BUILT_IN_MODEL, ModelFolder("", "small edits and searches by rules, without a language model")
    seen = {BUILT_IN_MODEL}
    for name, folder in cached_models(cache_folder(environment)):
        seen.add(str(name))
        yield str(name), describe(folder)
    if configured in seen or not is_on_this_machine(configured):
        return
    if hub_name(configured) is not None:
        yield configured, ModelFolder("", problem=f"it was not fetched: `remit model pull {configured}`")
    else:
        yield configured, describe(model_folder(configured))
