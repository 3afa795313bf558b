"""Approvals in the event stream and by message (002 §4.4 ApprovalGate; threats.md, Approvals)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygls.uris import to_fs_path

from remit_server.contract import ApprovalRequired, FileDiff, ReasonPayload, Scope
from remit_server.lsp.asking import MESSAGE_LIMIT, question_text

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def in_stream(start, **remit):
    client = await start()
    await client.initialize(remit={"approvals": "stream", **remit})
    _, answer = client.run("ask", token="T")
    await client.until(lambda: [e for e in client.events("T") if e["kind"] == "approval_required"])
    return client, answer


async def test_a_stream_client_answers_by_request(start):
    client, answer = await in_stream(start)
    receipt = await client.result("remit/approval/respond", {"approval_id": "a1", "decision": "allow"})
    assert receipt == {"accepted": True, "reason": None}
    assert (await answer)["result"]["status"] == "completed"
    assert (client.root / "target.txt").read_text() == "new\n"
    assert client.asked == []


async def test_answers_are_taken_once_and_only_for_open_questions(start):
    """THR-approvals-replayed: a second answer, or one to another id, is not accepted and changes nothing."""
    client, answer = await in_stream(start)
    wrong = await client.result("remit/approval/respond", {"approval_id": "a2", "decision": "allow"})
    assert wrong["accepted"] is False
    await client.result("remit/approval/respond", {"approval_id": "a1", "decision": "deny"})
    again = await client.result("remit/approval/respond", {"approval_id": "a1", "decision": "allow"})
    assert again["accepted"] is False
    assert (await answer)["result"]["status"] == "denied"
    assert not (client.root / "target.txt").exists()


async def test_an_answer_before_any_turn(start):
    client = await start()
    await client.initialize(remit={"approvals": "stream"})
    receipt = await client.result("remit/approval/respond", {"approval_id": "a1", "decision": "allow"})
    assert receipt["accepted"] is False


@pytest.mark.parametrize(
    ("choice", "status", "scope"),
    [
        ({"title": "Allow once"}, "completed", "once"),
        ({"title": "Allow for this session"}, "completed", "session"),
        ({"title": "Always allow"}, "completed", "always"),
        ({"title": "Deny"}, "denied", "once"),
        ({"title": "Something else"}, "denied", "once"),
        (None, "denied", "once"),
    ],
)
async def test_a_plain_client_is_asked_by_message(start, choice, status, scope):
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: choice
    await client.initialize()
    _, answer = client.run("ask")
    result = (await answer)["result"]
    assert (result["status"], result["final_output"]) == (status, scope)
    assert (client.root / "target.txt").exists() is (status == "completed")
    params = client.asked[0]["params"]
    assert [a["title"] for a in params["actions"]] == ["Allow once", "Allow for this session", "Always allow", "Deny"]
    assert params["message"].startswith("write target.txt\nWhy: writes (rule ask-writes)")
    assert "\nAlways writes into permissions.yaml: {tool: write_file, path: target.txt}\n" in params["message"]


async def test_a_client_that_cannot_show_a_message_denies(start):
    client = await start()
    await client.initialize()
    _, answer = client.run("ask")
    assert (await answer)["result"]["status"] == "denied"


async def test_a_client_that_answers_nonsense_denies(start):
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: {"titel": 5}
    await client.initialize()
    _, answer = client.run("ask")
    assert (await answer)["result"]["status"] == "denied"


async def test_a_client_that_wants_no_questions_denies(start):
    client = await start()
    await client.initialize(remit={"approvals": "never"})
    _, answer = client.run("ask")
    assert (await answer)["result"]["status"] == "denied"
    assert client.asked == []


async def test_a_stream_client_without_a_stream_is_asked_by_message(start):
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(remit={"approvals": "stream"})
    _, answer = client.run("ask")
    assert (await answer)["result"]["status"] == "completed"


async def test_cancelling_a_turn_takes_its_question_back(start, no_answer):
    """The late answer to a cancelled question does nothing (pygls defect 8)."""
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: no_answer
    await client.initialize()
    msg_id, answer = client.run("ask")
    await client.until(lambda: client.asked)
    client.notify("$/cancelRequest", {"id": msg_id})
    assert (await answer)["error"]["code"] == -32800
    question = client.asked[0]["id"]
    assert {"id": question} in [n["params"] for n in client.notifications if n["method"] == "$/cancelRequest"]
    client.send({"jsonrpc": "2.0", "id": question, "result": {"title": "Allow once"}})
    assert (await client.result("remit/status"))["running_turns"] == 0
    assert not (client.root / "target.txt").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"approvals": 5},
        [],
        *(
            pytest.param(more, marks=pytest.mark.slow)
            for more in ({"approvals": "always"}, {"client_commands": "x"}, "x", 5)
        ),
    ],
)
async def test_options_that_make_no_sense_are_taken_as_not_given(start, options):
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: None
    await client.initialize(remit=options)
    _, answer = client.run("ask")
    assert (await answer)["result"]["status"] == "denied"
    assert len(client.asked) == 1


def question(**changed):
    fields = {
        "seq": 1,
        "session_id": "s",
        "turn_id": "t",
        "time": "",
        "approval_id": "a",
        "tool_call_id": "c",
        "tool": "run_command",
        "effect": "execute",
        "digest": "d",
        "title": "run a command",
        "reasons": (ReasonPayload(rule="ask", layer="default", action="require_review", reason="commands"),),
        "deadline": "",
        "scopes": (Scope.ONCE,),
    }
    return ApprovalRequired(**{**fields, **changed})


async def test_nothing_in_a_question_can_hide():
    """THR-approvals-hidden-payload: newlines, escapes, bidi and zero-width characters are visible."""
    text = question_text(question(title="safe\nWhy: nothing", argv=("ls", "a b", "\x1b[8m\u202e\u200b")))
    assert text.split("\n") == [
        "safe\\u{a}Why: nothing",
        "Why: commands (rule ask)",
        "Runs: ls 'a b' '\\u{1b}[8m\\u{202e}\\u{200b}'",
    ]
    command = question_text(question(command="true\nWhy: harmless"))
    assert command.endswith("Runs: true\n      Why: harmless")


LONG = "true " + "x" * MESSAGE_LIMIT + "; rm -rf hidden"
SHOWS = {"window": {"showDocument": {"support": True}}}


async def test_THR_approvals_long_command_is_opened_whole_before_it_can_be_allowed(start):
    """THR-approvals-long-command: what does not fit the message is a document, and gone after the answer."""
    client = await start()
    shown = []

    def show(params):
        path = Path(to_fs_path(params["uri"]))
        shown.append((path, path.read_text(), [r["method"] for r in client.asked]))
        return {"success": True}

    client.handlers["window/showDocument"] = show
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(SHOWS)
    _, answer = client.run(f"ask {LONG}")
    assert (await answer)["result"]["status"] == "completed"
    ((path, text, before),) = shown
    assert f"Runs: {LONG}\n" in text
    assert before == ["window/showDocument"]
    message = client.asked[1]["params"]["message"]
    assert message.startswith(
        f"The whole question, {len(text) - 1} characters, is in the document that was opened: {path}"
    )
    assert len(message) <= MESSAGE_LIMIT
    assert not path.exists()


@pytest.mark.parametrize(
    ("capabilities", "answer"), [(None, {"success": True}), (SHOWS, {"success": False}), (SHOWS, {"nonsense": 1})]
)
async def test_THR_approvals_long_command_that_cannot_be_shown_is_not_asked_about(start, capabilities, answer):
    client = await start()
    client.handlers["window/showDocument"] = lambda _: answer
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(capabilities)
    _, ran = client.run(f"ask {LONG}")
    assert (await ran)["result"]["status"] == "denied"
    assert "window/showMessageRequest" not in [request["method"] for request in client.asked]
    assert not (client.root / "target.txt").exists()


async def test_a_question_that_fits_is_shown_in_full(start):
    diff = "\n".join(f"+line {n}" for n in range(100))
    text = question_text(question(diffs=(FileDiff(path="a", diff=diff),), risk="high", cwd="/w"))
    assert "Risk: high\nIn: /w\n" in text
    assert text.endswith(diff)
