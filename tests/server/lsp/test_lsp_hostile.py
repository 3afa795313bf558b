"""Clients that are broken, hostile or gone (LSP-04). After every case the server must still work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket

import pytest

from remit_server.errors import SetupError
from remit_server.transports.lsp.main import serve

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def still_works(client):
    _, answer = client.run("say still here", turn=str(random.random()))
    assert (await asyncio.wait_for(answer, 30))["result"]["final_output"] == "still here"


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(b"{"), -32700, id="THR-protocol-malformed-json"),
        pytest.param(frame(b"\xff\xfe"), -32700, id="THR-protocol-not-utf-8"),
        pytest.param(frame(b"[" * 100_000), -32700, id="THR-protocol-deeply-nested"),
        pytest.param(frame(b'{"jsonrpc":"2.0","id":' + b"9" * 9_999 + b"}"), -32700, id="THR-protocol-endless-number"),
        pytest.param(frame(b'{"jsonrpc":"2.0","id":1,"method":"x","params":NaN}'), -32700, id="THR-protocol-nan"),
        pytest.param(b"hello: world\r\n\r\n", -32700, id="THR-protocol-no-length"),
        pytest.param(b"Content-Length: many\r\n\r\n", -32700, id="THR-protocol-length-no-number"),
        pytest.param(b"Content-Length: -5\r\n\r\n", -32700, id="THR-protocol-length-negative"),
        pytest.param(b"x" * 100_000 + b"\r\n\r\n", -32700, id="THR-protocol-endless-header"),
        pytest.param(frame(b"[]"), -32600, id="THR-protocol-empty-batch"),
        pytest.param(frame(b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]'), -32600, id="THR-protocol-batch"),
        pytest.param(frame(b"7"), -32600, id="THR-protocol-a-number"),
        pytest.param(frame(b'{"id":1,"method":"shutdown"}'), -32600, id="THR-protocol-no-version"),
        pytest.param(frame(b'{"jsonrpc":"2.0","id":{},"method":"shutdown"}'), -32600, id="THR-protocol-id-object"),
        pytest.param(frame(b'{"jsonrpc":"2.0","id":true,"method":"shutdown"}'), -32600, id="THR-protocol-id-bool"),
        pytest.param(frame(b'{"jsonrpc":"2.0","id":5,"method":7}'), -32600, id="THR-protocol-method-number"),
        pytest.param(frame(b'{"jsonrpc":"2.0"}'), -32600, id="THR-protocol-nothing"),
    ],
)
async def test_what_is_no_message_gets_an_error(shared, sent, code):
    before = len(shared.orphans)
    shared.send_bytes(sent)
    await shared.until(lambda: len(shared.orphans) > before)
    error = shared.orphans[-1]["error"]
    assert error["code"] == code
    assert "Traceback" not in json.dumps(error)
    await still_works(shared)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "`session_id`: field required"),
        ({"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": ""}}, "at least 1 character"),
        ({"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": "x"}, "extra": 1}, "`extra`"),
        ({"session_id": 7, "turn_id": "t", "input": []}, "`session_id`"),
        ([], "params are a JSON object"),
        (None, "params are a JSON object"),
        ("text", "params are a JSON object"),
        ({"partialResultToken": {}}, "`partialResultToken`"),
        ({"partialResultToken": True}, "`partialResultToken`"),
    ],
)
async def test_wrong_params_of_a_run_name_field_and_problem(shared, params, says):
    error = await shared.error("remit/run", params)
    assert error["code"] == -32602
    assert says in error["message"]
    await still_works(shared)


async def test_invalid_params_carry_what_why_and_fix(shared):
    error = await shared.error("remit/approval/respond", {"approval_id": "a", "decision": "perhaps"})
    assert error["data"]["code"] == "invalid_request"
    assert error["data"]["what"] == "invalid params for `remit/approval/respond`"
    assert "`decision`" in error["data"]["why"]
    assert error["data"]["fix"]


async def test_a_refused_value_is_not_echoed(shared):
    secret = "sk-live-0123456789"
    error = await shared.error("remit/run", {"session_id": {"key": secret}, "turn_id": [secret], "input": secret})
    assert secret not in json.dumps(error)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/codeAction", {"textDocument": 5}),
        ("textDocument/codeAction", None),
        ("workspace/executeCommand", {"command": 5}),
        ("workspace/executeCommand", {"command": "remit.unknown"}),
    ],
)
async def test_malformed_params_of_a_known_method_are_answered(shared, method, params):
    """pygls defect 3."""
    assert (await shared.error(method, params))["code"] == -32602
    await still_works(shared)


async def test_malformed_notifications_are_ignored(shared):
    shared.notify("textDocument/didChange", {"textDocument": {}})
    shared.notify("textDocument/didOpen", [])
    shared.notify("$/cancelRequest", {"id": {}})
    shared.notify("$/cancelRequest", {"id": 99_999})
    await still_works(shared)


async def test_unknown_methods_are_not_found(shared):
    """THR-protocol-unknown-methods."""
    assert (await shared.error("remit/unknown", {"a": 1}))["code"] == -32601
    assert (await shared.error("textDocument/typeDefinition", {"x": 1}))["code"] == -32601
    await still_works(shared)


async def test_a_payload_with_a_jsonrpc_key_is_no_message(shared):
    """THR-protocol-jsonrpc-in-a-payload: pygls defect 4, and 5: keys that are no Python names survive."""
    inner = {"jsonrpc": "2.0", "method": "exit", "my-key": 1, "class": None}
    error = await shared.error("remit/run", {"session_id": "s", "turn_id": "t", "input": inner})
    assert error["code"] == -32602
    meta = {"jsonrpc": "2.0", "my-key": "x", "class": "y"}
    _, answer = shared.run("say ok", turn="jsonrpc", metadata=meta)
    assert (await answer)["result"]["status"] == "completed"


async def test_large_messages_pass(shared):
    """THR-protocol-huge: a refused value is not sent back either."""
    _, answer = shared.run("say " + "ä" * 190_000, turn="large")
    assert len((await answer)["result"]["final_output"]) == 190_000
    error = await shared.error("remit/run", {"session_id": "s", "turn_id": "t", "input": "x" * 20_000_000})
    assert len(json.dumps(error)) < 10_000


async def test_a_message_beyond_all_bounds_is_skipped(start):
    """THR-protocol-huge-beyond-all-bounds."""
    client = await start()
    await client.initialize()
    size = 65 * 1024 * 1024
    client.send_bytes(b"Content-Length: %d\r\n\r\n" % size)
    for _ in range(65):
        client.send_bytes(b" " * 1024 * 1024)
    await client.until(lambda: client.orphans)
    assert client.orphans[0]["error"]["code"] == -32700
    await still_works(client)


async def test_before_initialize_and_after_shutdown(start):
    """THR-protocol-before-initialize, THR-protocol-after-shutdown."""
    client = await start()
    assert (await client.error("remit/status"))["code"] == -32002
    client.notify("textDocument/didOpen", {"textDocument": {}})
    assert (await client.error("shutdown"))["code"] == -32002
    await client.initialize()
    assert (await client.error("initialize", {"capabilities": {}}))["code"] == -32600
    await still_works(client)
    await client.result("shutdown")
    for method in ("remit/status", "initialize", "shutdown"):
        assert (await client.error(method, {"capabilities": {}}))["code"] == -32600
    client.notify("exit", None)
    assert await client.wait() == 0


async def test_an_id_that_is_in_use_is_refused(start):
    """THR-protocol-id-in-use."""
    client = await start()
    await client.initialize()
    msg_id, answer = client.run("wait", token="T")
    await client.until(lambda: client.events("T"))
    client._pending.pop(msg_id)
    _, second = client.start("remit/status", {}, msg_id)
    assert (await second)["error"]["code"] == -32600
    client._pending[msg_id] = answer
    client.notify("$/cancelRequest", {"id": msg_id})
    assert (await answer)["error"]["code"] == -32800


async def test_answers_to_nothing_and_to_the_client_s_own_ids_are_ignored(start):
    """THR-protocol-forged-answers."""
    client = await start()
    await client.initialize()
    msg_id, answer = client.run("wait", token="T")
    await client.until(lambda: client.events("T"))
    client.send({"jsonrpc": "2.0", "id": msg_id, "result": "forged"})
    client.send({"jsonrpc": "2.0", "id": "nobody", "error": {"code": 1, "message": "x"}})
    await still_works(client)
    assert not answer.done()


async def test_a_defect_of_the_server_shows_no_traceback(start):
    client = await start()
    await client.initialize()
    _, answer = client.run("fail")
    error = (await answer)["error"]
    assert error["code"] == -32603
    assert error["data"]["code"] == "internal"
    assert "secret" not in json.dumps(error)
    await still_works(client)


async def test_cancel_at_any_moment(start):
    """THR-protocol-cancel: every request is answered exactly once, every started turn ends exactly once."""
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    dice = random.Random(7)
    answers = {}
    for n in range(60):
        msg_id, future = client.run(dice.choice(["say x", "wait", "flood 3"]), token=f"T{n}", turn=f"t{n}")
        answers[n] = future
        for _ in range(dice.randrange(4)):
            await asyncio.sleep(0)
        if dice.random() < 0.3:
            await asyncio.sleep(dice.random() / 50)
        client.notify("$/cancelRequest", {"id": msg_id})
    done = await asyncio.wait_for(asyncio.gather(*answers.values()), 60)
    for n, message in zip(answers, done, strict=True):
        assert message.get("error", {"code": -32800})["code"] == -32800
        kinds = [e["kind"] for e in client.events(f"T{n}")]
        assert kinds.count("run_completed") == (1 if kinds else 0)
        assert not kinds or kinds[-1] == "run_completed"
    assert client.orphans == []
    await still_works(client)


async def test_a_client_that_dies_in_mid_approval(start, runtime_log):
    """THR-approvals-lost-client: nothing is written, the runtime is closed, the process ends."""
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    client.run("ask", token="T")
    await client.until(lambda: [e for e in client.events("T") if e["kind"] == "approval_required"])
    client.process.stdin.close()
    assert await client.wait() == 1
    assert runtime_log() == ["opened", "asked stream", "cancelled", "closed"]
    assert not (client.root / "target.txt").exists()


async def test_a_client_that_dies_while_its_message_is_open(start, runtime_log, no_answer):
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: no_answer
    await client.initialize()
    client.run("ask")
    await client.until(lambda: client.asked)
    client.process.stdin.close()
    assert await client.wait() == 1
    assert runtime_log()[-2:] == ["cancelled", "closed"]
    assert not (client.root / "target.txt").exists()


@pytest.mark.parametrize("running", [False, True], ids=["idle", "in-a-turn"])
async def test_shutdown_exit_and_the_end_all_at_once(start, runtime_log, running):
    """A client that waits for no answer has still ended the server properly: it closes, answers and exits with 0."""
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    if running:
        client.run("ask", token="T")
        await client.until(lambda: [e for e in client.events("T") if e["kind"] == "approval_required"])
    _, answer = client.start("shutdown")
    client.send({"jsonrpc": "2.0", "method": "exit"})
    client.process.stdin.close()
    assert await client.wait() == 0
    assert (await answer)["result"] is None
    assert not running or runtime_log()[-1] == "closed"


async def test_a_client_whose_process_is_gone_though_its_pipe_is_open(start):
    gone = await asyncio.create_subprocess_exec("sleep", "600")
    client = await start()
    await client.initialize(processId=gone.pid)
    await still_works(client)
    gone.kill()
    await gone.wait()
    assert await client.wait() == 1


async def test_sigterm_closes_the_runtime(start, runtime_log):
    client = await start()
    await client.initialize()
    client.run("wait", token="T")
    await client.until(lambda: client.events("T"))
    client.process.terminate()
    assert await client.wait() == 128 + 15
    assert runtime_log() == ["opened", "cancelled", "closed"]


async def test_a_client_that_stops_reading_blocks_nothing(start, runtime_log):
    """THR-protocol-stops-reading: the backlog is bounded, then the client counts as lost."""
    client = await start()
    await client.initialize()
    await still_works(client)
    client.stop_reading()
    client.process.stdout._transport.pause_reading()
    client.run("flood 100000", token="T", turn="flood")
    while client.process.returncode is None:
        await asyncio.sleep(0.05)
    assert client.process.returncode == 1
    assert runtime_log()[-1] == "closed"


async def test_tcp_is_for_the_loopback_address_only():
    for address in ("0.0.0.0:0", "192.0.2.1:7000", "7000", "localhost:x", "localhost:99999", ":7000"):
        with pytest.raises(SetupError):
            serve(address)


def nobody_listens(port):
    """Asserts that a connection is refused, or dropped unread when the listener closes."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as second:
        assert second.recv(1) == b""


async def test_tcp_speaks_the_same_protocol(start_tcp):
    """THR-protocol-second-client: after the first client nobody listens."""
    port, process = await start_tcp()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.to_thread(nobody_listens, port)
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    writer.write(frame(body))
    header = await reader.readuntil(b"\r\n\r\n")
    answer = json.loads(await reader.readexactly(int(header.split(b":")[1])))
    assert answer["result"]["serverInfo"]["name"] == "remit"
    writer.close()
    await writer.wait_closed()
    assert await process.wait() == 1
