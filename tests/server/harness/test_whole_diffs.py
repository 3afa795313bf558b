"""`apply_diff` through the dispatcher: everything that a diff says is done and reported, or nothing is (APP-03)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent
from messages import SAYS

pytestmark = pytest.mark.slow

LINES = "".join(f"l{n}\n" for n in range(1, 21))
TEXT_PART = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-total = 0\n+total = 1\n"


async def patched(make_bench: Any, diff: str, files: Mapping[str, bytes] = {}, mode: int = 0o644) -> Bench:
    bench: Bench = await make_bench({"calls": [intent("CODE"), call("apply_diff", diff=diff)]}, {"text": "ok"})
    for name, data in files.items():
        path = bench.workspace / name
        path.write_bytes(data)
        path.chmod(mode)
    await bench.ask("go", asker=Answering())
    return bench


def said(bench: Bench) -> str:
    (result,) = bench.of("tool_result")
    return str(result.output)


def tree(bench: Bench) -> dict[str, bytes]:
    files = (path for path in bench.workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(bench.workspace)): path.read_bytes() for path in files}


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("old", "new", "word"), [(0o644, 0o755, "becomes"), (0o755, 0o644, "is no longer")])
async def test_a_mode_change_is_done_reported_and_asked_about(make_bench: Any, old: int, new: int, word: str) -> None:
    diff = f"diff --git a/run.sh b/run.sh\nold mode 100{old:o}\nnew mode 100{new:o}\n" + TEXT_PART
    asker = Answering()
    bench: Bench = await make_bench({"calls": [intent("CODE"), call("apply_diff", diff=diff)]}, {"text": "ok"})
    (bench.workspace / "run.sh").write_bytes(b"\0")
    (bench.workspace / "run.sh").chmod(old)
    await bench.ask("go", asker=asker)
    assert mode_of(bench.workspace / "run.sh") == new
    assert f"run.sh: {word} executable" in said(bench)
    assert asker.asked[0].title == f"change run.sh ({'' if new & 0o100 else 'not '}executable); change a.py"


async def test_a_mode_change_and_hunks_of_one_file_are_both_done(make_bench: Any) -> None:
    diff = "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\nindex 1..2\n" + TEXT_PART
    bench = await patched(make_bench, diff)
    assert (bench.workspace / "a.py").read_text() == SHOP.replace("total = 0", "total = 1")
    assert mode_of(bench.workspace / "a.py") == 0o755


async def test_a_new_file_that_is_empty_or_executable_is_made_so(make_bench: Any) -> None:
    diff = (
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/run.sh b/run.sh\nnew file mode 100755\nindex 0000000..1111111\n"
        "--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+ls\n"
    )
    bench = await patched(make_bench, diff)
    assert tree(bench) == {"a.py": SHOP.encode(), "pkg/__init__.py": b"", "run.sh": b"ls\n"}
    assert [mode_of(bench.workspace / name) for name in ("pkg/__init__.py", "run.sh")] == [0o644, 0o755]
    assert "pkg/__init__.py: created, 0 lines\nrun.sh: created, 1 lines, executable" in said(bench)


async def test_an_empty_file_is_removed_and_one_that_is_not_empty_stays(make_bench: Any) -> None:
    removal = "diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n"
    assert tree(await patched(make_bench, removal, {"e": b""})) == {"a.py": SHOP.encode()}
    bench = await patched(make_bench, removal, {"e": b"x"})
    assert (bench.workspace / "e").exists()
    assert SAYS.not_all_of_its_lines in said(bench)


def envelope(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


async def test_TOOL_05_a_patch_in_an_envelope_is_applied_as_it_says(make_bench: Any) -> None:
    body = (
        "*** Update File: x\n@@ class A:\n@@ def one():\n a\n-b\n+B\n@@\n-d\n+D\n*** End of File\n*** Add File: new/n.txt\n+one\n+\n"
        "*** Delete File: gone\n*** Update File: here\n*** Move to: there\n@@\n-h\n+H\n"
    )
    files = {"x": b"a\nb\nc\nd\n", "gone": b"g\n", "here": b"h\n"}
    bench = await patched(make_bench, f"```\n{envelope(body)}```\n", files)
    assert tree(bench) == {"a.py": SHOP.encode(), "x": b"a\nB\nc\nD\n", "new/n.txt": b"one\n\n", "there": b"H\n"}


@pytest.mark.parametrize(
    "diff",
    [
        "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n",
        envelope(""),
        envelope("@@\n-a\n+c\n"),
        envelope("*** Update File: x\n"),
        envelope("*** Update File: x\n@@\n-a\n+c\nlost\n"),
        envelope("*** Update File: x\n@@\n-a\n+a\n"),
        envelope("*** Add File: y\n+a\nlost\n"),
        envelope("*** Add File: x\n+a\n"),
        envelope("*** Delete File: x\n-a\n"),
        envelope("*** Update File: x\n@@\n-nowhere\n+c\n"),
        envelope("*** Update File: x\n@@\n-a\n+c\n*** Update File: nosuch\n@@\n-a\n+c\n"),
        envelope("*** Update File: x\n@@\n-a\n+c\n") + "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n+c\n",
        envelope("*** Delete File: ../out\n"),
    ],
)
async def test_TOOL_05_a_patch_in_an_envelope_is_done_whole_or_not_at_all(make_bench: Any, diff: str) -> None:
    bench = await patched(make_bench, diff, {"x": b"a\nb\n"})
    assert bench.of("tool_result")[0].error is not None
    assert tree(bench) == {"a.py": SHOP.encode(), "x": b"a\nb\n"}


GIT = "diff --git a/x b/x\n"
UNDONE = {
    "binary": (GIT + "index 1111111..2222222 100644\nBinary files a/x and b/x differ\n", "a binary file cannot"),
    "binary patch": (GIT + "index 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", "a binary file cannot"),
    "binary, new": ("Binary files /dev/null and b/x differ\n", "a binary file cannot"),
    "nothing said": (GIT, "no hunk"),
    "hunks are missing": (GIT + "index 1111111..2222222 100644\n", "no hunk"),
    "contents are missing": (GIT + "new file mode 100644\nindex 0000000..1111111\n", "but no hunk says how"),
    "rename, contents missing": (
        "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1111111..2222222\n",
        "but no hunk says how",
    ),
    "link made": (GIT + "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a.py\n", "is a link's"),
    "link changed": (GIT + "index 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "is a link's"),
    "submodule": (GIT + "index 1..2 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "is a link's"),
    "half a rename": ("diff --git a/x b/y\nrename from x\n", "do not match each other"),
    "another rename": ("rename from x\nrename to y\n--- a/x\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n", "do not match"),
    "made, yet there": (GIT + "new file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "disagree"),
    "two names": ("diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", "no hunk or `rename` line"),
    "modes of nothing": ("old mode 100644\nnew mode 100755\n" + GIT, "no line names the file"),
    "mode as it is": (GIT + "old mode 100755\nnew mode 100644\n", "already not executable"),
    "context diff": ("*** x\t1\n--- x\t2\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "cannot use the diff"),
    "another format": ("*** Update File: x\n@@\n-a\n+b\n", "not a unified diff"),
    "merge": ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n++b\n", "a merge cannot"),
    "folders compared": ("Only in b: x\n", "not in the diff"),
    "name that is no text": ('--- "a/\\377"\n+++ "b/\\377"\n@@ -1 +1 @@\n-a\n+b\n', "is not text"),
    "no prefixes, folders a and b": ("rename from a/x\nrename to b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "do not match"),
    "broken hunk header": ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -3 +3\n-c\n+d\n", "a hunk without"),
    "counts too low": ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n+c\n", "outside of a hunk"),
    "no blank": ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nfoo\n+c\n", "outside of a hunk"),
    "fence in a file": ("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n-a\n+b\n```\n+c\n", "outside of a hunk"),
    "one file by two names": ("--- a/./x\n+++ b/./x\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n+c\n", "twice"),
    "moved twice": ("rename from x\nrename to y\ndiff --git a/x b/z\nrename from x\nrename to z\n", "twice"),
    "moved and changed": ("rename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n" + GIT + "old mode 100644\nnew mode 100755\n", "twice"),
    "file and folder": ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/n/m\n@@ -0,0 +1 @@\n+a\n", "a file and a folder"),
}  # fmt: skip


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", UNDONE)
async def test_a_part_that_cannot_be_done_is_refused_with_all_the_rest(make_bench: Any, name: str, last: bool) -> None:
    part, why = UNDONE[name]
    files = {"x": b"a\nb\n"}
    bench = await patched(make_bench, TEXT_PART + part if last else part + TEXT_PART, files)
    assert why in said(bench)
    assert tree(bench) == {"a.py": SHOP.encode(), **files}


async def test_a_read_only_file_is_seen_before_another_one_is_changed(make_bench: Any) -> None:
    part = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    bench = await patched(make_bench, TEXT_PART + part, {"x": b"a\n"}, 0o444)
    assert bench.of("tool_result")[0].error.code == "read_only"
    assert tree(bench) == {"a.py": SHOP.encode(), "x": b"a\n"}


async def test_the_signature_of_a_mail_is_no_line_of_the_last_hunk(make_bench: Any) -> None:
    bench = await patched(make_bench, TEXT_PART + "-- \n2.39.5\n\n")
    assert (bench.workspace / "a.py").read_text() == SHOP.replace("total = 0", "total = 1")


COPY = "diff --git a/n.txt b/copy.txt\nsimilarity index 90%\ncopy from n.txt\ncopy to copy.txt\n"
HUNK = "--- a/n.txt\n+++ b/copy.txt\n@@ -2 +2 @@\n-l2\n+X2\n"


@pytest.mark.parametrize(("hunk", "after"), [("", LINES), (HUNK, LINES.replace("l2\n", "X2\n", 1))])
async def test_a_copy_leaves_what_it_is_made_of(make_bench: Any, hunk: str, after: str) -> None:
    bench = await patched(make_bench, COPY + hunk, {"n.txt": LINES.encode()}, 0o755)
    assert tree(bench) == {"a.py": SHOP.encode(), "n.txt": LINES.encode(), "copy.txt": after.encode()}
    assert mode_of(bench.workspace / "copy.txt") == 0o755
    assert "n.txt: copied to copy.txt" in said(bench)


async def test_thr_paths_a_file_that_may_not_be_read_is_not_copied_to_where_it_may(make_bench: Any) -> None:
    """THR-paths-read-by-move: a copy counts as a read of its source, and not as a write to it."""
    policy = (
        "capabilities:\n"
        "  - { name: all, match: { syscall: [fs.read, fs.write] }, action: allow }\n"
        "  - { name: secret, match: { syscall: fs.read, path_glob: [secret.txt] }, action: deny }\n"
        "  - { name: kept, match: { syscall: fs.write, path_glob: [kept.txt] }, action: deny }\n"
    )
    for name, there in (("secret.txt", False), ("kept.txt", True)):
        diff = f"copy from {name}\ncopy to to-{name}\n"
        steps = {"calls": [intent("CODE"), call("apply_diff", diff=diff)]}, {"text": "ok"}
        bench: Bench = await make_bench(*steps, policy=policy)
        (bench.workspace / name).write_text("x")
        await bench.ask("go")
        assert (f"to-{name}" in tree(bench)) is there


MOVE = "diff --git a/n.txt b/m.txt\nrename from n.txt\nrename to m.txt\n"


@pytest.mark.parametrize("mode", [0o644, 0o755])
async def test_a_move_with_a_hunk_keeps_the_mode(make_bench: Any, mode: int) -> None:
    bench = await patched(make_bench, MOVE + HUNK.replace("copy", "m"), {"n.txt": LINES.encode()}, mode)
    assert tree(bench) == {"a.py": SHOP.encode(), "m.txt": LINES.replace("l2\n", "X2\n", 1).encode()}
    assert mode_of(bench.workspace / "m.txt") == mode


@pytest.mark.parametrize("how", ["move", "copy"])
async def test_a_private_file_does_not_become_a_public_one(make_bench: Any, how: str) -> None:
    diff = MOVE + HUNK.replace("copy", "m") if how == "move" else COPY + HUNK
    bench = await patched(make_bench, diff, {"n.txt": LINES.encode()}, 0o600)
    assert "cannot be read by others (mode 600)" in said(bench)
    assert tree(bench) == {"a.py": SHOP.encode(), "n.txt": LINES.encode()}


async def test_a_move_keeps_a_private_files_mode_and_may_change_an_executables(make_bench: Any) -> None:
    bench = await patched(make_bench, MOVE, {"n.txt": b"x"}, 0o600)
    assert mode_of(bench.workspace / "m.txt") == 0o600
    (bench.workspace / "m.txt").unlink()
    bench = await patched(make_bench, MOVE + "old mode 100755\nnew mode 100644\n", {"n.txt": b"x"}, 0o755)
    assert (tree(bench)["m.txt"], mode_of(bench.workspace / "m.txt")) == (b"x", 0o644)


N_HEADER = "--- a/n.txt\n+++ b/n.txt\n"


async def test_an_insertion_without_context_goes_as_far_as_the_hunk_before_it(make_bench: Any) -> None:
    diff = N_HEADER + "@@ -2 +2 @@\n-l2\n+X2\n@@ -10,0 +11 @@\n+AFTER10\n"
    bench = await patched(make_bench, diff, {"n.txt": b"top\n" * 3 + LINES.encode()})
    after = "top\n" * 3 + LINES.replace("l2\n", "X2\n", 1).replace("l10\n", "l10\nAFTER10\n")
    assert (bench.workspace / "n.txt").read_text() == after
    assert "hunk 2 fits at line 14, 3 lines below" in said(bench)


async def test_an_insertion_whose_neighbours_disagree_about_its_place_is_refused(make_bench: Any) -> None:
    before = (LINES[: LINES.index("l8")] + "mid\n" + LINES[LINES.index("l8") :]).encode()
    diff = N_HEADER + "@@ -2 +2 @@\n-l2\n+X2\n@@ -10,0 +11 @@\n+NEW\n@@ -15 +16 @@\n-l15\n+X15\n"
    bench = await patched(make_bench, diff, {"n.txt": before})
    assert "hunk 2 fits at lines 11, 12" in said(bench)
    assert (bench.workspace / "n.txt").read_bytes() == before


MARK = b"\xef\xbb\xbf"


async def test_a_diff_that_shows_the_byte_order_mark_fits(make_bench: Any) -> None:
    for diff, after in (
        (N_HEADER + "@@ -1,2 +1,2 @@\n-\ufeffl1\n+\ufeffX1\n l2\n", MARK + b"X1\nl2\n"),
        (N_HEADER + "@@ -1,2 +1,2 @@\n-l1\n+\ufeffX1\n l2\n", MARK + b"X1\nl2\n"),
        (N_HEADER + "@@ -1,2 +1,2 @@\n \ufeffl1\n-l2\n+X2\n", MARK + b"l1\nX2\n"),
        (N_HEADER + "@@ -1,2 +1,2 @@\n-\ufeffl1\n+l1\n l2\n", b"l1\nl2\n"),
    ):
        bench = await patched(make_bench, diff, {"n.txt": MARK + b"l1\nl2\n"})
        assert (bench.workspace / "n.txt").read_bytes() == after, said(bench)


async def test_a_mark_that_the_file_does_not_have_is_named(make_bench: Any) -> None:
    bench = await patched(make_bench, N_HEADER + "@@ -1 +1 @@\n-\ufeffl1\n+X1\n", {"n.txt": b"l1\nl2\n"})
    assert "an invisible character, `⟨U+FEFF⟩`, which the file does not have" in said(bench)


async def test_line_ends_that_a_diff_shows_are_meant(make_bench: Any) -> None:
    before = b"a\r\nb\r\n"
    for hunk, after in (
        ("@@ -1,2 +1,2 @@\n-a\r\n+A\r\n b\r\n", b"A\r\nb\r\n"),
        ("@@ -1,2 +1,2 @@\n-a\n+A\n b\n", b"A\r\nb\r\n"),
        ("@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", b"a\nb\r\n"),
    ):
        bench = await patched(make_bench, N_HEADER + hunk, {"n.txt": before})
        assert (bench.workspace / "n.txt").read_bytes() == after, said(bench)
    diff = (N_HEADER + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n").replace("\n", "\r\n")
    bench = await patched(make_bench, diff, {"n.txt": b"a\nb\n"})
    assert (bench.workspace / "n.txt").read_bytes() == b"A\nb\n"


@pytest.mark.parametrize("hunk", ["@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n", "@@ -1,0 +2 @@\n+c\n\\ No\n"])
async def test_a_hunk_that_says_it_is_the_files_end_goes_nowhere_else(make_bench: Any, hunk: str) -> None:
    bench = await patched(make_bench, N_HEADER + hunk, {"n.txt": b"b\na\n"})
    assert SAYS.its_last_line_is_not in said(bench)
    assert (bench.workspace / "n.txt").read_bytes() == b"b\na\n"
    bench = await patched(make_bench, N_HEADER + "@@ -1 +1 @@\n-b\n\\ No newline\n+c\n", {"n.txt": b"b\nb"})
    assert (bench.workspace / "n.txt").read_bytes() == b"b\nc\n"


async def test_line_ends_that_cannot_change_as_the_diff_says_are_refused(make_bench: Any) -> None:
    bench = await patched(make_bench, N_HEADER + "@@ -1 +1 @@\n-a\r\n+a\n", {"n.txt": b"a\nb\n"})
    assert bench.of("tool_result")[0].error.code == "no_match"
    assert (bench.workspace / "n.txt").read_bytes() == b"a\nb\n"
