"""The standard path with another client: pytest-lsp with the capabilities of real editors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from messages import SAYS
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def factory() -> LanguageClient:
    client = make_test_lsp_client()

    @client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(client: LanguageClient, params: lsp.ShowMessageRequestParams):
        return params.actions[0]

    @client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(client: LanguageClient, params: None):
        return None

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(client: LanguageClient, params: lsp.RegistrationParams):
        return None

    @client.feature(lsp.CLIENT_UNREGISTER_CAPABILITY)
    def unregister(client: LanguageClient, params: lsp.UnregistrationParams):
        return None

    @client.feature(lsp.WORKSPACE_APPLY_EDIT)
    def apply(client: LanguageClient, params: lsp.ApplyWorkspaceEditParams):
        (change,) = params.edit.document_changes
        document = lsp.VersionedTextDocumentIdentifier(version=2, uri=change.text_document.uri)
        (edit,) = change.edits
        changed = lsp.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [changed]))
        return lsp.ApplyWorkspaceEditResult(applied=True)

    return client


@pytest_lsp.fixture(
    scope="module",
    params=["neovim", "visual_studio_code", "emacs"],
    config=ClientServerConfig(
        server_command=[sys.executable, str(Path(__file__).with_name("stand_in.py"))], client_factory=factory
    ),
)
async def client(request, lsp_client: LanguageClient, tmp_path_factory):
    lsp_client.root = tmp_path_factory.mktemp("work")
    params = lsp.InitializeParams(capabilities=client_capabilities(request.param), root_uri=lsp_client.root.as_uri())
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


async def test_a_governed_edit_by_command(client: LanguageClient):
    uri = (client.root / "cart.py").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, "total\n")))
    params = lsp.ExecuteCommandParams(command="remit.edit", arguments=["edit cart.py", uri])
    result = await client.workspace_execute_command_async(params)
    assert result["final_output"] == "edited"
    assert client.messages[-1].message == "edited"


async def test_an_approval_by_message(client: LanguageClient):
    params = lsp.ExecuteCommandParams(command="remit.ask", arguments=["ask"])
    assert (await client.workspace_execute_command_async(params))["status"] == "completed"
    assert (client.root / "target.txt").read_text() == "new\n"


async def test_code_actions(client: LanguageClient):
    uri = (client.root / "b.py").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, "total\n")))
    start = lsp.Position(0, 2)
    params = lsp.CodeActionParams(
        lsp.TextDocumentIdentifier(uri), lsp.Range(start, start), lsp.CodeActionContext(diagnostics=[])
    )
    action, *_ = await client.text_document_code_action_async(params)
    assert action.title == SAYS.explain_with_remit
    # lsprotocol parses an action with a command as a bare command; test_lsp_code_actions.py checks the raw message.
    assert "remit.ask" in str(action.command)
