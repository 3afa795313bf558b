"""Corrects known editors' deviations from the protocol before messages are checked (LSP-02; LSP-06). Pure."""

from __future__ import annotations

from typing import Any, cast

from lsprotocol import types as lsp

_Json = dict[str, Any]


def mend_envelope(method: str, envelope: _Json) -> _Json:
    """Returns the message in the protocol's form; any other error is left for the check."""
    if method == lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS:
        return _without_empty_folders(envelope)
    return envelope


def _without_empty_folders(envelope: _Json) -> _Json:
    """Removes empty folders: Neovim 0.7 sends no added or removed folders as a list of one empty object or list."""
    params = envelope.get("params")
    event = cast("_Json", params).get("event") if isinstance(params, dict) else None
    if not isinstance(event, dict):
        return envelope
    mended = {key: _without_empty(value) for key, value in cast("_Json", event).items()}
    return {**envelope, "params": {**cast("_Json", params), "event": mended}}


def _without_empty(value: object) -> object:
    return [each for each in cast("list[object]", value) if each not in ({}, [])] if isinstance(value, list) else value
