"""A person takes only a part of the shown changes: exactly that is written, and their words reach the model
(APP-09)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_governance.audit.record import AuditKind
from remit_server.contract import ApprovalAnswer, ApprovalRequired, LeftOut
from remit_server.harness.approval.review import describe_choices, hunks_of, parts_of, take
from remit_server.harness.ports import AskingStyle
from remit_server.tools.spec import FileChange, Outcome, WritePlan
from remit_server.workspace.content.files import image_of
from remit_server.workspace.paths.workspace_path import Workspace

ASKS = """\
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: asks, match: { syscall: [fs.write, fs.delete] }, action: require_review }
"""
LINES = [f"line {n}\n" for n in range(40)]
BEFORE = "".join(LINES)


@dataclass
class Choosing:
    """Leaves out parts, and answers the rest as its fields say."""

    left_out: tuple[LeftOut, ...] = ()
    comment: str | None = None
    decision: str = "allow"
    scope: str = "once"
    before: Any = lambda: None
    style: AskingStyle = "callback"
    asked: list[ApprovalRequired] = field(default_factory=list)

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        self.before()
        return ApprovalAnswer(
            approval_id=question.approval_id,
            decision=self.decision,  # type: ignore[arg-type]
            scope=self.scope,  # type: ignore[arg-type]
            digest=question.digest,
            left_out=self.left_out,
            comment=self.comment,
        )


def changed(*numbers: int) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(LINES))


def writes(content: str, path: str = "b.txt") -> list[dict[str, Any]]:
    return [{"calls": [intent("CODE"), call("write_file", path=path, content=content)]}, {"text": "done"}]


async def bench_of(make_bench: Any, *steps: dict[str, Any], **more: Any) -> Bench:
    bench: Bench = await make_bench(*steps, policy=ASKS, **more)
    (bench.workspace / "b.txt").write_text(BEFORE)
    return bench


async def test_APP_09_two_hunks_are_taken_and_one_with_a_comment_goes_back_to_the_model(
    make_bench: Any, tmp_path: Path
) -> None:
    traffic = tmp_path / "traffic.jsonl"
    bench = await bench_of(make_bench, *writes(changed(2, 20, 37)), record=traffic)
    asker = Choosing((LeftOut(path="b.txt", hunk=1, comment="keep the\n twentieth"),))
    assert (await bench.ask("go", asker=asker)).status == "completed"
    (question,) = asker.asked
    assert question.by_hunk
    assert [diff.hunks for diff in question.diffs] == [3]
    assert (bench.workspace / "b.txt").read_text() == changed(2, 37)
    (result,) = bench.of("tool_result")
    assert result.ok
    assert "accepted 2 of 3 changes" in result.output
    assert "b.txt hunk 2: keep the twentieth" in result.output
    assert "keep the twentieth" in traffic.read_text()
    (reviewed,) = bench.of("review_resolved")
    assert (reviewed.review_id, reviewed.accepted, reviewed.rejected) == (question.approval_id, 2, 1)


async def test_APP_09_the_log_says_which_part_was_taken(make_bench: Any) -> None:
    bench = await bench_of(make_bench, *writes(changed(2, 20)))
    await bench.ask("go", asker=Choosing((LeftOut(path="b.txt", hunk=0),)))
    (answer,) = (each for each in bench.audit() if each.event.kind is AuditKind.APPROVAL_RESOLVED)
    assert answer.event.metadata["left_out"] == "b.txt hunk 1"
    outcome = [each for each in bench.audit() if each.event.kind is AuditKind.TOOL_OUTCOME][-1]
    (diff,) = bench.of("approval_required")[0].diffs
    written = bench.of("tool_result")[-1].data["files"][0]["digest"]
    assert outcome.event.metadata["parts"] == f"b.txt: {diff.after_digest} as {written}"


async def test_APP_09_what_was_taken_in_part_is_undone_like_any_other(make_bench: Any) -> None:
    bench = await bench_of(make_bench, *writes(changed(2, 20)))
    await bench.ask("go", asker=Choosing((LeftOut(path="b.txt", hunk=0),)))
    undo = {"type": "call", "tool": "undo_changes", "arguments": {}, "intent": "CODE"}
    assert (await bench.ask(undo)).status == "completed"
    assert (bench.workspace / "b.txt").read_text() == BEFORE


@pytest.mark.parametrize(
    "left_out", [(LeftOut(path="b.txt", comment="no"),), (LeftOut(path="b.txt", hunk=0), LeftOut(path="b.txt", hunk=1))]
)
async def test_APP_09_who_leaves_out_everything_says_no(make_bench: Any, left_out: tuple[LeftOut, ...]) -> None:
    bench = await bench_of(make_bench, *writes(changed(2, 20)))
    await bench.ask("go", asker=Choosing(left_out))
    (result,) = bench.of("tool_result")
    assert (result.ok, result.error.code) == (False, "approval_denied")
    assert (bench.workspace / "b.txt").read_text() == BEFORE
    outcome = [each for each in bench.audit() if each.event.kind is AuditKind.TOOL_OUTCOME][-1]
    assert outcome.event.denied_by == "person"


async def test_APP_09_a_no_carries_its_reason_to_the_model(make_bench: Any) -> None:
    bench = await bench_of(make_bench, *writes(changed(2)))
    await bench.ask("go", asker=Choosing(decision="deny", comment="use the other file"))
    (result,) = bench.of("tool_result")
    assert "the person said no: use the other file" in result.output


@pytest.mark.parametrize(
    "answer",
    [
        {"left_out": (LeftOut(path="b.txt", hunk=2),)},
        {"left_out": (LeftOut(path="other.txt"),)},
        {"left_out": (LeftOut(path="b.txt", hunk=0),), "scope": "session"},
    ],
)
async def test_THR_approvals_parts_that_were_not_shown_are_no_answer(make_bench: Any, answer: dict[str, Any]) -> None:
    """THR-approvals-parts: an answer that names hunks that were not shown, or covers later ones, is refused."""
    bench = await bench_of(make_bench, *writes(changed(2, 20)), approval_timeout_s=0.2)
    asker = Choosing(**answer)
    await bench.ask("go", asker=asker)
    assert (bench.workspace / "b.txt").read_text() == BEFORE
    assert [each.error.code for each in bench.of("tool_result")] == ["approval_expired"]
    (refused,) = (each for each in bench.audit() if each.event.kind is AuditKind.APPROVAL_REFUSED)
    assert refused.event.deny_reason == "not_offered"


async def test_THR_approvals_parts_of_a_file_that_changed_meanwhile_are_asked_about_again(make_bench: Any) -> None:
    """THR-approvals-parts-stale: the numbers of the shown hunks are not applied to a changed text."""
    bench = await bench_of(make_bench, *writes(changed(2, 20)))
    file = bench.workspace / "b.txt"
    asker = Choosing((LeftOut(path="b.txt", hunk=0),), before=lambda: file.write_text("first\n" + BEFORE))
    await bench.ask("go", asker=asker)
    assert len(asker.asked) == 2
    assert asker.asked[0].digest != asker.asked[1].digest
    assert file.read_text() != changed(20)


async def test_APP_09_of_several_files_one_is_left_out(make_bench: Any) -> None:
    diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-total = 0\n+total = 1\n"
    diff = diff.replace("@@ -1 +1 @@", "@@ -1,3 +1,3 @@") + " for n in (1, 2):\n     total += n\n"
    bench = await bench_of(make_bench, {"calls": [intent("CODE"), call("apply_diff", diff=diff)]}, {"text": "done"})
    await bench.ask("go", asker=Choosing((LeftOut(path="new.txt", comment="not here"),)))
    assert (bench.workspace / "a.py").read_text().startswith("total = 1\n")
    assert not (bench.workspace / "new.txt").exists()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
async def test_APP_09_of_what_a_command_wrote_a_file_is_left_out(make_bench: Any) -> None:
    policy = ASKS + "  - { name: run, match: { syscall: process.exec }, action: allow }\n"
    steps = [{"calls": [intent("EXECUTE"), call("run_command", command="echo 1 > one.txt; echo 2 > two.txt")]}]
    bench: Bench = await make_bench(*steps, {"text": "done"}, policy=policy)
    asker = Choosing((LeftOut(path="one.txt"),))
    await bench.ask("go", asker=asker)
    assert asker.asked[-1].by_hunk
    assert (bench.workspace / "two.txt").read_text() == "2\n"
    assert not (bench.workspace / "one.txt").exists()


# compared with another, obvious implementation, which reads nothing but the shown diff


def read_by_a_person(before: str, diff: str, left_out: set[int]) -> str:
    """Returns what a person would make of a diff by hand, line by line."""
    old, new, at, number, taken = before.splitlines(keepends=True), list[str](), 0, -1, True
    lines = diff.splitlines(keepends=True)[2:]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("@@ "):
            number += 1
            taken = number not in left_out
            start, _, count = line.split()[1].lstrip("-").partition(",")
            begin = int(start) if count == "0" else int(start) - 1
            new += old[at:begin]
            at = begin
        elif line.startswith("+"):
            text = line[1:-1] if following.startswith("\\") else line[1:]
            new += [text] if taken else []
        elif not line.startswith("\\"):
            new += [] if taken and line.startswith("-") else [old[at]]
            at += 1
    return "".join(new + old[at:])


def change_of(folder: Path, before: str, after: str) -> FileChange:
    path = Workspace(folder).resolve("t.txt")
    return FileChange(path, image_of(before.encode()), after.encode())


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "  d\n"]), min_size=1, max_size=60)
EDITS = st.sampled_from(["{0}", "{0}", "{0}", "{0}", "new\n", "", "{0}more\n"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("taken")


@given(TEXTS, st.data())
@settings(max_examples=examples(200), deadline=None)
def test_APP_09_the_rest_is_what_a_person_would_make_of_the_shown_hunks(
    folder: Path, lines: list[str], data: st.DataObject
) -> None:
    ends = data.draw(st.tuples(st.booleans(), st.booleans()))
    edited = "".join(data.draw(EDITS).format(line) for line in lines)
    before, after = (
        text.removesuffix("\n") if cut else text for text, cut in zip(("".join(lines), edited), ends, strict=True)
    )
    change = change_of(folder, before, after)
    plan = WritePlan((change,), Outcome("", ""))
    left_out = data.draw(st.sets(st.integers(0, parts_of(change) - 1)))
    taken = take(plan, [LeftOut(path="t.txt", hunk=number) for number in left_out])
    (shown,) = describe_choices(plan)
    if before == after:
        assert shown.hunks == 0
        return
    assert shown.hunks == len(hunks_of(change)) == shown.diff.count("\n@@ ")
    if taken is None:
        assert len(left_out) == shown.hunks
        return
    assert (taken.accepted, taken.shown) == (shown.hunks - len(left_out), shown.hunks)
    assert taken.plan.changes[0].after == read_by_a_person(before, shown.diff, left_out).encode()
    assert bool(left_out) or taken.plan.changes == plan.changes
