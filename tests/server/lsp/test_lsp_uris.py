"""The place of a workspace folder by its URI, and what a person is told if it is not on this machine (LSP-04)."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows import rows

from remit_server.transports.lsp.buffers.uris import LocalFolder, NotHere, classify_root


@rows(
    ("uri", "path"),
    [
        ("file:///home/me/project", "/home/me/project"),
        ("FILE:///home/me", "/home/me"),
        ("file:/home/me", "/home/me"),
        ("file://localhost/home/me", "/home/me"),
        ("file:///a%20b/%C3%BC/c%23d", "/a b/ü/c#d"),
        ("file:///a;b/c", "/a;b/c"),
        ("file:///a?query#part", "/a"),
        ("file:///not%ffutf8", "/not\udcffutf8"),
        ("file:///", "/"),
    ],
)
def test_a_folder_on_this_machine(uri, path):
    assert classify_root(uri) == LocalFolder(Path(path))


@rows(
    ("uri", "why", "fix"),
    [
        ("untitled:Untitled-1", "has not been saved", "save it into a folder"),
        ("vscode-remote://ssh-remote%2Bbox/home/me", "at the other end of the editor's connection", "in the window that is connected"),
        ("vscode-vfs://github/owner/name", "without a copy on a disk", "clone the repository"),
        ("file://fileserver/share/project", "on another machine, `fileserver`", "mount it"),
        ("http://example.org/x", "`http:` names no file", "open a folder on this machine"),
        ("file:relative", "not one of this machine", "file:///PATH"),
        ("file:///a%00b", "not one of this machine", "file:///PATH"),
        ("file:///a\ud800", "not one of this machine", "file:///PATH"),
        ("file://[/x", "on another machine", "mount it"),
        ("/home/me", "this is not a URI", "file:///PATH"),
        ("", "this is not a URI", "file:///PATH"),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_on_this_machine_says_why(uri, why, fix):
    found = classify_root(uri)
    assert isinstance(found, NotHere)
    assert why in found.why
    assert fix in found.fix


ELSEWHERE = ["untitled:x", "vscode-remote://wsl%2BUbuntu/home/me", "vscode-vfs://github/o/n", "file://host/share"]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("uri", ELSEWHERE)
async def test_a_client_with_a_folder_elsewhere_is_told_so_and_every_request_too(start, uri):
    client = await start()
    await client.initialize(rootUri=uri)
    await client.until(lambda: [one for one in client.notifications if one["method"] == "window/showMessage"])
    (told,) = (one["params"] for one in client.notifications if one["method"] == "window/showMessage")
    error = await client.error("remit/status")
    assert told["type"] == 2
    assert told["message"].startswith(f"there is no folder to work in at `{uri}`: ")
    assert error["data"]["why"] in told["message"]
    assert error["data"]["fix"] in told["message"]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_folder_elsewhere_beside_one_that_is_here(start):
    client = await start()
    folders = [{"uri": client.root.as_uri(), "name": "here"}, {"uri": ELSEWHERE[1], "name": "there"}]
    await client.initialize(workspaceFolders=folders)
    await client.until(lambda: [one for one in client.notifications if one["method"] == "window/showMessage"])
    assert (await client.result("remit/status"))["folders"] == [str(client.root.resolve())]
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        {"event": {"added": [{"uri": ELSEWHERE[0], "name": "new"}], "removed": []}},
    )
    await client.until(lambda: len([one for one in client.notifications if one["method"] == "window/showMessage"]) == 2)
