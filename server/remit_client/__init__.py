"""Remit for Python programs: runs and follows turns and answers their questions, over an own `remit stdio` (TRN-05).

    async with connect("shop") as remit:
        turn = await remit.run("rename total to subtotal in a.py")
        async for event in turn:
            if isinstance(event, ApprovalRequired):
                await remit.approve(event)
        print((await turn.result()).status)

The types of requests, events and results are those of `remit_server.contract`.
"""

from __future__ import annotations

from remit_client.client import Remit, RemitProcessEnded, RemitRefused, Turn, connect
from remit_server.contract import ApprovalRequired, RunRequest, RunResult

__all__ = [
    "ApprovalRequired",
    "Remit",
    "RemitProcessEnded",
    "RemitRefused",
    "RunRequest",
    "RunResult",
    "Turn",
    "connect",
]
