"""A turn's edits are collected and reviewed together at its end (APP-10), and nobody else sees them before (APP-11)."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.audit.record import AuditKind
from remit_server.contract import ApprovalAnswer, ApprovalRequired, CallMade, LeftOut
from remit_server.harness.ports import AskingStyle
from remit_server.sessions.export import to_markdown

ASKS = """\
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - name: asks
    match: { syscall: [fs.write, fs.delete] }
    except: [{ path_glob: "free/**" }]
    action: require_review
  - { name: runs, match: { syscall: [process.exec] }, action: allow }
  - { name: own, match: { syscall: [fs.write], path_glob: "free/**" }, action: allow }
  - { name: kept, match: { syscall: [fs.write, fs.read], path_glob: "kept/**" }, action: deny }
"""
LINES = [f"line {n}\n" for n in range(40)]
BEFORE = "".join(LINES)


def changed(*numbers: int) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(LINES))


def writes(path: str, content: str) -> dict[str, Any]:
    return call("write_file", path=path, content=content)


def code(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [intent("CODE"), *calls]}


def own(tool: str, intent: str = "ANALYZE", **arguments: Any) -> dict[str, Any]:
    return {"type": "call", "tool": tool, "arguments": arguments, "intent": intent}


DONE = {"text": "done"}


async def bench_of(make_bench: Any, *steps: dict[str, Any], **more: Any) -> Bench:
    bench: Bench = await make_bench(*steps, **{"policy": ASKS, "when": "turn", **more})
    (bench.workspace / "b.txt").write_text(BEFORE)
    return bench


def read(bench: Bench, path: str) -> str | None:
    file = bench.workspace / path
    return file.read_text() if file.is_file() else None


@dataclass
class Taking:
    """Looks at the files when it is asked, and then answers."""

    bench: Bench
    left_out: tuple[LeftOut, ...] = ()
    decision: str = "allow"
    comment: str | None = None
    before: Any = lambda: None
    style: AskingStyle = "callback"
    asked: list[ApprovalRequired] = field(default_factory=list)
    held: list[str | None] = field(default_factory=list)

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        self.held.append(read(self.bench, "b.txt"))
        self.before()
        return ApprovalAnswer(
            approval_id=question.approval_id,
            decision=self.decision,  # type: ignore[arg-type]
            digest=question.digest,
            left_out=self.left_out if len(self.asked) == 1 else (),
            comment=self.comment,
        )


async def test_APP_10_one_question_is_about_all_edits_of_a_turn(make_bench: Any) -> None:
    edits = [
        code(writes("new/c.txt", "made\n"), call("edit_file", path="b.txt", old_text="line 2\n", new_text="new 2\n")),
        code(call("edit_file", path="b.txt", old_text="line 30\n", new_text="new 30\n")),
        DONE,
    ]
    bench = await bench_of(make_bench, *edits)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    (question,) = asker.asked
    assert asker.held == [BEFORE]
    assert {diff.path: diff.hunks for diff in question.diffs} == {"new/c.txt": 0, "b.txt": 2}
    assert question.by_hunk
    assert (read(bench, "new/c.txt"), read(bench, "b.txt")) == ("made\n", changed(2, 30))
    *collected, review = bench.of("tool_result")
    assert [(each.ok, each.changed_files) for each in collected] == [(True, ())] * 3
    assert all(SAYS.in_no_file_yet in each.output for each in collected)
    assert (review.tool, set(review.changed_files)) == ("review_edits", {"new/c.txt", "b.txt"})


async def test_APP_10_without_the_setting_each_edit_is_asked_about(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x"), writes("c.txt", "y")), DONE, when="each")
    asker = Answering()
    await bench.ask("go", asker=asker)
    assert len(asker.asked) == 2


async def test_APP_10_what_is_left_out_goes_back_to_the_model(make_bench: Any, tmp_path: Path) -> None:
    traffic = tmp_path / "traffic.jsonl"
    steps = (code(writes("b.txt", changed(2, 20)), writes("c.txt", "c\n")), DONE, code(writes("b.txt", changed(2, 9))))
    bench = await bench_of(make_bench, *steps, DONE, record=traffic)
    asker = Taking(bench, (LeftOut(path="b.txt", hunk=1, comment="the ninth, please"),))
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert asker.held == [BEFORE, changed(2)]
    assert (read(bench, "b.txt"), read(bench, "c.txt")) == (changed(2, 9), "c\n")
    assert "b.txt hunk 2: the ninth, please" in traffic.read_text()


@pytest.mark.parametrize("comment", ["use tabs", None])
async def test_APP_10_after_a_no_nothing_is_written_and_the_model_goes_on(make_bench: Any, comment: str | None) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n"), writes("c.txt", "y\n")), DONE, {"text": "I see"})
    result = await bench.ask("go", asker=Taking(bench, decision="deny", comment=comment))
    assert (result.status, result.final_output) == ("denied", "I see")
    assert (read(bench, "b.txt"), read(bench, "c.txt")) == (BEFORE, None)
    assert bench.of("tool_result")[-1].error.code == "approval_denied"


async def test_APP_10_no_answer_in_time_writes_nothing(make_bench: Any) -> None:
    @dataclass
    class Silent:
        style: AskingStyle = "callback"

        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            await asyncio.sleep(60)
            raise AssertionError(question)

    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE, DONE, approval_timeout_s=0.1)
    assert (await bench.ask("go", asker=Silent())).status == "denied"
    assert read(bench, "b.txt") == BEFORE


async def test_APP_10_where_nobody_can_be_asked_an_edit_is_refused_at_once(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE)
    result = await bench.ask("go", asker=Answering(style="never"))
    assert (result.status, result.error and result.error.code) == ("denied", "approval_unavailable")
    assert [each.tool for each in bench.of("tool_result")] == ["write_file"]


async def test_APP_10_a_deny_is_a_deny_at_once_and_an_allow_is_written_at_once(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("kept/x", "x"), writes("free/x", "x"), writes("b.txt", "x")), DONE)
    asker = Taking(bench, before=lambda: seen.append(read(bench, "free/x")))
    seen: list[str | None] = []
    await bench.ask("go", asker=asker)
    # The calls run at the same time, so any of them may end first; the review has no path.
    paths = {each.tool_call_id: each.arguments.get("path") for each in bench.of("tool_call")}
    ended = {paths[each.tool_call_id]: each.ok for each in bench.of("tool_result")}
    assert ended == {"kept/x": False, "free/x": True, "b.txt": True, None: True}
    assert bench.of("tool_result")[-1].tool == "review_edits"
    assert seen == ["x"]
    assert read(bench, "kept/x") is None


async def test_APP_10_edits_that_take_each_other_back_ask_nothing(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), code(writes("b.txt", BEFORE)), DONE)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert asker.asked == []
    assert SAYS.nothing_is_left_to_write in bench.of("tool_result")[-1].output


async def test_APP_10_a_command_waits_for_the_review(make_bench: Any) -> None:
    run = {"calls": [intent("EXECUTE"), call("run_command", command="cat b.txt")]}
    bench = await bench_of(make_bench, code(writes("b.txt", "changed\n")), run, DONE)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert len(asker.asked) == 1
    results = bench.of("tool_result")
    assert [each.tool for each in results] == ["write_file", "review_edits", "run_command"]
    assert "changed" in results[-1].output


async def test_APP_10_what_stands_after_a_move_in_its_step_is_collected_for_the_next_review(make_bench: Any) -> None:
    moves = call("move_file", path="a.py", new_path="m.py")
    step = code(writes("b.txt", "x\n"), moves, writes("c.txt", "y\n"), writes("d.txt", "z\n"))
    bench = await bench_of(make_bench, step, DONE)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    shown = [{diff.path for diff in question.diffs} for question in asker.asked]
    assert shown == [{"b.txt"}, {"m.py"}, {"c.txt", "d.txt"}]
    assert asker.held == [BEFORE, "x\n", "x\n"]


async def test_APP_10_a_command_does_not_run_where_the_edits_before_it_are_not_written(
    make_bench: Any, tmp_path: Path
) -> None:
    traffic = tmp_path / "traffic.jsonl"
    run = {"calls": [intent("EXECUTE"), call("run_command", command="touch ran")]}
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), run, DONE, record=traffic)
    await bench.ask("go", asker=Taking(bench, decision="deny", comment="not so"))
    last = bench.of("tool_result")[-1]
    assert (last.tool, last.error.code) == ("run_command", "stale")
    assert (read(bench, "b.txt"), read(bench, "ran")) == (BEFORE, None)
    assert "the person said no: not so" in traffic.read_text()


async def test_THR_approvals_a_tool_of_another_intent_brings_no_question(make_bench: Any) -> None:
    """THR-approvals-collected: the gate refuses the call, and the collected edits wait on."""
    wrong = {"calls": [intent("READ_FILE"), call("run_command", command="cat b.txt")]}
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), wrong, DONE)
    asker = Taking(bench, before=lambda: seen.append(bench.kinds().count("tool_result")))
    seen: list[int] = []
    await bench.ask("go", asker=asker)
    assert seen == [2]
    assert bench.of("tool_result")[1].error.code == "tool_not_allowed_for_intent"


async def test_APP_11_reads_of_the_turn_see_what_is_collected(make_bench: Any) -> None:
    looks = (
        call("read_file", path="new/c.py"),
        call("read_file", path="b.txt"),
        call("list_files", pattern="*", path="new"),
        call("list_files", pattern="*.py"),
        call("search_files", pattern="def made|changed"),
        call("search_files", pattern="made", path="new/c.py"),
        call("repo_map"),
    )
    edits = code(writes("new/c.py", "def made():\n    return 1\n"), writes("b.txt", "changed\n"))
    steps = [{"calls": [intent("ANALYZE"), look]} for look in looks]
    bench = await bench_of(make_bench, edits, *steps, DONE)
    await bench.ask("go", asker=Taking(bench, decision="deny"))
    _, _, made, changed_, below, listed, found, named, mapped, _ = bench.of("tool_result")
    assert "1|def made():" in made.output
    assert "1|changed" in changed_.output
    assert below.ok, below.output
    assert below.data["files"] == ["new/c.py"]
    assert listed.data["files"] == ["a.py", "new/c.py"]
    assert "2 matches" in found.output
    assert "b.txt" in found.output
    assert "new/c.py" in found.output
    assert named.data["total_matches"] == 1
    assert "made" in mapped.output


async def test_APP_11_another_session_and_the_files_see_nothing_of_it(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n"), writes("c.txt", "y\n")), DONE)

    @dataclass
    class Looking:
        style: AskingStyle = "callback"
        seen: list[Any] = field(default_factory=list)

        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            before = len(bench.of("tool_result"))
            reads = (own("read_file", path="b.txt"), own("list_files", pattern="c.txt"))
            await bench.ask(*reads, session="other")
            self.seen = bench.of("tool_result")[before:]
            return ApprovalAnswer(approval_id=question.approval_id, decision="allow")

    asker = Looking()
    await bench.ask("go", asker=asker)
    assert "line 0" in asker.seen[0].output
    assert asker.seen[1].data["files"] == []
    assert read(bench, "b.txt") == "x\n"


async def test_THR_approvals_a_secret_that_is_collected_is_not_read(make_bench: Any) -> None:
    """THR-approvals-collected: a collected edit, which is in no file yet, is redacted like a file."""
    key = "ghp_" + "a1B2" * 9
    steps = [
        {"calls": [intent("ANALYZE"), each]}
        for each in (call("read_file", path="c"), call("search_files", pattern="ghp"))
    ]
    bench = await bench_of(make_bench, code(writes("c", f"token = '{key}'\n")), *steps, DONE)
    await bench.ask("go", asker=Taking(bench))
    assert read(bench, "c") == f"token = '{key}'\n"
    assert all(key not in each.model_dump_json() for each in bench.of("tool_result"))


async def test_THR_approvals_a_policy_that_is_tightened_meanwhile_counts(make_bench: Any) -> None:
    """THR-approvals-collected: edits that were collected under the old rules are judged under the new ones."""
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE, DONE)
    tight = ASKS.replace("action: require_review", "action: deny")

    async def tighten() -> None:
        bench.settings.person_policy.write_text(tight)
        await bench.runtime.reload()

    @dataclass
    class Late:
        style: AskingStyle = "callback"
        asked: int = 0

        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            self.asked += 1
            await tighten()
            return ApprovalAnswer(approval_id=question.approval_id, decision="allow")

    asker = Late()
    await bench.ask("go", asker=asker)
    assert asker.asked == 1
    assert read(bench, "b.txt") == BEFORE
    assert not bench.of("tool_result")[-1].ok


async def test_THR_approvals_a_link_put_in_place_of_a_folder_meanwhile_leads_nowhere(
    make_bench: Any, tmp_path: Path
) -> None:
    """THR-approvals-collected: a folder is replaced by a link between collecting and review."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bench = await bench_of(make_bench, code(writes("d/x.txt", "x\n"), writes("d/new.txt", "y\n")), DONE, DONE)
    (bench.workspace / "d").mkdir()
    (bench.workspace / "d/x.txt").write_text("old\n")

    def swap() -> None:
        shutil.rmtree(bench.workspace / "d")
        (bench.workspace / "d").symlink_to(elsewhere)

    await bench.ask("go", asker=Taking(bench, before=swap))
    assert list(elsewhere.iterdir()) == []
    assert not bench.of("tool_result")[-1].ok


async def test_APP_10_what_was_changed_elsewhere_meanwhile_is_kept(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", changed(2))), DONE)
    asker = Taking(bench)

    def change_first() -> None:
        if len(asker.asked) == 1:
            (bench.workspace / "b.txt").write_text(changed(30))

    asker.before = change_first
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert len(asker.asked) == 2
    assert read(bench, "b.txt") == changed(2, 30)


async def test_APP_10_what_does_not_fit_any_more_is_left_and_the_model_told(make_bench: Any, tmp_path: Path) -> None:
    traffic = tmp_path / "traffic.jsonl"
    edits = code(writes("b.txt", changed(2)), writes("c.txt", "c\n"))
    bench = await bench_of(make_bench, edits, DONE, DONE, record=traffic)

    @dataclass
    class Meanwhile:
        style: AskingStyle = "callback"
        asked: list[ApprovalRequired] = field(default_factory=list)

        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            self.asked.append(question)
            if len(self.asked) == 1:
                await bench.ask(own("write_file", "CODE", path="b.txt", content="quite another\n"), session="other")
            return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest)

    asker = Meanwhile()
    await bench.ask("go", asker=asker)
    assert [diff.path for diff in asker.asked[-1].diffs] == ["c.txt"]
    assert (read(bench, "b.txt"), read(bench, "c.txt")) == ("quite another\n", "c\n")
    assert "not written: b.txt" in traffic.read_text()


async def test_APP_10_a_turn_that_is_cancelled_while_it_is_asked_writes_nothing(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE)

    @dataclass
    class Stopping:
        style: AskingStyle = "callback"

        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            bench.runtime.cancel("s")
            await asyncio.sleep(60)
            raise AssertionError(question)

    assert (await bench.ask("go", asker=Stopping())).status == "cancelled"
    assert read(bench, "b.txt") == BEFORE
    assert bench.of("approval_resolved")[-1].by == "cancelled"
    assert [each.event.kind for each in bench.audit()][-1] is AuditKind.TOOL_OUTCOME


async def test_APP_10_a_turn_that_is_cut_short_before_its_review_says_that_it_is_lost(
    make_bench: Any, tmp_path: Path
) -> None:
    traffic = tmp_path / "traffic.jsonl"
    edits = code(writes("b.txt", "x\n"))
    bench = await bench_of(make_bench, edits, {"hang": True}, {"text": "as it is"}, record=traffic)
    asker = Taking(bench)
    running = asyncio.create_task(bench.ask("go", asker=asker))
    await bench.until("tool_result")
    bench.runtime.cancel("s")
    assert (await running).status == "cancelled"
    assert (asker.asked, read(bench, "b.txt")) == ([], BEFORE)
    assert [(each.tool, each.ok) for each in bench.of("tool_result")] == [("write_file", True), ("review_edits", False)]
    first, review = [each.event for each in bench.audit() if each.event.kind is AuditKind.TOOL_OUTCOME]
    assert (first.metadata["review"], review.deny_reason) == (review.tool_call_id, review.output_summary)
    await bench.ask("and now?")
    assert SAYS.the_turn_ended_before_it in traffic.read_text()


async def test_APP_10_a_model_that_gives_out_leaves_its_whole_edits_to_review(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), {"error": "it broke"})
    assert (await bench.ask("go", asker=Taking(bench))).status == "failed"
    assert read(bench, "b.txt") == "x\n"


async def test_APP_10_the_last_step_of_a_turn_is_reviewed_too(make_bench: Any) -> None:
    """The review comes before the model's last answer, which takes the place of further steps."""
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE, max_steps=1)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert read(bench, "b.txt") == "x\n"
    assert [event.kind for event in bench.events if event.kind in {"approval_resolved", "warning"}][-1] == "warning"


async def test_APP_10_the_log_links_each_call_with_its_review(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n"), writes("c.txt", "y\n")), DONE)
    await bench.ask("go", asker=Taking(bench))
    events = [each.event for each in bench.audit() if each.event.kind is not AuditKind.INTENT_SELECTED]
    outcomes = [event for event in events if event.kind is AuditKind.TOOL_OUTCOME]
    first, second, review = outcomes
    for each in (first, second):
        assert each.metadata["review"] == review.tool_call_id
        assert "changed" not in each.metadata
        assert each.output_summary is not None
        assert each.output_summary.startswith("collected for review: ")
    assert review.metadata["collects"] == f"{first.tool_call_id}, {second.tool_call_id}"
    assert set(review.metadata["changed"].split(", ")) == {"b.txt", "c.txt"}
    asked = [event.tool_call_id for event in events if event.kind is AuditKind.APPROVAL_REQUIRED]
    assert asked == [review.tool_call_id]
    assert (await bench.runtime.verify_audit())[0]


async def test_APP_10_the_session_s_file_says_that_nobody_called_the_review(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n")), DONE)
    await bench.ask("go", asker=Taking(bench))
    records = bench.runtime.sessions.read(bench.runtime.sessions.find("s"))
    made = [(each.name, each.caller) for each in records if isinstance(each, CallMade)]
    assert made[1:] == [("write_file", "model"), ("review_edits", "remit")]
    assert "review_edits (Remit)" in to_markdown(records)


async def test_APP_10_what_a_review_wrote_is_undone_like_any_other(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x\n"), writes("c.txt", "y\n")), DONE)
    await bench.ask("go", asker=Taking(bench))
    assert (await bench.ask(own("undo_changes", "CODE"))).status == "completed"
    assert (read(bench, "b.txt"), read(bench, "c.txt")) == (BEFORE, None)


async def test_APP_10_what_cannot_be_collected_is_asked_about_by_itself_after_the_rest(make_bench: Any) -> None:
    moves = code(writes("b.txt", "x\n"), call("move_file", path="b.txt", new_path="m.txt"))
    bench = await bench_of(make_bench, moves, DONE)
    asker = Taking(bench)
    assert (await bench.ask("go", asker=asker)).status == "completed"
    assert [question.tool for question in asker.asked] == ["review_edits", "move_file"]
    assert (read(bench, "b.txt"), read(bench, "m.txt")) == (None, "x\n")


@pytest.mark.parametrize("by", ["person", "model"])
async def test_APP_10_a_call_that_came_with_the_request_is_asked_about_at_once(make_bench: Any, by: str) -> None:
    bench = await bench_of(make_bench, DONE)
    asker = Taking(bench)
    await bench.ask({**own("write_file", "CODE", path="b.txt", content="x\n"), "by": by}, asker=asker)
    assert [question.tool for question in asker.asked] == ["write_file"]
    assert read(bench, "b.txt") == "x\n"


async def test_APP_10_the_chat_changes_it_from_the_next_message_on(make_bench: Any) -> None:
    bench = await bench_of(make_bench, code(writes("b.txt", "x"), writes("c.txt", "y")), DONE, when="each")
    assert bench.runtime.edits("s") == "each"
    assert bench.runtime.edits("s", "turn") == "turn"
    asker = Answering()
    await bench.ask("go", asker=asker)
    assert len(asker.asked) == 1


PATHS = ["b.txt", "c.txt", "d/e.txt"]
TEXTS = ["", "one\n", "one\ntwo\n", "two\r\n", changed(3), changed(3, 30), "\ufeffone\n"]
EDITS = st.one_of(
    st.builds(writes, st.sampled_from(PATHS), st.sampled_from(TEXTS)),
    st.builds(
        lambda path, old, new: call("edit_file", path=path, old_text=old, new_text=new),
        st.sampled_from(PATHS),
        st.sampled_from(["one", "two", "line 3\n", "new 3\n"]),
        st.sampled_from(["one", "three", "\n", ""]),
    ),
    st.builds(lambda path: call("delete_file", path=path), st.sampled_from(PATHS)),
    st.builds(
        lambda old, new: call("move_file", path=old, new_path=new), st.sampled_from(PATHS), st.sampled_from(PATHS)
    ),
)


@settings(max_examples=examples(15))
@given(steps=st.lists(st.lists(EDITS, min_size=1, max_size=3), max_size=4))
async def test_APP_10_what_is_accepted_whole_is_what_each_edit_by_itself_gives(
    steps: list[list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    from bench_runtime import benches

    found = []
    async with benches(tmp_path_factory.mktemp("both")) as make_bench:
        for when in ("each", "turn"):
            bench = await bench_of(make_bench, *(code(*calls) for calls in steps), DONE, name=when, when=when)
            assert (await bench.ask("go", asker=Answering())).status in {"completed", "failed"}
            files = sorted(path for path in bench.workspace.rglob("*") if path.is_file())
            found.append({path.relative_to(bench.workspace).as_posix(): path.read_bytes() for path in files})
    assert found[0] == found[1]
