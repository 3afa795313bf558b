"""Asks a server on this machine's loopback for one JSON value (MOD-26)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from http.client import HTTPConnection, HTTPException

from pydantic import JsonValue

from remit_server.json_bounds import has_too_many_values

HOST = "127.0.0.1"
WAIT_S = 2.0
MOST_BYTES = 4 << 20

Fetch = Callable[[int, str, Mapping[str, JsonValue] | None], Awaitable[JsonValue]]
"""Takes a port, a path and a body to post; None is no JSON answer, an empty text one without a body. A redirect is no
answer: it could lead away."""


async def fetch(port: int, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
    """Returns what a server says, as `Fetch` has it; None where nobody answers within `WAIT_S` seconds too."""
    return await asyncio.to_thread(_fetch, port, path, body)


def _fetch(port: int, path: str, body: Mapping[str, JsonValue] | None) -> JsonValue:
    connection = HTTPConnection(HOST, port, timeout=WAIT_S)
    try:
        if body is None:
            connection.request("GET", path, headers={"accept": "application/json"})
        else:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        data = answer.read(MOST_BYTES + 1) if answer.status == 200 else None
        if data is None or len(data) > MOST_BYTES or has_too_many_values(data):
            return None
        said: JsonValue = json.loads(data) if data else ""
        return said
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
