"""What a client does not announce is never sent to it: every message of the server, with every such client (LSP-07)."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from lsprotocol import types as lsp
from messages import SAYS

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

NEEDS: dict[str, tuple[str, ...]] = {
    "workspace/applyEdit": ("workspace", "applyEdit"),
    "workspace/codeLens/refresh": ("workspace", "codeLens", "refreshSupport"),
    "window/showDocument": ("window", "showDocument", "support"),
    "window/workDoneProgress/create": ("window", "workDoneProgress"),
    "client/registerCapability": ("textDocument", "inlineCompletion", "dynamicRegistration"),
    "remit/editor/query": ("remit", "editor_query"),
}
"""The server's requests, each with the capability that announces it; the last one is an option of Remit's own."""
ONLY_AFTER = {
    "client/unregisterCapability": "client/registerCapability",
    "workspace/textDocumentContent/refresh": "workspace/textDocumentContent",
    "workspace/configuration": "workspace/configuration",
}
"""Requests that follow only after something that these clients do not do."""
ALWAYS = {
    *("window/showMessage", "window/showMessageRequest", "textDocument/publishDiagnostics"),
    *("window/logMessage", "$/progress"),
}
"""What a server may send to any client; `$/progress` only for a token that the client gave or created."""
EVERY = tuple(NEEDS)
MATRIX = [(), EVERY, *((one,) for one in EVERY), *(tuple(other for other in EVERY if other != one) for one in EVERY)]
"""No request, all, each alone, and all but each."""


def announce(methods: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the capabilities and the options of a client that accepts these requests."""
    announced: dict[str, Any] = {}
    for method in methods:
        *path, last = NEEDS[method]
        within = announced
        for key in path:
            within = within.setdefault(key, {})
        within[last] = True
    options = announced.pop("remit", {})
    return announced, options


async def work(client: Any, announced: Collection[str]) -> None:
    """Does everything that makes the server send each of its requests, if the client announced it."""
    capabilities, options = announce(announced)
    await client.initialize(capabilities, options)
    uri = client.open("a.py", "total = 1\n")

    def apply(_: Any) -> Any:
        client.change(uri, 2, {"text": "total = 2\n"})
        return {"applied": True}

    client.handlers["workspace/applyEdit"] = apply
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    client.handlers["window/showDocument"] = lambda _: {"success": True}
    client.handlers["remit/editor/query"] = lambda _: {"items": [], "total": 0}
    for quiet in ("workspace/codeLens/refresh", "window/workDoneProgress/create", "client/registerCapability"):
        client.handlers[quiet] = lambda _: None
    await client.result("workspace/executeCommand", {"command": "remit.ask", "arguments": ["go"]})
    rule = {"command": "remit.policy.open", "arguments": [{"rule": "mine"}]}
    await client.result("workspace/executeCommand", rule)
    await client.until(lambda: set(announced) <= {one["method"] for one in client.asked})


@pytest.mark.parametrize("announced", MATRIX, ids=lambda each: f"{len(each)}")
async def test_LSP_07_what_is_not_announced_is_never_sent(
    start_real: Any, tmp_path: Path, announced: tuple[str, ...]
) -> None:
    (tmp_path / "work" / "a.py").write_text("total = 1\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(
        "version: 1\ncapabilities:\n"
        '  - { name: mine, match: { syscall: fs.read, path_glob: ["**"] }, action: allow }\n'
        '  - { name: asked, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }\n'
    )
    (tmp_path / "config" / "config.yaml").write_text("completion: { enabled: true }\n")
    edit = call("edit_file", path="a.py", old_text="= 1", new_text="= 2")
    steps = [
        {"calls": [intent("READ_FILE"), call("get_diagnostics", path="a.py")]},
        {"calls": [intent("CODE"), edit]},
        {"text": "Done."},
    ]
    (tmp_path / "script.json").write_text(json.dumps(steps))
    client = await start_real()
    await work(client, announced)
    asked = {one["method"] for one in client.asked} - ALWAYS
    assert asked == set(announced)
    assert {one["method"] for one in client.notifications} <= ALWAYS
    created = {one["params"]["token"] for one in client.asked if one["method"] == "window/workDoneProgress/create"}
    assert {one["params"]["token"] for one in client.notifications if one["method"] == "$/progress"} <= created


async def test_LSP_07_a_client_without_questions_is_not_said_to_have_answered_one(
    start_real: Any, tmp_path: Path
) -> None:
    """Kate is such a client, and answers that it does not know the method; the reason must not say that the person said no."""
    (tmp_path / "script.json").write_text(
        json.dumps([{"calls": [intent("CODE"), call("write_file", path="b.txt", content="b\n")]}, {"text": "Done."}])
    )
    client = await start_real()
    await client.initialize()
    result = await client.result("workspace/executeCommand", {"command": "remit.ask", "arguments": ["go"]})
    assert result["status"] == "denied"
    assert SAYS.shows_no_message_with_answers in result["reason"]
    assert "the person" not in result["reason"]
    assert not (tmp_path / "work" / "b.txt").exists()


async def test_LSP_07_the_matrix_has_every_request_of_the_servers() -> None:
    """If the server learns to send another message, the message needs a row here."""
    source = Path(__file__).parents[3] / "server/remit_server/transports/lsp"
    text = "\n".join(path.read_text() for path in source.rglob("*.py"))
    requests = {
        value
        for name, value in vars(lsp).items()
        if name.isupper() and isinstance(value, str) and f"lsp.{name}" in text and value in lsp.METHOD_TO_TYPES
    }
    from_server = {one for one in requests if lsp.message_direction(one) in {"serverToClient", "both"}}
    assert from_server - {"$/cancelRequest"} <= {*NEEDS, *ONLY_AFTER, *ALWAYS}
    assert from_server >= {*NEEDS} - {"remit/editor/query"}
