"""The editor as a source of code intelligence, by `remit/editor/query` where it announced that
(docs/editors/protocol.md; LSP-08).

Its answers come from its extensions, and are parsed like all untrusted input.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.rpc.custom_methods import EDITOR_QUERY
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost
from remit_server.workspace.code import Answer, CodeQuery, Unavailable

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

ANSWER_S = 10.0
"""The seconds for an editor's answer: its own language servers may be busy."""

SOURCE = "the editor"


class EditorCode:
    """`CodeIntelligence` of one editor."""

    def __init__(self, connection: Connection, root: Path) -> None:
        self._connection, self._root = connection, root

    @property
    def available(self) -> bool:
        """Whether this client announced that it answers."""
        return self._connection.client.answers_queries

    async def ask(self, query: CodeQuery) -> Answer | Unavailable:
        """Returns the editor's answer, or why there is none: late, disconnected, refused or malformed."""
        from remit_server.tools.code.language_server.wire import parse_answer, question

        try:
            raw = await self._connection.channel.ask(EDITOR_QUERY, question(query, str(self._root)), ANSWER_S)
        except TimeoutError:
            return Unavailable(f"the editor did not answer within {ANSWER_S:.0f} seconds")
        except ConnectionLost:
            return Unavailable("the editor is gone")
        except JsonRpcException as error:
            logger.warning("%s failed: %s", EDITOR_QUERY, error.message)
            return Unavailable("the editor answered with an error")
        return parse_answer(raw, query.kind, SOURCE)
