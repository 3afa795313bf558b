"""The standard path of the language server, with raw messages (LSP-04)."""

from __future__ import annotations

import asyncio

import pytest
from messages import SAYS

from remit_server import contract
from remit_server.transports.lsp.rpc.custom_methods import PROTOCOL

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


async def test_protocol_number_is_the_contract_s():
    assert PROTOCOL == contract.PROTOCOL


async def test_initialize_says_what_the_server_can_do(start):
    client = await start()
    knows_actions = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    result = await client.initialize({"textDocument": {"codeAction": knows_actions}})
    capabilities = result["capabilities"]
    assert result["serverInfo"]["name"] == "remit"
    assert capabilities["experimental"]["remit"]["protocol"] == 1
    assert capabilities["textDocumentSync"]["change"] == 2
    assert capabilities["positionEncoding"] == "utf-16"
    assert capabilities["codeActionProvider"]["resolveProvider"] is False
    assert "remit.edit" in capabilities["executeCommandProvider"]["commands"]
    assert await client.shutdown() == 0


async def test_utf_16_whatever_the_client_prefers(start):
    client = await start()
    result = await client.initialize({"general": {"positionEncodings": ["utf-8", "utf-16"]}})
    assert result["capabilities"]["positionEncoding"] == "utf-16"


async def test_events_stream_on_the_partial_result_token(start):
    client = await start()
    await client.initialize()
    _, answer = client.run("say hello", token="T")
    result = (await answer)["result"]
    events = client.events("T")
    assert [e["kind"] for e in events] == ["run_started", "token_delta", "run_completed"]
    assert [e["seq"] for e in events] == [1, 2, 3]
    assert result["final_output"] == "hello"
    assert events[-1]["result"] == result


async def test_a_whole_number_is_a_token_too(start):
    client = await start()
    await client.initialize()
    _, answer = client.run("say hello", token=7)
    await answer
    assert len(client.events(7)) == 3


async def test_without_a_token_nothing_is_streamed(start):
    client = await start()
    await client.initialize()
    _, answer = client.run("say hello")
    assert (await answer)["result"]["status"] == "completed"
    assert not [n for n in client.notifications if n["method"] == "$/progress"]


async def test_cancelling_a_run_streams_its_last_event_first(start, runtime_log):
    client = await start()
    await client.initialize()
    msg_id, answer = client.run("wait", token="T")
    await client.until(lambda: client.events("T"))
    client.notify("$/cancelRequest", {"id": msg_id})
    assert (await answer)["error"]["code"] == -32800
    assert client.events("T")[-1]["kind"] == "run_completed"
    assert client.events("T")[-1]["result"]["status"] == "cancelled"
    assert runtime_log() == ["opened", "cancelled"]


async def test_the_runtime_is_opened_once(start, runtime_log):
    client = await start()
    await client.initialize()
    runs = [client.run("say x", turn=f"t{n}")[1] for n in range(8)]
    await asyncio.gather(*runs)
    assert runtime_log() == ["opened"]


async def test_a_runtime_that_cannot_open_says_why_and_is_tried_again(start):
    client = await start(STAND_IN_FAILURES="1")
    await client.initialize()
    error = await client.error("remit/status", {})
    assert error["data"]["what"] == SAYS.cannot_open_the_workspace
    assert error["data"]["fix"] == "mend the policy"
    assert (await client.result("remit/status", {}))["model_state"] == "ready"


async def test_status_takes_no_params_at_all(start):
    client = await start()
    await client.initialize()
    client.send({"jsonrpc": "2.0", "id": "s", "method": "remit/status"})
    await client.until(lambda: client.orphans)
    assert client.orphans[0]["result"]["policy"] == "default"


async def test_without_a_folder_a_run_says_what_to_do(start):
    client = await start()
    await client.result("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    _, answer = client.run("say hello")
    assert "open a folder" in (await answer)["error"]["data"]["fix"]
    assert await client.shutdown() == 0


async def test_the_first_workspace_folder_is_the_root(start, tmp_path):
    client = await start()
    folders = [{"uri": tmp_path.as_uri(), "name": "a"}, {"uri": client.root.as_uri(), "name": "b"}]
    await client.initialize(workspaceFolders=folders)
    assert (await client.result("remit/status"))["workspace"] == str(tmp_path.resolve())


async def test_shutdown_closes_the_runtime_before_it_answers(start, runtime_log):
    client = await start()
    await client.initialize()
    _, answer = client.run("wait", token="T")
    await client.until(lambda: client.events("T"))
    await client.result("shutdown")
    assert runtime_log() == ["opened", "cancelled", "closed"]
    assert (await answer)["error"]["code"] == -32800
    client.notify("exit", None)
    assert await client.wait() == 0


async def test_exit_without_shutdown_is_1(start):
    client = await start()
    await client.initialize()
    client.notify("exit", None)
    assert await client.wait() == 1


async def test_unknown_settings_and_notifications_are_taken_silently(start):
    client = await start()
    await client.initialize()
    client.notify("workspace/didChangeConfiguration", {"settings": {"remit": {}}})
    client.notify("$/whatever", {})
    client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///x"}})
    assert (await client.result("remit/status"))["running_turns"] == 0
    assert client.notifications == []
