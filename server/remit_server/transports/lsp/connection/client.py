"""The client's capabilities and options from `initialize`, parsed once (LSP-07)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from lsprotocol import types as lsp
from pygls.capabilities import get_capability

from remit_server.transports.lsp.buffers.edits import Encoding
from remit_server.transports.lsp.buffers.uris import Root, classify_root, local_folder
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from collections.abc import Callable

ClientStyle = Literal["stream", "callback", "never"]
"""How the person is asked: the values of `AskingStyle` that a client can choose."""


@dataclass(frozen=True, slots=True)
class Client:
    """The client's abilities and the way it wants to be asked.

    A client without `takes_code_actions` takes bare commands instead; one without `versions_edits` takes only edits
    that name no document version.

    With `completes_inline` it shows completions at the cursor; with `registers_inline` the server can register these
    after `initialize`.

    `encoding` is the unit of its positions. `trusts_folders` says that the person trusts the folders that they open.
    `commands` are its own commands that the server's code actions may name; `complaints` describe invalid options.
    """

    name: str = "unknown"
    encoding: Encoding = "utf-16"
    asking: ClientStyle = "callback"
    commands: frozenset[str] = frozenset()
    applies_edits: bool = False
    annotates_edits: bool = False
    shows_progress: bool = False
    takes_code_actions: bool = False
    versions_edits: bool = False
    tags_generated: bool = False
    shows_documents: bool = False
    refreshes_lenses: bool = False
    hovers_in_markdown: bool = False
    completes_inline: bool = False
    registers_inline: bool = False
    reads_virtual_documents: bool = False
    watches_files: bool = False
    registers_configuration: bool = False
    has_configuration: bool = False
    answers_queries: bool = False
    trusts_folders: bool = False
    complaints: tuple[str, ...] = ()

    @property
    def draws_results(self) -> bool:
        """Whether the client draws results itself, so that messages would repeat everything."""
        return self.asking == "stream"


def describe_client(params: lsp.InitializeParams) -> Client:
    """Returns the client that these params describe. Invalid options are ignored, and described in `complaints`."""
    given, complaints = read_options(params.initialization_options)
    has = params.capabilities
    annotations = get_capability(has, "workspace.workspace_edit.change_annotation_support")
    tags = get_capability(has, "text_document.code_action.tag_support.value_set") or ()
    hover = get_capability(has, "text_document.hover.content_format") or ()
    return Client(
        name=params.client_info.name if params.client_info else "unknown",
        encoding=_choose_encoding(get_capability(has, "general.position_encodings") or ()),
        asking=_STYLES[given.get("approvals", "message")],
        commands=frozenset(given.get("client_commands", ())),
        applies_edits=bool(get_capability(has, "workspace.apply_edit")),
        annotates_edits=annotations is not None,
        shows_progress=bool(get_capability(has, "window.work_done_progress")),
        takes_code_actions=get_capability(has, "text_document.code_action.code_action_literal_support") is not None,
        versions_edits=_versions_edits(has),
        tags_generated=lsp.CodeActionTag.LlmGenerated in tags,
        shows_documents=bool(get_capability(has, "window.show_document.support")),
        refreshes_lenses=bool(get_capability(has, "workspace.code_lens.refresh_support")),
        reads_virtual_documents=get_capability(has, "workspace.text_document_content") is not None,
        watches_files=_watches_files(has),
        registers_configuration=bool(get_capability(has, "workspace.did_change_configuration.dynamic_registration")),
        has_configuration=bool(get_capability(has, "workspace.configuration")),
        hovers_in_markdown=lsp.MarkupKind.Markdown in hover,
        completes_inline=get_capability(has, "text_document.inline_completion") is not None,
        registers_inline=bool(get_capability(has, "text_document.inline_completion.dynamic_registration")),
        answers_queries=given.get("editor_query", False),
        trusts_folders=given.get("trusted", False),
        complaints=complaints,
    )


def announces_completion(client: Client, environment: Mapping[str, str]) -> bool:
    """Returns whether the answer to `initialize` announces completion at the cursor: only if an environment variable
    switches it on, because no file has been read yet (LSP-12).
    """
    return client.completes_inline and environment.get("REMIT_INLINE_COMPLETION", "").strip().lower() in _ON


def _choose_encoding(offered: Iterable[str]) -> Encoding:
    """Returns UTF-16, which the editor's other servers speak too, or the first known encoding that the client offers if
    it offers others without UTF-16.
    """
    known: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
    mutual: list[Encoding] = [known[each] for each in offered if each in known]
    return mutual[0] if mutual and "utf-16" not in mutual else "utf-16"


def _watches_files(has: lsp.ClientCapabilities) -> bool:
    """Returns whether the client can be asked to watch single files below a folder."""
    registers = get_capability(has, "workspace.did_change_watched_files.dynamic_registration")
    return bool(registers and get_capability(has, "workspace.did_change_watched_files.relative_pattern_support"))


def _versions_edits(has: lsp.ClientCapabilities) -> bool:
    """Returns whether the client takes versioned edits. By LSP, a client that takes file operations takes them too."""
    changes = get_capability(has, "workspace.workspace_edit.document_changes")
    return bool(changes or get_capability(has, "workspace.workspace_edit.resource_operations"))


def workspace_roots(params: lsp.InitializeParams) -> tuple[Root, ...]:
    """Returns the workspace folders in the client's order, or the single root that older clients send instead."""
    if params.workspace_folders:
        return folder_roots(params.workspace_folders)
    if params.root_uri:
        return (classify_root(params.root_uri),)
    return (local_folder(params.root_path, params.root_path),) if params.root_path else ()


def folder_roots(folders: Iterable[lsp.WorkspaceFolder]) -> tuple[Root, ...]:
    """Returns the roots of these folders."""
    return tuple(classify_root(folder.uri) for folder in folders)


_ON = frozenset({"1", "on", "t", "true", "y", "yes"})
_STYLES: dict[str, ClientStyle] = {"message": "callback", "stream": "stream", "never": "never"}


def _is_names(value: Json) -> bool:
    if not isinstance(value, list):
        return False
    names: list[Json] = value  # pyright: ignore[reportUnknownVariableType]  # items of JSON
    return all(isinstance(name, str) for name in names)


OPTIONS: dict[str, tuple[Callable[[Json], bool], str]] = {
    "approvals": (lambda value: isinstance(value, str) and value in _STYLES, "`stream`, `message` or `never`"),
    "client_commands": (_is_names, "a list of names"),
    "trusted": (lambda value: isinstance(value, bool), "true or false"),
    "editor_query": (lambda value: isinstance(value, bool), "true or false"),
}
"""The keys of `initializationOptions.remit`, each with its check and the accepted values in words."""


def read_options(raw: Json) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Returns the valid options, and a sentence for each invalid one."""
    told = cast("dict[str, Json]", raw).get("remit") if isinstance(raw, dict) else None
    if told is None:
        return {}, ()
    if not isinstance(told, dict):
        return {}, ("initializationOptions.remit is not an object and was ignored",)
    options, complaints = dict[str, Json](), list[str]()
    for name, value in cast("dict[str, Json]", told).items():
        if name not in OPTIONS:
            complaints.append(f"initializationOptions.remit has no `{name[:40]}`; it has {', '.join(OPTIONS)}")
        elif value is not None and not OPTIONS[name][0](value):
            complaints.append(f"initializationOptions.remit.{name} was ignored: it has to be {OPTIONS[name][1]}")
        elif value is not None:
            options[name] = value
    return options, tuple(complaints[:8])
