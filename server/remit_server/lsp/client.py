"""What the client said of itself in `initialize`, parsed once (002 §4.4; protocol.md §3)."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp
from pygls.capabilities import get_capability
from pygls.uris import to_fs_path

from remit_server.lsp.types import Json

if TYPE_CHECKING:  # the port knows the contract, which is slow to import
    from remit_server.runtime.ports import AskingStyle

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Client:
    """What this client can do and how it wants to be asked.

    `commands` are commands of its own that the server's code actions may name.
    """

    name: str = "unknown"
    asking: AskingStyle = "callback"
    commands: frozenset[str] = frozenset()
    applies_edits: bool = False
    annotates_edits: bool = False
    shows_progress: bool = False
    resolves_commands: bool = False
    tags_generated: bool = False
    shows_documents: bool = False
    hovers_in_markdown: bool = False
    answers_queries: bool = False

    @property
    def draws_results(self) -> bool:
        """Whether the client shows results itself, so that messages would say everything twice."""
        return self.asking == "stream"


def describe_client(params: lsp.InitializeParams) -> Client:
    """The client behind these params. Options it got wrong are logged and taken as not given."""
    told = _options(params.initialization_options)
    has = params.capabilities
    annotations = get_capability(has, "workspace.workspace_edit.change_annotation_support")
    resolvable = get_capability(has, "text_document.code_action.resolve_support.properties") or ()
    tags = get_capability(has, "text_document.code_action.tag_support.value_set") or ()
    hover = get_capability(has, "text_document.hover.content_format") or ()
    return Client(
        name=params.client_info.name if params.client_info else "unknown",
        asking=_asking(told.get("approvals")),
        commands=_commands(told.get("client_commands")),
        applies_edits=bool(get_capability(has, "workspace.apply_edit")),
        annotates_edits=annotations is not None,
        shows_progress=bool(get_capability(has, "window.work_done_progress")),
        resolves_commands="command" in resolvable,
        tags_generated=lsp.CodeActionTag.LlmGenerated in tags,
        shows_documents=bool(get_capability(has, "window.show_document.support")),
        hovers_in_markdown=lsp.MarkupKind.Markdown in hover,
        answers_queries=told.get("editor_query") is True,
    )


def workspace_root(params: lsp.InitializeParams) -> Path | None:
    """The real path of the one workspace folder, or None when the client opened none on this machine."""
    folders = params.workspace_folders or ()
    if len(folders) > 1:
        logger.warning("the client has %d workspace folders; only the first one is used", len(folders))
    uri = folders[0].uri if folders else params.root_uri
    path = to_fs_path(uri) if uri else params.root_path
    return Path(os.path.realpath(path)) if path else None


def _options(raw: Json) -> dict[str, Json]:
    told = cast("dict[str, Json]", raw).get("remit") if isinstance(raw, dict) else None
    if told is None or isinstance(told, dict):
        return cast("dict[str, Json]", told or {})
    logger.warning("initializationOptions.remit is not an object and was ignored")
    return {}


def _asking(raw: Json) -> AskingStyle:
    match raw:
        case None | "message":
            return "callback"
        case "stream":
            return "stream"
        case "never":
            return "never"
        case _:
            logger.warning("initializationOptions.remit.approvals is `stream`, `message` or `never`")
            return "callback"


def _commands(raw: Json) -> frozenset[str]:
    if raw is None:
        return frozenset()
    if not isinstance(raw, list):
        logger.warning("initializationOptions.remit.client_commands is not a list and was ignored")
        return frozenset()
    names: list[Json] = raw  # pyright: ignore[reportUnknownVariableType]  # items of JSON
    return frozenset(name for name in names if isinstance(name, str))
