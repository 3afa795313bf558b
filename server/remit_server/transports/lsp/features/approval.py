"""`remit/approval/respond`: the answer of a client that draws its own questions (LSP-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import APPROVAL_RESPOND, GivenParams, Json
from remit_server.transports.lsp.rpc.refusals import read_form

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def respond(connection: Connection, params: GivenParams) -> Json:
    """Takes an answer, and returns an ApprovalReceipt as JSON: a late or repeated one is not accepted."""
    from remit_server.contract import ApprovalAnswer, ApprovalReceipt

    answer = read_form(APPROVAL_RESPOND, ApprovalAnswer, params.given)
    runtimes = connection.opened_runtimes
    # The runtime that asked; a question of none is refused and recorded by the first.
    runtime = next((each for each in runtimes if each.asked(answer.approval_id)), runtimes[0] if runtimes else None)
    receipt = runtime.answer(answer) if runtime else ApprovalReceipt(accepted=False, reason="no turn is running")
    return receipt.model_dump(mode="json")
