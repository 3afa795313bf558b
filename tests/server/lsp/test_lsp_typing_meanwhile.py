"""The person types in a file during a question about it: the edit is applied beside the typed text, or asked about
again."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

EDITS = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
ASKS = """
version: 1
capabilities:
  - { name: reads, match: { syscall: fs.read }, action: allow }
  - { name: asks, match: { syscall: fs.write }, action: require_review, reason: "writes are looked at" }
"""
BEFORE = "".join(f"line_{n} = {n}\n" for n in range(20))
AFTER = BEFORE.replace("line_10 = 10\n", "line_10 = 'ten'\n")
EDIT = {"path": "a.py", "old_text": "line_10 = 10", "new_text": "line_10 = 'ten'"}


class Editor:
    """An editor with one buffer, whose person types `typed` while the first question is open."""

    def __init__(self, client: Any, text: str) -> None:
        self.client, self.text, self.version = client, text, 1
        self.uri = client.open("a.py", text)
        client.handlers["workspace/applyEdit"] = self.apply

    def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        self.client.change(self.uri, self.version, {"text": text})

    def apply(self, params: Any) -> dict[str, bool]:
        (change,) = params["edit"]["documentChanges"]
        if change["textDocument"]["version"] != self.version:
            return {"applied": False}
        (edit,) = change["edits"]
        lines = self.text.splitlines(keepends=True)
        start, end = (
            sum(map(len, lines[: place["line"]])) + place["character"]
            for place in (edit["range"]["start"], edit["range"]["end"])
        )
        self.type(self.text[:start] + edit["newText"] + self.text[end:])
        return {"applied": True}

    async def edit(self, *answers: tuple[str, str], arguments: dict[str, Any] = EDIT, tool: str = "edit_file") -> Any:
        """Runs one edit of the person's own; each answer is a decision, and the text that the buffer has by then."""
        call = {"type": "call", "tool": tool, "arguments": arguments, "intent": "CODE"}
        request = {"session_id": "s", "turn_id": "t", "input": call, "partialResultToken": "T"}
        _, ended = self.client.start("remit/run", request)
        for number, (decision, text) in enumerate(answers):
            await self.client.until(lambda number=number: len(self.events("approval_required")) > number)
            question = self.events("approval_required")[number]
            if text != self.text:
                self.type(text)
            answer = {"approval_id": question["approval_id"], "decision": decision, "digest": question["digest"]}
            assert (await self.client.result("remit/approval/respond", answer))["accepted"]
        assert (await ended)["result"]["status"]
        (result,) = self.events("tool_result")
        return result

    def events(self, kind: str) -> list[Any]:
        return [event for event in self.client.events("T") if event["kind"] == kind]


@pytest.fixture
async def make(start_real, tmp_path):
    async def made(text: str = BEFORE) -> Editor:
        config = tmp_path / "config"
        config.mkdir()
        (config / "policy.yaml").write_text(ASKS)
        client = await start_real()
        (client.root / "a.py").write_text(text)
        await client.initialize(EDITS, {"approvals": "stream"})
        return Editor(client, text)

    return made


@pytest.mark.parametrize("tool", ["edit_file", "line", "write_file"])
async def test_typing_elsewhere_is_kept_and_nobody_is_asked_twice(make, tool):
    """By then `line` is the number of another line, and `write_file` does not have the typed text."""
    editor = await make()
    typed = f"# typed\n{BEFORE}# and here\n"
    arguments = {
        "edit_file": EDIT,
        "line": EDIT | {"line": 11},
        "write_file": {"path": "a.py", "content": AFTER},
    }[tool]
    name = "write_file" if tool == "write_file" else "edit_file"
    result = await editor.edit(("allow", typed), arguments=arguments, tool=name)
    assert result["ok"], result
    assert editor.text == f"# typed\n{AFTER}# and here\n"
    assert len(editor.events("approval_required")) == 1
    assert "are kept" in result["output"]


async def test_typing_where_the_edit_is_asks_again_about_what_is_there(make):
    editor = await make()
    typed = BEFORE.replace("line_11 = 11", "line_11 = 'typed'")
    result = await editor.edit(("allow", typed), ("allow", typed))
    assert result["ok"], result
    first, second = editor.events("approval_required")
    assert "'typed'" not in first["diffs"][0]["diff"]
    assert "'typed'" in second["diffs"][0]["diff"]
    assert editor.text == typed.replace("line_10 = 10", "line_10 = 'ten'")


async def test_no_to_the_second_question_leaves_what_was_typed(make):
    editor = await make()
    typed = BEFORE.replace("line_9 = 9", "line_9 = 'typed'")
    result = await editor.edit(("allow", typed), ("deny", typed))
    assert result["error"]["code"] == "approval_denied"
    assert editor.text == typed


async def test_text_that_is_gone_is_said_to_be_gone(make):
    editor = await make()
    typed = BEFORE.replace("line_10 = 10\n", "")
    result = await editor.edit(("allow", typed))
    assert result["error"]["code"] == "no_match"
    assert editor.text == typed


async def test_the_audit_log_says_that_the_edit_was_fitted_in(make):
    editor = await make()
    await editor.edit(("allow", f"# typed\n{BEFORE}"))
    assert await editor.client.shutdown() == 0
    state = next((editor.client.root.parent / "state").glob("work-*"))
    stored = b"".join(file.read_bytes() for file in state.rglob("*") if file.is_file())
    assert b'"rebased":"a.py: sha256:' in stored
