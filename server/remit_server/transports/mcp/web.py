"""MCP over HTTP, at `/mcp`: by sessions in the older era, by single requests in the newer one (TRN-25)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from remit_server.transports.mcp.clients import KEPT_CLIENTS
from remit_server.transports.mcp.lines import MOST_BYTES, Bounded

PATH = "/mcp"


@asynccontextmanager
async def open_app(server: Server[Any]) -> AsyncGenerator[ASGIApp]:
    """Yields the application. The guard in front of it decides which requests may come in."""
    manager = StreamableHTTPSessionManager(server, max_request_body_size=MOST_BYTES, max_sessions=KEPT_CLIENTS)
    async with manager.run():
        yield Bounded(Starlette(routes=[Route(PATH, StreamableHTTPASGIApp(manager))]))
