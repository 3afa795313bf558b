"""An answer with scope `always` or `session` holds only in the workspace where it was given (APP-05)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Answering, Bench
from threat_bench import own, result

ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }
  - { name: runs, match: { syscall: process.exec }, action: require_review }
"""


async def write(bench: Bench, scope: str = "once") -> list[Any]:
    """Writes a file, and returns the questions that were asked."""
    asker = Answering(scope=scope)
    await result(bench, "write_file", asker=asker, path="b.py", content=str(len(bench.events)))
    return asker.asked


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
async def test_THR_approvals_always_in_one_project_runs_nothing_in_a_hostile_one(make_bench: Any) -> None:
    """THR-approvals-always-workspace: the same command in the same folder, but the `run.sh` is another project's."""
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    hostile: Bench = await make_bench(name="hostile")
    for bench in (mine, hostile):
        (bench.workspace / "run.sh").write_text(f"echo {bench.workspace.name}\n")
    assert (await result(mine, "run_command", asker=Answering(scope="always"), command="sh run.sh")).ok
    assert (await result(mine, "run_command", asker=Answering("deny"), command="sh run.sh")).ok
    for bench in (hostile, await make_bench(name="later")):  # a server from before the answer, and one from after it
        asker = Answering("deny")
        answer = await result(bench, "run_command", asker=asker, command="sh run.sh")
        assert (len(asker.asked), answer.error.code) == (1, "approval_denied")


async def test_THR_approvals_everywhere_is_a_choice_of_its_own_and_said_so(make_bench: Any) -> None:
    """THR-approvals-everywhere."""
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    (question,) = await write(mine, "everywhere")
    assert f"workspace: {mine.workspace}" in question.always_rule
    assert "workspace" not in question.everywhere_rule
    assert mine.settings.person_permissions.read_text() == f"allow:\n  - {question.everywhere_rule}\n"
    for bench in (mine, await make_bench(name="other")):
        assert await write(bench) == []


async def test_THR_approvals_another_folder_at_the_same_path_is_asked_about(make_bench: Any) -> None:
    """THR-approvals-always-swapped: the project is moved away, and another folder is put in its place."""
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    assert len(await write(mine, "always")) == 1
    assert await write(mine) == []
    again: Bench = await make_bench(name="mine")
    assert await write(again) == []
    mine.workspace.rename(mine.workspace.with_name("moved"))
    swapped: Bench = await make_bench(name="mine")
    assert len(await write(swapped, "always")) == 1
    assert await write(swapped) == []


async def test_THR_approvals_a_no_for_good_holds_whatever_folder_is_at_the_path(make_bench: Any) -> None:
    """THR-approvals-deny-swapped."""
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    await result(mine, "write_file", asker=Answering("deny", scope="always"), path="b.py", content="x")
    mine.workspace.rename(mine.workspace.with_name("moved"))
    for name, code in (("mine", "denied"), ("other", "approval_denied")):
        bench: Bench = await make_bench(name=name)
        answer = await result(bench, "write_file", asker=Answering("deny"), path="b.py", content="x")
        assert answer.error.code == code


async def test_THR_approvals_a_session_answer_is_not_taken_along_to_another_workspace(make_bench: Any) -> None:
    """THR-approvals-session-workspace: a client that uses one session id in two workspaces has two sessions."""
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    other: Bench = await make_bench(name="other")
    assert len(await write(mine, "session")) == 1
    assert await write(mine) == []
    assert len(await write(other)) == 1


async def test_a_rule_without_a_workspace_holds_everywhere_and_one_by_hand_may_name_it(make_bench: Any) -> None:
    mine: Bench = await make_bench(policy=ASKS, name="mine")
    link = mine.workspace.with_name("link")
    link.symlink_to(mine.workspace)
    rules = f"allow:\n  - {{path: all.py}}\n  - {{path: mine.py, workspace: {link}}}\n"
    mine.settings.person_permissions.write_text(rules)
    for name, asked in (("mine", []), ("other", ["mine.py"])):
        bench: Bench = await make_bench(name=name)
        asker = Answering()
        await bench.ask(*(own("write_file", path=f"{each}.py", content="x") for each in ("all", "mine")), asker=asker)
        assert [question.title.split()[-1] for question in asker.asked] == asked
