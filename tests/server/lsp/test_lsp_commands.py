"""The server's commands, for editors that know nothing of Remit (LSP-04)."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


async def command(client, name, *arguments, **extra):
    return await client.reply("workspace/executeCommand", {"command": name, "arguments": list(arguments), **extra})


def shown(client):
    return [n["params"] for n in client.notifications if n["method"] == "window/showMessage"]


async def test_ask_answers_the_result_and_shows_it(shared):
    answer = await command(shared, "remit.ask", "say hello", {"session_id": "mine"})
    assert answer["result"]["final_output"] == "hello"
    assert answer["result"]["session_id"] == "mine"
    assert shown(shared)[-1] == {"type": 3, "message": "hello"}


async def test_edit_knows_the_document(shared):
    uri = shared.open("src/a.py", "x\n")
    answer = await command(shared, "remit.edit", "context", uri)
    assert answer["result"]["final_output"] == "src/a.py"
    without = await command(shared, "remit.edit", "context")
    assert without["result"]["final_output"] == "None"


async def test_rename_is_a_request_in_words(shared):
    answer = await command(shared, "remit.rename", {"path": "a.py", "name": "x", "new_name": "y"})
    assert answer["result"]["final_output"] == "rename x to y in a.py"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("remit.ask", []),
        ("remit.ask", [5]),
        ("remit.ask", ["  "]),
        ("remit.ask", ["x", "y"]),
        ("remit.ask", ["x", {}, {}]),
        ("remit.ask", ["x", {"session_id": 5}]),
        ("remit.edit", ["x", 5]),
        ("remit.edit", ["x", {"first_line": 1}]),
        ("remit.edit", ["x", {"uri": "file:///elsewhere.py"}]),
        ("remit.edit", ["x", {"uri": "file:///elsewhere.py", "line": 1}]),
        ("remit.rename", [{"path": "a", "name": "x"}]),
        ("remit.rename", [{"path": "a", "name": "x", "new_name": "not one"}]),
        ("remit.rename", ["x"]),
        ("remit.cancel", [{"session_id": 5}]),
        ("remit.cancel", ["x"]),
    ],
)
async def test_wrong_arguments_say_how_they_should_look(shared, name, arguments):
    error = (await command(shared, name, *arguments))["error"]
    assert error["code"] == -32602
    assert name in error["message"]
    assert error["data"]["fix"]


async def test_cancel_cancels_what_matches(start):
    client = await start()
    await client.initialize()
    _, first = client.run("wait", token="A", turn="a")
    _, second = client.run("wait", token="B", turn="b")
    await client.until(lambda: client.events("A") and client.events("B"))
    assert (await command(client, "remit.cancel", {"turn_id": "a"}))["result"] == {"cancelled": 1}
    assert (await first)["result"]["status"] == "cancelled"
    assert not second.done()
    assert (await command(client, "remit.cancel"))["result"] == {"cancelled": 1}
    assert (await second)["result"]["status"] == "cancelled"


async def test_cancel_before_any_turn_opens_nothing(start, runtime_log):
    client = await start()
    await client.initialize()
    assert (await command(client, "remit.cancel"))["result"] == {"cancelled": 0}
    assert runtime_log() == []


async def test_audit_verify(shared):
    answer = await command(shared, "remit.audit.verify")
    assert answer["result"] == {"ok": True, "message": "2 records verified"}
    assert shown(shared)[-1]["message"] == "2 records verified"


async def test_a_client_that_draws_results_is_shown_no_messages(start):
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    assert (await command(client, "remit.audit.verify"))["result"]["ok"] is True
    assert shown(client) == []


async def test_progress_on_a_fresh_token_each_time(start):
    client = await start()
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Deny"}
    await client.initialize({"window": {"workDoneProgress": True}})
    await command(client, "remit.ask", "ask")
    await command(client, "remit.ask", "say x")
    tokens = [a["params"]["token"] for a in client.asked if a["method"] == "window/workDoneProgress/create"]
    assert len(set(tokens)) == 2
    values = client.events(tokens[0])
    assert [v["kind"] for v in values] == ["begin", "report", "report", "end"]
    assert values[1]["message"] == "waiting for your answer: write target.txt"
    assert values[2]["message"] == "denied: the person said no"


async def test_B6_a_turn_that_did_nothing_is_told_as_declined(start):
    """In the message, in the progress and in the command's result: it never looks done."""
    client = await start()
    await client.initialize()
    answer = await command(client, "remit.ask", "decline I stopped.", workDoneToken="mine")
    assert answer["result"]["status"] == "declined"
    said = "I stopped. (declined: the model could not do this)"
    assert shown(client) == [{"type": 2, "message": said}]
    assert [v.get("message") for v in client.events("mine")][1] == "declined: the model could not do this"


async def test_progress_on_the_client_s_own_token(start):
    client = await start()
    await client.initialize()
    await command(client, "remit.ask", "say x", workDoneToken="mine")
    assert [v["kind"] for v in client.events("mine")] == ["begin", "end"]


async def test_the_progress_s_cancel_button_cancels_the_turn(start):
    client = await start()
    await client.initialize()
    params = {"command": "remit.ask", "arguments": ["wait"], "workDoneToken": "mine"}
    _, answer = client.start("workspace/executeCommand", params)
    await client.until(lambda: client.events("mine"))
    client.notify("window/workDoneProgress/cancel", {"token": "unknown"})
    while not (await client.result("remit/status"))["running_turns"]:
        pass
    client.notify("window/workDoneProgress/cancel", {"token": "mine"})
    assert (await answer)["result"]["status"] == "cancelled"
    assert client.events("mine")[-1]["kind"] == "end"


async def test_cancelling_the_command_s_request_cancels_the_turn(start, runtime_log):
    """pygls defect 1."""
    client = await start()
    await client.initialize()
    params = {"command": "remit.ask", "arguments": ["wait"], "workDoneToken": "mine"}
    msg_id, answer = client.start("workspace/executeCommand", params)
    while not (await client.result("remit/status"))["running_turns"]:
        pass
    client.notify("$/cancelRequest", {"id": msg_id})
    assert (await answer)["error"]["code"] == -32800
    assert runtime_log() == ["opened", "cancelled"]
    assert client.events("mine")[-1]["kind"] == "end"


async def test_a_client_that_never_creates_the_progress(start):
    """The client answers with an error, so the command runs without progress."""
    client = await start()
    await client.initialize({"window": {"workDoneProgress": True}})
    assert (await command(client, "remit.ask", "say x"))["result"]["status"] == "completed"


async def test_shutdown_with_a_command_under_way(start):
    """pygls defect 7."""
    client = await start()
    await client.initialize()
    params = {"command": "remit.ask", "arguments": ["wait"], "workDoneToken": "mine"}
    _, answer = client.start("workspace/executeCommand", params)
    await client.until(lambda: client.events("mine"))
    assert await client.shutdown() == 0
    assert (await answer)["error"]["code"] == -32800


async def test_LSP_16_a_run_shows_its_progress_on_a_token_that_stops_it(start):
    """`remit/run` used to accept a token for progress, but reported none."""
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    _, answer = client.run("wait", "events", workDoneToken="mine")
    await client.until(lambda: client.events("events"))
    client.notify("window/workDoneProgress/cancel", {"token": "mine"})
    assert (await answer)["result"]["status"] == "cancelled"
    assert [value["kind"] for value in client.events("mine")] == ["begin", "report", "end"]
    assert client.events("events")[-1]["kind"] == "run_completed"


async def test_LSP_16_an_answer_of_the_model_alone_is_stopped_by_its_progress(start, runtime_log):
    client = await start()
    await client.initialize()
    _, answer = client.start("remit/generate", {"prompt": "wait", "partialResultToken": "T", "workDoneToken": "mine"})
    await client.until(lambda: client.events("T"))
    client.notify("window/workDoneProgress/cancel", {"token": "mine"})
    assert (await answer)["error"]["code"] == -32800
    assert "stopped" in runtime_log()
    assert [value["kind"] for value in client.events("mine")] == ["begin", "end"]


async def test_LSP_16_a_command_without_a_turn_shows_one_too(start):
    client = await start()
    found = await client.initialize()
    assert found["capabilities"]["executeCommandProvider"]["workDoneProgress"] is True
    assert (await command(client, "remit.audit.verify", workDoneToken="mine"))["result"]["ok"]
    assert [value["kind"] for value in client.events("mine")] == ["begin", "end"]
    assert (await client.error("remit/run", {"workDoneToken": [], "session_id": "s"}))["code"] == -32602
