"""`git_commit` through the dispatcher: asked each time, bound to what was shown, audited (INT-01)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, call, intent
from commits import git, is_sound, repository, write

from remit_governance.audit.record import AuditKind

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    made = repository(tmp_path / "shop", {"a.py": "1\n", "b.py": "1\n"})
    write(made, {"b.py": "2\n"})
    return made


def commits(**arguments: Any) -> tuple[dict[str, Any], dict[str, str]]:
    message = "second\n\nwith a body"
    return {"calls": [intent("EXECUTE"), call("git_commit", message=message, **arguments)]}, {"text": "ok"}


async def test_a_person_sees_message_author_and_diff_and_it_is_audited(make_bench: Any, shop: Path) -> None:
    bench, asker = await make_bench(*commits(paths=["b.py"])), Answering()
    await bench.ask("commit", asker=asker)
    (question,) = asker.asked
    assert question.title == "commit 1 file to main: second"
    assert question.command == "git commit by Ada <ada@example.org>\n\nsecond\n\nwith a body"
    assert [(diff.path, diff.diff.splitlines()[-2:]) for diff in question.diffs] == [("b.py", ["-1", "+2"])]
    assert [scope.value for scope in question.scopes] == ["once"]
    assert git(shop, "log", "--format=%s").split() == ["second", "first"]
    (event,) = [record.event for record in bench.audit() if record.event.kind is AuditKind.COMMITTED]
    assert event.metadata["commit"] == git(shop, "rev-parse", "HEAD").strip()
    assert event.metadata["tree"] == git(shop, "rev-parse", "HEAD^{tree}").strip()
    is_sound(shop)


async def test_THR_approvals_a_file_rewritten_while_the_commit_is_pending_is_not_committed(
    make_bench: Any, shop: Path
) -> None:
    bench = await make_bench(*commits(paths=["b.py"]))
    await bench.ask("commit", asker=Answering(before=lambda: write(shop, {"b.py": "evil\n"})))
    (result,) = bench.of("tool_result")
    assert result.error.code == "stale"
    assert git(shop, "log", "--format=%s").split() == ["first"]


async def test_a_rule_about_a_file_holds_for_every_commit_of_it(make_bench: Any, shop: Path) -> None:
    """Only the plan shows which files `git_commit` takes, so each of them is judged after planning."""
    policy = (
        "capabilities:\n  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }\n"
        "  - { name: commits, match: { syscall: git.commit }, action: allow }\n"
        "  - { name: not-b, match: { syscall: git.commit, path_glob: [b.py] }, action: deny }\n"
    )
    bench = await make_bench(*commits(), policy=policy)
    await bench.ask("commit")
    (result,) = bench.of("tool_result")
    assert "denied by not-b" in result.output
    assert git(shop, "log", "--format=%s").split() == ["first"]
