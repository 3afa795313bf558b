"""Makes the provider of a served model; its library is imported with the first request (MOD-11)."""

from __future__ import annotations

import os
from collections.abc import Callable

from remit_server.errors import ModelUnavailable, SetupError
from remit_server.models.profile import chosen_profile
from remit_server.models.remote.ask import Client
from remit_server.models.remote.engines import ENGINES, PROVIDERS, RemoteReference
from remit_server.models.remote.keys import find_key
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider


def open_remote(reference: RemoteReference, redact: Callable[[str], str]) -> RemoteProvider:
    """Returns the provider. Raises SetupError if `REMIT_ENGINE` names no row, or `REMIT_PROFILE` no profile."""
    chosen = os.environ.get("REMIT_ENGINE") or None
    if chosen is not None and chosen not in ENGINES:
        fix = f"set one of {', '.join(ENGINES)}, or unset it"
        raise SetupError(f"cannot use REMIT_ENGINE=`{chosen}`", "no engine has this name", fix)
    return RemoteProvider(reference, make_client, redact, engine=chosen, profile=chosen_profile(os.environ))


def make_client(reference: RemoteReference, patience: Patience) -> Client:
    """Makes a client; called on another thread. Raises ModelUnavailable if a key is missing."""
    provider = PROVIDERS[reference.provider]
    try:
        key = find_key(reference, os.environ)
    except SetupError as error:
        raise ModelUnavailable(error.what, error.why, error.fix) from error
    if key is None and reference.endpoint is None and provider.key_variables:
        # Without a key the service would receive the conversation and then refuse it.
        fix = f"store one with `remit auth set {reference.provider}`, or set {provider.key_variables[0]}"
        raise ModelUnavailable(f"`{reference.host}` cannot be asked", "there is no key for it", fix)
    return _client_of(reference.provider)(reference, patience, key)


def _client_of(provider: str) -> Callable[[RemoteReference, Patience, str | None], Client]:
    """Imports and returns the client class of a provider's protocol."""
    match provider:
        case "anthropic":
            from remit_server.models.remote.clients.anthropic_client import AnthropicClient

            return AnthropicClient
        case "google":
            from remit_server.models.remote.clients.google_client import GoogleClient

            return GoogleClient
        case "ollama":
            from remit_server.models.remote.clients.ollama_client import OllamaClient

            return OllamaClient
        case _:
            from remit_server.models.remote.clients.openai_client import OpenAIClient

            return OpenAIClient
