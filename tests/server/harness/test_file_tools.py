"""`apply_diff`, `delete_file` and `move_file` through the dispatcher: judged, shown, and done as shown (TOOL-03)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent

from remit_governance.policy.decision.builtin import DENIED

DIFF = """\
--- a/a.py
+++ b/a.py
@@ -2,2 +2,2 @@
 for n in (1, 2):
-    total += n
+    total -= n
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1 @@
+x = 1
"""
PATCHED = SHOP.replace("+= n", "-= n")


async def coded(make_bench: Any, *calls: Any, asker: Answering | None = None, policy: str | None = None) -> Bench:
    bench: Bench = await make_bench({"calls": [intent("CODE"), *calls]}, {"text": "ok"}, policy=policy)
    await bench.ask("go", asker=asker or Answering())
    return bench


def code_of(bench: Bench) -> str | None:
    (result,) = bench.of("tool_result")
    return None if result.error is None else result.error.code


async def test_apply_diff_changes_several_files_under_one_approval(make_bench: Any) -> None:
    asker = Answering()
    bench = await coded(make_bench, call("apply_diff", diff=DIFF), asker=asker)
    (question,) = asker.asked
    assert question.title == "change a.py; create src/new.py"
    assert [(d.path, d.created) for d in question.diffs] == [("a.py", False), ("src/new.py", True)]
    assert (bench.workspace / "a.py").read_text() == PATCHED
    assert (bench.workspace / "src/new.py").read_text() == "x = 1\n"
    (result,) = bench.of("tool_result")
    assert result.changed_files == ("a.py", "src/new.py")
    assert "hunk 1 fits at line 2" in result.output


async def test_apply_diff_is_all_or_nothing_and_explains_each_hunk(make_bench: Any) -> None:
    wrong = DIFF.replace("-    total += n", "-    total += m")
    bench = await coded(make_bench, call("apply_diff", diff=wrong))
    (result,) = bench.of("tool_result")
    assert result.error.code == "no_match"
    assert "hunk 1 fits nowhere" in result.output
    assert "total += n" in result.output
    assert not (bench.workspace / "src").exists()


async def test_delete_file_shows_what_goes(make_bench: Any) -> None:
    asker = Answering()
    bench = await coded(make_bench, call("delete_file", path="a.py"), asker=asker)
    (diff,) = asker.asked[0].diffs
    assert (diff.deleted, diff.diff.count("\n-")) == (True, 3)
    assert not (bench.workspace / "a.py").exists()


async def test_move_file_keeps_bytes_and_mode_and_makes_folders(make_bench: Any) -> None:
    asker = Answering(before=lambda: None)
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("move_file", path="a.py", new_path="src/deep/b.py")]}, {"text": "ok"}
    )
    (bench.workspace / "a.py").chmod(0o751)
    await bench.ask("go", asker=asker)
    assert asker.asked[0].title == "move a.py to src/deep/b.py"
    moved = bench.workspace / "src/deep/b.py"
    assert (moved.read_text(), moved.stat().st_mode & 0o777) == (SHOP, 0o751)
    assert not (bench.workspace / "a.py").exists()


@pytest.mark.parametrize("tool", ["delete_file", "move_file"])
async def test_thr_approvals_the_file_changed_while_the_question_was_open(make_bench: Any, tool: str) -> None:
    """THR-approvals-swapped: the file that was shown is removed or moved, or none."""
    arguments = {"path": "a.py"} | ({"new_path": "b.py"} if tool == "move_file" else {})
    bench: Bench = await make_bench({"calls": [intent("CODE"), call(tool, **arguments)]}, {"text": "ok"})
    target = bench.workspace / "a.py"
    asker = Answering(before=lambda: target.write_text("other") and None, later="deny")
    await bench.ask("go", asker=asker)
    assert code_of(bench) == "approval_denied"
    assert len({question.digest for question in asker.asked}) == 2
    assert target.read_text() == "other"


@pytest.mark.parametrize("tool", ["delete_file", "move_file"])
async def test_thr_paths_a_link_is_not_what_it_leads_to(make_bench: Any, tool: str) -> None:
    """THR-paths-link-removed: neither the link nor its target is removed."""
    arguments = {"path": "link.py"} | ({"new_path": "b.py"} if tool == "move_file" else {})
    bench: Bench = await make_bench({"calls": [intent("CODE"), call(tool, **arguments)]}, {"text": "ok"})
    (bench.workspace / "link.py").symlink_to("a.py")
    await bench.ask("go")
    assert "is a link" in bench.of("tool_result")[0].output
    assert sorted(p.name for p in bench.workspace.iterdir()) == ["a.py", "link.py"]


async def test_move_file_never_takes_the_place_of_another(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("move_file", path="a.py", new_path="b.py")]}, {"text": "ok"}
    )
    target = bench.workspace / "b.py"
    await bench.ask("go", asker=Answering(before=lambda: target.write_text("mine") and None))
    assert code_of(bench) in {"stale", "invalid_arguments"}
    assert (target.read_text(), (bench.workspace / "a.py").read_text()) == ("mine", SHOP)


PROTECTED = [".git/hooks/pre-commit", ".vscode/settings.json", ".remit/policy.yaml", ".bashrc", "sub/.ssh/id_rsa"]
LAX = "capabilities: [{ name: all, match: { syscall: [fs.read, fs.write] }, action: allow }]"


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize("how", ["moved onto", "moved away", "deleted", "patched"])
async def test_thr_config_protected_files_hold_against_every_file_tool(make_bench: Any, path: str, how: str) -> None:
    """THR-config-rename: no policy allows a protected file to be made, replaced, moved or removed."""
    assert DENIED
    calls = {
        "moved onto": call("move_file", path="a.py", new_path=path),
        "moved away": call("move_file", path=path, new_path="b.py"),
        "deleted": call("delete_file", path=path),
        "patched": call("apply_diff", diff=f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new\n"),
    }
    bench: Bench = await make_bench({"calls": [intent("CODE"), calls[how]]}, {"text": "ok"}, policy=LAX)
    target = bench.workspace / path
    if how != "moved onto":
        put(target)
    await bench.ask("go")
    assert code_of(bench) == "denied"
    assert is_there(target) is (how != "moved onto")


def is_there(target: Path) -> bool:
    return os.path.lexists(target)


def put(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("old\n")


async def test_thr_paths_a_file_that_may_not_be_read_is_not_moved_to_where_it_may(make_bench: Any) -> None:
    """THR-paths-read-by-move: a move counts as a read."""
    policy = (
        "capabilities:\n"
        "  - { name: all, match: { syscall: [fs.read, fs.write] }, action: allow }\n"
        "  - { name: secret, match: { syscall: fs.read, path_glob: [secret.txt] }, action: deny }\n"
    )
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("move_file", path="secret.txt", new_path="plain.txt")]},
        {"text": "ok"},
        policy=policy,
    )
    (bench.workspace / "secret.txt").write_text("x")
    await bench.ask("go")
    assert code_of(bench) == "denied"
    assert (bench.workspace / "secret.txt").exists()
