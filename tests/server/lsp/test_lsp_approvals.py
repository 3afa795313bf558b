"""Approvals in the event stream and by message (APP-01)."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import SAYS
from pygls.uris import to_fs_path

from remit_server.contract import ApprovalRequired, FileDiff, ReasonPayload, Scope
from remit_server.harness.approval.question import question_text
from remit_server.transports.lsp.client_requests.approval_messages import (
    MESSAGE_LIMIT,
    cut_into_messages,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


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
        ({"title": "Always allow in this workspace"}, "denied", "once"),  # its rule was not shown yet
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
    assert [a["title"] for a in params["actions"]] == [
        "Allow once",
        SAYS.allow_for_this_session,
        "More…",
        "Deny",
    ]
    assert params["message"].startswith("write target.txt\nWhy: writes")
    assert "{tool" not in params["message"]


@pytest.mark.parametrize(
    ("choice", "scope"),
    [(SAYS.always_allow_in_this_workspace, "always"), (SAYS.always_allow_in_every_workspace, "everywhere")],
)
async def test_APP_04_a_rule_is_shown_before_an_answer_writes_it(start, choice, scope):
    client = await start()
    answers = iter([{"title": "More…"}, {"title": choice}])
    client.handlers["window/showMessageRequest"] = lambda _: next(answers)
    await client.initialize()
    _, answer = client.run("ask")
    assert (await answer)["result"]["final_output"] == scope
    details = client.asked[1]["params"]["message"]
    assert "(rule ask-writes)" in details
    assert "{tool: write_file, path: target.txt, workspace: /shop}" in details
    assert "{tool: write_file, path: target.txt}" in details


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
        "safe⟨U+000A⟩Why: nothing",
        "Why: commands",
        "Runs: ls 'a b' '⟨U+001B⟩[8m⟨U+202E⟩⟨U+200B⟩'",
    ]
    command = question_text(question(command="true\nWhy: harmless"))
    assert command.endswith("Runs: true\n      Why: harmless")
    once = question_text(question(title="run a⟨U+202E⟩b", hosts=("a.example", "b.example:8443")))
    assert once.startswith("run a⟨U+202E⟩b\n"), "what was made visible before is not spelled out again"
    assert once.endswith("\nWith network to: a.example, b.example:8443")


LONG = "true " + "x" * MESSAGE_LIMIT + "; rm -rf hidden"
SHOWS = {"window": {"showDocument": {"support": True}}}


async def test_THR_approvals_long_command_is_opened_whole_before_it_can_be_allowed(start):
    """THR-approvals-long-command: a command too long for the message is shown as a document, which the answer
    removes."""
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
    where = f"is in the document that was opened: {path}. Allow it only if you have read all of it."
    assert message.startswith(f"The whole question ({len(text) - 1} characters, sha256:0) {where}\nwrite target.txt\n")
    assert len(message) <= MESSAGE_LIMIT
    assert not path.exists()


def messages(client):
    return [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]


NO_DOCUMENT = pytest.mark.parametrize(
    ("capabilities", "answer"), [(None, {"success": True}), (SHOWS, {"success": False}), (SHOWS, {"nonsense": 1})]
)


@NO_DOCUMENT
async def test_THR_approvals_long_command_is_shown_whole_in_messages_before_the_question(start, capabilities, answer):
    """THR-approvals-long-command: if no document can be opened, messages of the usual length contain all of it."""
    client = await start()
    seen = []

    def asked(params):
        seen.append((params["message"], list(messages(client))))
        return {"title": "Allow once"}

    client.handlers["window/showDocument"] = lambda _: answer
    client.handlers["window/showMessageRequest"] = asked
    await client.initialize(capabilities)
    _, ran = client.run(f"ask {LONG}")
    assert (await ran)["result"]["status"] == "completed"
    ((short, before),) = seen
    assert all(len(message) <= MESSAGE_LIMIT for message in (short, *before))
    assert [message.split("\n")[0] for message in before] == [
        f"Remit asks, part {n} of 3 of the question sha256:0:" for n in (1, 2, 3)
    ]
    assert before[-1].endswith("\n(the end of the question sha256:0)")
    whole = "".join(message.partition("\n")[2] for message in before)
    assert f"Runs: {LONG}" in whole.replace("\n", "")
    assert "is in the 3 messages before this one" in short


async def test_THR_approvals_long_command_is_one_message_where_the_client_pages_through_it(start):
    """Neovim shows a question page by page, and takes the answer after the last page; in a document it could not
    scroll."""
    client = await start()
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(SHOWS, clientInfo={"name": "Neovim", "version": "0.7.2"})
    _, ran = client.run(f"ask {LONG * 10}")
    assert (await ran)["result"]["status"] == "completed"
    (request,) = client.asked
    assert f"Runs: {LONG * 10}\n" in request["params"]["message"]
    assert messages(client) == []


@NO_DOCUMENT
async def test_THR_approvals_long_command_that_cannot_be_shown_is_not_asked_about(
    start, capabilities, answer, runtime_log
):
    """The person gets a message that says why, and what to do."""
    client = await start()
    client.handlers["window/showDocument"] = lambda _: answer
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(capabilities)
    _, ran = client.run(f"ask {LONG * 10}")
    assert (await ran)["result"]["status"] == "denied"
    assert "window/showMessageRequest" not in [request["method"] for request in client.asked]
    assert not (client.root / "target.txt").exists()
    (said,) = messages(client)
    assert said.startswith("not done: it needs approval, and the question has ")
    assert SAYS.a_person_can_run_it in said
    assert any(SAYS.opens_no_documents in line for line in runtime_log())


async def test_the_parts_of_a_long_question_are_all_of_it():
    text = "\n".join("x" * (n % 700) for n in range(200)) + "\n" + "y" * 5_000
    parts = cut_into_messages(text, "the question")
    assert all(len(part) <= MESSAGE_LIMIT for part in parts)
    bodies = [part.partition("\n")[2] for part in parts]
    assert "".join(bodies).replace("\n", "") == text.replace("\n", "") + "(the end of the question)"
    cut = [
        line for body in bodies for line in body.split("\n") if line.startswith("x") and line not in text.split("\n")
    ]
    assert cut == [], "lines that fit a message are not cut"


async def test_a_question_that_fits_is_shown_in_full(start):
    diff = "\n".join(f"+line {n}" for n in range(100))
    text = question_text(question(diffs=(FileDiff(path="a", diff=diff),), risk="high", cwd="/w"))
    assert "Risk: high\nIn: /w\n" in text
    assert text.endswith(diff)
