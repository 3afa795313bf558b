"""After the person has allowed it, the edits of a session run without a question, and nothing else does (APP-15)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Answering, call, intent

from remit_governance.audit.record import AuditKind
from remit_server.chat.commands import run_command
from remit_server.chat.replies import Chat
from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.errors import RemitError


def write(path: str) -> dict[str, Any]:
    return {"calls": [intent("WRITE_FILE"), call("write_file", path=path, content="1\n")]}


class ForEdits(Answering):
    """Allows all edits of the session if that scope is offered, otherwise once."""

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.scope = "edits" if "edits" in question.scopes else "once"
        return await super().ask(question)


RUN = {"calls": [intent("EXECUTE"), call("run_command", command="true")]}
END = {"text": "ok"}


def chat_of(bench: Any) -> Chat:
    return Chat(bench.runtime, bench.settings, "s", lambda: "another")


def decided(bench: Any) -> list[tuple[str, str]]:
    """Returns who answered each question in the audit log, and with which scope."""
    kept = [record.event for record in bench.audit() if record.event.kind is AuditKind.APPROVAL_RESOLVED]
    return [(event.metadata["by"], event.metadata["scope"]) for event in kept]


async def test_APP_15_one_answer_allows_the_sessions_edits_and_no_command(make_bench: Any) -> None:
    bench = await make_bench(write("b.py"), write("new/c.py"), RUN, END)
    asker = ForEdits()
    await bench.ask("go", asker=asker)
    assert [question.title for question in asker.asked] == ["create b.py", "run true"]
    assert asker.asked[0].edits_rule is not None
    assert (bench.workspace / "new" / "c.py").read_text() == "1\n"
    assert asker.asked[1].edits_rule is None
    assert decided(bench)[:2] == [("person", "edits"), ("standing_answer", "edits")]
    assert bench.runtime.status("s").edits == "allow"

    (bench.workspace / "b.py").unlink()
    another = Answering("deny")
    await bench.ask("go", asker=another, session="t")
    assert another.asked[0].title == "create b.py", "it is an answer of one session"
    assert bench.runtime.status("t").edits == "each"


async def test_APP_15_what_is_asked_about_each_time_still_is(make_bench: Any) -> None:
    bench = await make_bench(write("conftest.py"), END)
    await run_command(chat_of(bench), "/edits allow")
    asker = Answering("deny")
    await bench.ask("go", asker=asker)
    assert [question.title for question in asker.asked] == ["create conftest.py"]
    assert "edits" not in asker.asked[0].scopes


async def test_APP_15_the_person_allows_edits_and_takes_that_back(make_bench: Any) -> None:
    bench = await make_bench(write("b.py"), END, write("c.py"), END)
    chat = chat_of(bench)
    await run_command(chat, "/edits allow")
    await bench.ask("go", asker=Answering("deny"))
    assert (bench.workspace / "b.py").exists()
    await run_command(chat, "/edits each")
    assert bench.runtime.status("s").edits == "each"
    await bench.ask("go", asker=Answering("deny"))
    assert not (bench.workspace / "c.py").exists()
    changes = [record.event for record in bench.all_audit() if record.event.kind is AuditKind.EDITS_CHANGE]
    assert [(event.metadata["decision"], event.session_id) for event in changes] == [("allow", "s"), ("ask", "s")]


async def test_APP_15_edits_stay_asked_about_where_that_cannot_be_recorded(make_bench: Any) -> None:
    bench = await make_bench()
    bench.runtime.dispatcher.parts.audit.close()
    with pytest.raises(RemitError):
        await run_command(chat_of(bench), "/edits allow")
    assert bench.runtime.status("s").edits == "each"


async def test_APP_15_another_agent_gains_nothing_by_it(make_bench: Any) -> None:
    bench = await make_bench()
    await run_command(chat_of(bench), "/edits allow")
    asker = Answering("deny")
    own = {"type": "call", "tool": "write_file", "arguments": {"path": "b.py", "content": "1\n"}, "by": "model"}
    await bench.ask({**own, "intent": "WRITE_FILE"}, asker=asker)
    assert [question.title for question in asker.asked] == ["create b.py"]
    assert not (bench.workspace / "b.py").exists()
