"""The only way from this process to a served model and back: known headers, a bounded answer (MOD-13, MOD-15).

The vendors' libraries take more from the environment than a key: names of organisations and projects, headers of any
name and value, and a description of this machine. None of that may reach an address that was given with `@`.

The libraries also accept an answer of any size, and hold each event whole. So bytes are counted before a library sees
them.
"""
# pyright: basic

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any

from remit_governance.secrets.cutting import shorten
from remit_server.errors import ModelFailed
from remit_server.models.remote.engines import RemoteReference
from remit_server.models.remote.patience import Patience

MOST_ANSWER_BYTES = 32 * 1024 * 1024
"""The most bytes of one answer. A token takes some 300 if each comes as an event, so no model writes as much."""
MOST_EVENT_BYTES = 4 * 1024 * 1024
"""The most bytes of one event, which the libraries keep until it ends. The largest event is a whole call."""
MOST_LINES = 1_000_000
"""The most lines of one answer, because each line takes a library time."""

_END_OF_LINE, _BLANK_LINE = re.compile(rb"\n"), re.compile(rb"\n\r?\n|\r\r")

CREDENTIALS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "openai": ("authorization", "Bearer "),
        "anthropic": ("x-api-key", ""),
        "google": ("x-goog-api-key", ""),
        "ollama": ("authorization", "Bearer "),
    }
)
"""The header that carries the key in a protocol, and the text before the key in it."""

_OWN: Mapping[str, Mapping[str, str]] = MappingProxyType({"anthropic": {"anthropic-version": "2023-06-01"}})
"""Further headers that a protocol requires in every request."""


def http_options(reference: RemoteReference, patience: Patience, key: str | None, library: Any) -> dict[str, Any]:
    """Returns the options of a client of an HTTP `library`, httpx or httpx2, that sends only what is named here.

    A proxy from the environment is used only for other machines. No vendor's own HTTP client is used, because some use
    a proxy even if they are told not to.
    """
    limits = library.Timeout(connect=patience.connect_s, read=None, write=60.0, pool=patience.connect_s)

    async def send_named_headers(request: Any) -> None:
        request.headers = library.Headers(_headers(request, reference.provider, key))
        if not any(request.extensions.get("timeout", {}).values()):  # Google's library sends requests without any limit
            request.extensions["timeout"] = limits.as_dict()

    async def count_bytes(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        end = _END_OF_LINE if reference.provider == "ollama" else _BLANK_LINE
        response.stream = _counted(response.stream, encoding, end, reference.host, library)

    return {
        "timeout": limits,
        "trust_env": not reference.is_local,
        "follow_redirects": False,
        "event_hooks": {"request": [send_named_headers], "response": [count_bytes]},
    }


def _counted(stream: Any, encoding: str, end: re.Pattern[bytes], host: str, library: Any) -> Any:
    """Returns the stream of an answer, which raises ModelFailed if too much comes. Events end with `end`."""

    class Counted(library.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if encoding.strip().lower() not in {"", "identity"}:
                raise _refused(host, f"it is compressed (`{shorten(encoding, 40)}`), which Remit did not ask for")
            total = event = lines = 0
            before = b""
            async for data in stream:
                total, lines = total + len(data), lines + data.count(b"\n")
                near = before + data
                ends = [found.end() for found in end.finditer(near)]
                event, before = len(near) - ends[-1] if ends else event + len(data), near[-3:]
                if total > MOST_ANSWER_BYTES:
                    raise _refused(host, f"it is longer than {MOST_ANSWER_BYTES:,} bytes")
                if lines > MOST_LINES:
                    raise _refused(host, f"it has more than {MOST_LINES:,} lines")
                if event > MOST_EVENT_BYTES:
                    raise _refused(host, f"an event of it is longer than {MOST_EVENT_BYTES:,} bytes")
                yield data

        async def aclose(self) -> None:
            await stream.aclose()

    return Counted()


def _refused(host: str, why: str) -> ModelFailed:
    fix = "check that this is the right server, and see what its log says"
    return ModelFailed(f"the answer of `{host}` was not read to its end", why, fix)


def _headers(request: Any, provider: str, key: str | None) -> dict[str, str]:
    """Returns all headers of a request. No value is taken from the headers that the library wanted to send."""
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
