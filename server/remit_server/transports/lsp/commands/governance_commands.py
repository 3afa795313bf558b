"""Commands that return decisions, and the rules that made them, as JSON for an editor's views (LSP-11)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_governance.audit.reading.query import AuditFilter
from remit_governance.policy.language.compile import Source
from remit_governance.policy.review.replay import LAST
from remit_server.runtime.audit.audit_service import list_calls
from remit_server.runtime.policy.past_calls import CALLS, count_rules, preview, replay_payload
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.buffers.own_files import call_in_thread, kind_of
from remit_server.transports.lsp.commands.command_params import Asked, read_asked, wrong_arguments
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

KEYS = "decision?, tool?, rule?, session?, limit?, "
MOST = 5_000
SHOWN = 200
"""How many calls are listed by default."""


async def query_audit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.audit.query [{decision?, tool?, rule?, session?, limit?, …}]`.

    The value lists the last calls that match, newest first: each is the record made before the call ran, with `failed`
    and `came_to` once the call has ended.
    """
    asked = read_asked(connection, params, KEYS)
    wanted = AuditFilter(
        policy_decision=asked.text("decision"),
        tool_name=asked.text("tool"),
        policy_rule_name=asked.text("rule"),
        session_id=asked.text("session"),
        limit=_count(asked, "limit", SHOWN),
    )
    settings = _settings(connection, asked)
    if not settings.audit_database.exists():
        return []
    return [*await asyncio.to_thread(list_calls, settings.audit_database, wanted)]


async def list_rules(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.policy.rules [{last?, …}]`. The value has each rule with its place, how often it decided in the last
    calls, and the reason if it never can decide."""
    asked = read_asked(connection, params, "last?, ")
    settings = _settings(connection, asked)
    return (await asyncio.to_thread(count_rules, settings, _count(asked, "last", CALLS))).json


async def preview_policy(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.policy.preview [{uri, last?, …}]`: judges the last calls by the text of an open policy file, saved or
    not (EDI-12). The value has the calls whose decision would differ."""
    asked = read_asked(connection, params, "last?, ")
    settings = _settings(connection, asked)
    text = _open_policy(connection, asked, settings)
    last = _count(asked, "last", LAST)
    return replay_payload(await call_in_thread(lambda: preview(settings, text, last)))


def _open_policy(connection: Connection, asked: Asked, settings: Settings) -> Source:
    buffer = connection.own_files.at(asked.need("uri"))
    kind = kind_of(buffer.path, settings) if buffer is not None else None
    if buffer is None or kind is None or kind == "default":
        raise wrong_arguments(asked.params, "`uri` names no open policy file, yours or the folder's", asked.shape)
    return Source(str(buffer.path), buffer.text, project=kind == "project")


def _settings(connection: Connection, asked: Asked) -> Settings:
    return Settings.of_places(connection.folders.named(asked.about.folder).root)


def _count(asked: Asked, key: str, standard: int) -> int:
    count = asked.number(key)
    if count is None:
        return standard
    if not 1 <= count <= MOST:
        raise wrong_arguments(asked.params, f"`{key}` is not between 1 and {MOST}", asked.shape)
    return count
