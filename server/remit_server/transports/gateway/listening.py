"""Looks whether a server of this machine that serves the model is there, without asking it anything (GW-01)."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from remit_server.models.remote.reference import parse_reference
from remit_server.models.remote.stages import PROVIDERS

_PATIENCE_S = 2.0
_PORTS = {"http": 80, "https": 443}


async def nobody_listens(reference: str) -> str | None:
    """Returns that nothing listens where the model is served on this machine; None where something does, or it is
    served elsewhere: what lies between is found out by the first message."""
    remote = parse_reference(reference)
    if remote is None or not remote.is_local:
        return None
    where = urlsplit(remote.endpoint or PROVIDERS[remote.provider].endpoint)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(where.hostname, where.port or _PORTS[where.scheme])
        writer.close()
    except (OSError, TimeoutError):
        return f"nothing listens at {where.netloc}; start the server, or name another model with `--model`"
    return None
