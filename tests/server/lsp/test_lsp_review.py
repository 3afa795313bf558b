"""A client that knows nothing of Remit answers a change hunk by hunk: lenses, commands, messages (LSP-09)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS
from reviewing import EDITS, LINES, PLAIN, Reviewing, changed, write

from remit_governance.audit.reading.verify import Verified, verify
from remit_server.harness.approval.shown_parts import hunk_texts

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def silent(no_answer: object) -> Callable[[dict[str, Any]], Any]:
    """Answers for a person who has not answered yet."""
    return lambda _: no_answer


async def test_LSP_09_two_hunks_by_lenses_and_one_left_out_with_a_comment(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    answer = await reviewing.begin(tmp_path)
    await reviewing.asked()
    found = await reviewing.lenses()
    assert [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found] == [
        (0, SAYS.remit_asks_allow_once),
        (0, "Deny"),
        (0, "Show"),
        (2, "+1 −1 (1 of 3): leave out"),
        (20, "+1 −1 (2 of 3): leave out"),
        (37, "+1 −1 (3 of 3): leave out"),
    ]
    (second,) = found[4]["command"]["arguments"]
    assert (await reviewing.command("toggle", **second, comment="keep the twentieth"))["taken"] == 2
    after = await reviewing.lenses()
    assert after[0]["command"]["title"] == "Remit asks: allow 2 of 3 once"
    assert after[4]["command"]["title"] == "+1 −1 (2 of 3): take it"
    await reviewing.client.until(
        lambda: [each for each in reviewing.client.asked if each["method"] == "workspace/codeLens/refresh"][1:]
    )
    assert (await reviewing.command("accept"))["accepted"]
    assert (await answer)["result"]["status"] == "completed"
    assert reviewing.text == changed(2, 37)
    assert await reviewing.lenses() == []
    assert await reviewing.command("list") == []


async def test_APP_10_edits_of_a_turn_are_one_question_of_which_a_part_is_taken(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    edits = [write("b.txt", changed(2)), write("c.txt", "new\n"), write("b.txt", changed(2, 20))]
    answer = await reviewing.begin(tmp_path, edits=edits, typed="/edits turn")
    await reviewing.asked()
    assert (reviewing.text, (reviewing.client.root / "c.txt").exists()) == ("".join(LINES), False)
    (waiting,) = await reviewing.command("list")
    parts = [(each["path"], each["hunk"]) for each in waiting["parts"]]
    assert parts == [("b.txt", 0), ("b.txt", 1), ("c.txt", None)]
    first = {"approval_id": waiting["approval_id"], "path": "b.txt", "hunk": 0}
    assert (await reviewing.command("toggle", **first, comment="not the second line"))["taken"] == 2
    assert (await reviewing.command("accept"))["accepted"]
    assert (await answer)["result"]["status"] == "completed"
    assert reviewing.text == changed(20)
    assert (reviewing.client.root / "c.txt").read_text() == "new\n"


async def test_APP_10_a_server_that_is_killed_has_written_nothing_of_what_it_collected(
    start_real, tmp_path, silent
) -> None:
    reviewing = Reviewing(await start_real(), silent)
    await reviewing.begin(tmp_path, edits=[write("c.txt", "new\n")], typed="/edits turn")
    await reviewing.asked()
    reviewing.client.process.kill()
    await reviewing.client.process.wait()
    assert not (reviewing.client.root / "c.txt").exists()
    (log,) = (tmp_path / "state").rglob("audit.sqlite3")
    assert isinstance(verify(log), Verified)


async def test_LSP_09_messages_ask_for_each_part(start_real, tmp_path) -> None:
    shown: list[dict[str, Any]] = []
    answers = iter(["Choose parts…", "Leave it out", "Accept this and the rest"])

    def choose(params: dict[str, Any]) -> Any:
        shown.append(params)
        return {"title": next(answers)}

    reviewing = Reviewing(await start_real(), choose)
    answer = await reviewing.begin(tmp_path, PLAIN)
    assert (await answer)["result"]["status"] == "completed"
    assert reviewing.text == changed(20, 37)
    assert "Choose parts…" in [each["title"] for each in shown[0]["actions"]]
    assert shown[1]["message"].startswith("Remit asks, part 1 of 3 of: change b.txt")
    assert "-line 2\n+new 2\n" in shown[1]["message"]
    assert "+new 20" not in shown[1]["message"]


@pytest.mark.parametrize("closed", [{"title": "Deny"}, None, {"title": "Allow once"}])
async def test_LSP_09_a_part_that_is_not_answered_is_a_no_to_all(start_real, tmp_path, closed: Any) -> None:
    answers = iter([{"title": "Choose parts…"}, {"title": "Take it"}, closed])
    reviewing = Reviewing(await start_real(), lambda _: next(answers))
    answer = await reviewing.begin(tmp_path, PLAIN)
    assert (await answer)["result"]["status"] == "denied"
    assert reviewing.text == "".join(LINES)


async def test_THR_approvals_a_yes_that_did_not_know_of_what_was_left_out_asks_again(
    start_real, tmp_path, no_answer
) -> None:
    """THR-approvals-parts-crossed: a message from before a hunk was left out allows neither the rest nor everything."""
    shown: list[list[str]] = []

    def choose(params: dict[str, Any]) -> Any:
        shown.append([each["title"] for each in params["actions"]])
        return no_answer if len(shown) == 1 else {"title": shown[-1][0]}

    reviewing = Reviewing(await start_real(), choose)
    answer = await reviewing.begin(tmp_path, PLAIN)
    await reviewing.asked()
    await reviewing.command("toggle", path="b.txt", hunk=0)
    (first,) = (each for each in reviewing.client.asked if each["method"] == "window/showMessageRequest")
    reviewing.client.send({"jsonrpc": "2.0", "id": first["id"], "result": {"title": "Allow once"}})
    assert (await answer)["result"]["status"] == "completed"
    assert shown[1] == ["Allow 2 of 3 once", "Deny"]
    assert reviewing.text == changed(20, 37)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("toggle", {"path": "b.txt", "hunk": 3}, "there is no such part"),
        ("toggle", {"path": "c.txt"}, "there is no such part"),
        ("toggle", {"path": "b.txt", "hunk": 0, "comment": "x" * 3_000}, "at most 2000"),
        ("toggle", {"hunk": 0}, "`path` is missing"),
        ("toggle", {"path": "b.txt", "hunk": True}, "not a whole number"),
        ("accept", {"approval_id": "other"}, "no question with this id"),
        ("reject", {"comments": "no"}, "is not known"),
    ],
)
async def test_LSP_09_what_is_not_waiting_is_said(start_real, tmp_path, silent, name, given, said) -> None:
    reviewing = Reviewing(await start_real(), silent)
    answer = await reviewing.begin(tmp_path)
    await reviewing.asked()
    params = {"command": f"remit.review.{name}", "arguments": [given]}
    error = await reviewing.client.error("workspace/executeCommand", params)
    assert said in json.dumps(error, ensure_ascii=False)
    assert (await reviewing.command("reject", comment="not today"))["accepted"]
    result = (await answer)["result"]
    assert result["status"] == "denied"
    assert "not today" in json.dumps(result)
    assert reviewing.text == "".join(LINES)


async def test_LSP_09_the_whole_question_is_a_document_while_it_waits(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    answer = await reviewing.begin(tmp_path)
    await reviewing.asked()
    assert [each["line"] for each in (await reviewing.command("show"))["parts"]] == [2, 20, 37]
    (shown,) = (each["params"] for each in reviewing.client.asked if each["method"] == "window/showDocument")
    file = Path(shown["uri"].removeprefix("file://"))
    assert "+new 20" in await asyncio.to_thread(file.read_text)
    await reviewing.command("reject")
    await answer
    assert not await asyncio.to_thread(file.exists)


async def test_LSP_09_nothing_is_shown_where_nothing_waits(start_real) -> None:
    client = await start_real()
    await client.initialize()
    uri = client.open("b.txt", "".join(LINES))
    assert await client.result("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []


async def test_LSP_09_a_hunk_is_where_its_first_change_is() -> None:
    diff = "--- a\n+++ b\n@@ -1,4 +1,3 @@\n a\n-b\n c\n d\n@@ -9,0 +9,2 @@\n+x\n+y\n@@ -20 +22 @@\n-p\n+q\n"
    assert [each.line for each in hunk_texts(diff)] == [1, 9, 19]


CONTENTS = {
    "workspace": {**EDITS, "textDocumentContent": {}, "codeLens": {"refreshSupport": True}},
    "window": {"showDocument": {"support": True}},
}


async def read(client: Any, uri: str) -> str:
    text: str = (await client.result("workspace/textDocumentContent", {"uri": uri}))["text"]
    return text


async def test_LSP_14_what_waits_is_documents_that_follow_what_is_left_out(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    client = reviewing.client
    client.handlers["workspace/textDocumentContent/refresh"] = lambda _: None
    answer = await reviewing.begin(tmp_path, CONTENTS)
    assert reviewing.announced["workspace"]["textDocumentContent"]["schemes"] == ["remit-review", "remit-audit"]
    await reviewing.asked()
    (waiting,) = (await client.result("remit/review/list"))["reviews"]
    (document,) = waiting["documents"]
    assert [await read(client, document[side]) for side in ("before", "after")] == ["".join(LINES), changed(2, 20, 37)]
    await reviewing.command("toggle", path="b.txt", hunk=1, comment="keep it")
    await client.until(lambda: refreshed(client, document["after"]))
    assert await read(client, document["after"]) == changed(2, 37)
    await reviewing.command("show")
    (shown,) = (each["params"] for each in client.asked if each["method"] == "window/showDocument")
    assert shown["uri"] == f"remit-review:/{waiting['approval_id']}/question.diff"
    assert "+new 20" in await read(client, shown["uri"])
    await reviewing.command("accept")
    assert (await answer)["result"]["status"] == "completed"
    assert reviewing.text == changed(2, 37)
    await client.until(lambda: refreshed(client, document["before"]))
    assert "it was answered, allow" in await read(client, document["after"])


def refreshed(client: Any, uri: str) -> bool:
    asked = [each for each in client.asked if each["method"] == "workspace/textDocumentContent/refresh"]
    return uri in [each["params"]["uri"] for each in asked]


async def test_LSP_14_a_call_is_told_as_in_the_terminal(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    answer = await reviewing.begin(tmp_path, CONTENTS)
    await reviewing.asked()
    await reviewing.command("reject", comment="not today")
    await answer
    params = {"command": "remit.audit.query", "arguments": [{"tool": "write_file"}]}
    (call,) = await reviewing.client.result("workspace/executeCommand", params)
    told = await read(reviewing.client, f"remit-audit:/{call['number']}")
    assert told.startswith("write_file b.txt\n")
    assert "decided   review_required by asks" in told
    assert "approval  deny by person, scope once" in told
    assert "now       the same: require_review by asks" in told
    for uri in (f"remit-audit:/{10**9}", "remit-review:/", "remit-audit:", "file:///etc/passwd", "remit-review:/a/b/c"):
        assert await reviewing.client.error("workspace/textDocumentContent", {"uri": uri})
    assert SAYS.no_question_with_this_id in await read(reviewing.client, "remit-review:/other/before/b.txt")


async def test_LSP_14_requests_do_what_the_commands_do(start_real, tmp_path, silent) -> None:
    reviewing = Reviewing(await start_real(), silent)
    client = reviewing.client
    answer = await reviewing.begin(tmp_path, PLAIN)
    assert "textDocumentContent" not in reviewing.announced["workspace"]
    await reviewing.asked()
    listed = (await client.result("remit/review/list", {"workspace_folder": str(client.root)}))["reviews"]
    assert listed == await reviewing.command("list")
    assert listed[0]["documents"] == []
    name = {"approval_id": listed[0]["approval_id"]}
    found = (await client.result("remit/review/hunks", name))["hunks"]
    assert [(each["hunk"], each["line"], each["left_out"]) for each in found] == [
        (0, 2, False),
        (1, 20, False),
        (2, 37, False),
    ]
    assert "-line 20\n+new 20\n" in found[1]["text"]
    gone = [{"path": "b.txt", "hunk": 7}]
    refused = await client.result("remit/review/resolve", {**name, "decision": "allow", "left_out": gone})
    assert (refused["accepted"], refused["reason"]) == (False, SAYS.it_leaves_out_a_hunk)
    crossed = {**name, "decision": "allow", "digest": "sha256:other"}
    assert not (await client.result("remit/review/resolve", crossed))["accepted"]
    left_out = [{"path": "b.txt", "hunk": 0, "comment": "keep the second"}]
    allowed = {**name, "decision": "allow", "digest": listed[0]["digest"], "left_out": left_out}
    assert (await client.result("remit/review/resolve", allowed))["accepted"]
    assert (await answer)["result"]["status"] == "completed"
    assert reviewing.text == changed(20, 37)
    assert (await client.error("remit/review/resolve", allowed))["data"]["code"] == "not_found"


async def test_LSP_14_a_client_that_draws_its_questions_finds_them_too_and_gets_no_lenses(start_real, tmp_path) -> None:
    reviewing = Reviewing(await start_real(), lambda _: None)
    client = reviewing.client
    await reviewing.prepare(tmp_path, CONTENTS, {"approvals": "stream"})
    _, answer = client.run("go", "T")
    await client.until(lambda: [each for each in client.events("T") if each["kind"] == "approval_required"])
    assert await reviewing.lenses() == []
    (waiting,) = (await client.result("remit/review/list"))["reviews"]
    assert await read(client, waiting["documents"][0]["after"]) == changed(2, 20, 37)
    resolution = {"approval_id": waiting["approval_id"], "decision": "deny", "comment": "no"}
    assert (await client.result("remit/review/resolve", resolution))["accepted"]
    assert (await answer)["result"]["status"] == "denied"
    assert (await client.result("remit/review/list"))["reviews"] == []
