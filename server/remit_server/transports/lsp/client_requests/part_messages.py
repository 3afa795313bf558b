"""Asks for each part of a change by a message of its own: what a client can do that draws nothing itself (LSP-09)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

from remit_governance.secrets.redaction import truncate
from remit_governance.visible import visible_again
from remit_server.harness.approval.shown_parts import Part, part_text, parts_of

if TYPE_CHECKING:
    from remit_server.contract import ApprovalRequired

CHOOSE = "Choose parts…"
TAKE, LEAVE, REST = "Take it", "Leave it out", "Accept this and the rest"
DENY = "Deny"

Ask: TypeAlias = Callable[[str, Collection[str]], Awaitable[str | None]]
"""Shows a text with these buttons; returns the chosen one, None where there was none."""


async def choose_parts(question: ApprovalRequired, ask: Ask, limit: int) -> Mapping[Part, str | None] | None:
    """Returns the parts that are left out, after one message of at most `limit` characters for each part; None for a
    no."""
    left_out = dict[Part, str | None]()
    parts = parts_of(question)
    for number, part in enumerate(parts, 1):
        text = f"Remit asks, part {number} of {len(parts)} of: {visible_again(question.title, 'show')}\n"
        match await ask(truncate(text + describe_part(question, part), limit), [TAKE, LEAVE, REST, DENY]):
            case "Take it":
                continue
            case "Leave it out":
                left_out[part] = None
            case "Accept this and the rest":
                break
            case _:
                return None
    return left_out


def describe_part(question: ApprovalRequired, part: Part) -> str:
    """Returns a part as a person reads it."""
    return f"{visible_again(part.path, 'show')}\n{visible_again(part_text(question, part))}"
