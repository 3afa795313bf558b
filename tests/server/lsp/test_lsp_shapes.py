"""The shape of a message is checked against the type that it is read as (LSP-02)."""

from __future__ import annotations

import json

from lsprotocol import types as lsp
from malformed import lsp_methods
from rows import rows

from remit_server import contract
from remit_server.transports.lsp.methods import FEATURES
from remit_server.transports.lsp.rpc.custom_methods import CUSTOM, converter
from remit_server.transports.lsp.rpc.shapes import mismatch

METHODS = lsp_methods()
CHANGE = lsp.DidChangeTextDocumentNotification
NOWHERE = {"uri": "file:///a", "version": 1}


def said(message, params):
    found = mismatch({"params": params}, message, "params")
    return None if found is None else str(found)


def test_LSP_04_every_custom_method_has_a_handler_and_its_content_is_in_the_contract():
    assert set(CUSTOM) <= set(FEATURES)
    assert all(row.content is None or hasattr(contract, row.content) for row in CUSTOM.values())


@rows("method", sorted(lsp.METHOD_TO_TYPES))
def test_a_valid_message_of_every_method_fits_and_is_converted(method):
    envelope, _ = METHODS[method]
    message = lsp.METHOD_TO_TYPES[method][0]
    assert mismatch(envelope, message, "params") is None
    if method not in CUSTOM:
        converter().structure(json.loads(json.dumps(envelope)), message)


@rows(
    ("params", "problem"),
    [
        (7, "`params` is not an object"),
        ({}, "`textDocument` is missing"),
        ({"textDocument": 7}, "`textDocument` is not an object"),
        ({"textDocument": {"uri": 7, "version": 1}}, "`textDocument.uri` is not a string"),
        ({"textDocument": {"uri": "", "version": True}}, "`textDocument.version` is not a whole number"),
        ({"textDocument": {"uri": "", "version": 2**31}}, "`textDocument.version` is out of range"),
        ({"textDocument": NOWHERE, "contentChanges": "A" * 100}, "`contentChanges` is not a list"),
        ({"textDocument": NOWHERE, "contentChanges": [{"text": ""}, "A"]}, "`contentChanges[1]` has the wrong kind"),
        ({"textDocument": NOWHERE, "contentChanges": [{"text": ""}]}, None),
        ({"textDocument": NOWHERE | {"version": 1.0, "more": [7]}, "contentChanges": []}, None),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(params, problem):
    assert said(CHANGE, params) == problem


def test_a_missing_member_and_one_that_no_type_has():
    assert str(mismatch({}, CHANGE, "params")) == "`params` is missing"
    assert mismatch({"params": 7}, CHANGE, "result") is None


def test_what_some_editors_send_for_nothing_and_for_yes():
    """Lua writes an empty list and an empty object alike, and older editors know only 0 and 1."""
    capabilities = {"workspace": {"applyEdit": 1, "symbol": []}, "window": None}
    assert said(lsp.InitializeRequest, {"processId": None, "rootUri": None, "capabilities": capabilities}) is None


def test_a_key_of_the_sender_is_not_repeated():
    edit = {"edit": {"changes": {"sk-live-0123456789": 7}}}
    assert said(lsp.ApplyWorkspaceEditRequest, edit) == "`edit.changes[…]` is not a list"
