"""The one way out of this process to a served model: the headers of a request are the ones named here (MOD-15).

The vendors' libraries take more out of the environment than a key: names of organisations and projects, headers of any
name and value, and what machine this is. None of that is for an address that was given with `@`.
"""
# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from remit_server.models.remote.patience import Patience
from remit_server.models.remote.reference import RemoteReference

CREDENTIALS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "openai": ("authorization", "Bearer "),
        "anthropic": ("x-api-key", ""),
        "google": ("x-goog-api-key", ""),
        "ollama": ("authorization", "Bearer "),
    }
)
"""The header that a protocol has the key in, and what stands before it."""

_OWN: Mapping[str, Mapping[str, str]] = MappingProxyType({"anthropic": {"anthropic-version": "2023-06-01"}})
"""What a protocol asks of every request besides."""


def http_options(reference: RemoteReference, patience: Patience, key: str | None, library: Any) -> dict[str, Any]:
    """Returns what a client of an HTTP `library`, httpx or httpx2, is made with: it lets out nothing else.

    A proxy of the environment's is for the way out of this machine. No vendor's own HTTP client is used: some take one
    even where they are told not to.
    """
    limits = library.Timeout(connect=patience.connect_s, read=None, write=60.0, pool=patience.connect_s)

    async def send_named_headers(request: Any) -> None:
        request.headers = library.Headers(_headers(request, reference.provider, key))
        if not any(request.extensions.get("timeout", {}).values()):  # Google's library sends requests without any limit
            request.extensions["timeout"] = limits.as_dict()

    return {
        "timeout": limits,
        "trust_env": not reference.is_local,
        "follow_redirects": False,
        "event_hooks": {"request": [send_named_headers], "response": []},
    }


def _headers(request: Any, provider: str, key: str | None) -> dict[str, str]:
    """Returns all headers of a request. No value comes out of what the library wanted to send."""
    headers = {
        "host": request.url.netloc.decode("ascii"),
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "user-agent": "remit",
    }
    if request.content:
        headers |= {"content-type": "application/json", "content-length": str(len(request.content))}
    if key:
        name, before = CREDENTIALS[provider]
        headers[name] = f"{before}{key}"
    return {**headers, **_OWN.get(provider, {})}
