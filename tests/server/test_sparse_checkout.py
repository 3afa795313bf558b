"""A sparse checkout is treated as git does: ignore files that are not checked out, and what a commit takes (FILE-05,
GIT-02)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commits import committed, git, is_sound, planned, repository, without_machine, write

from remit_server.errors import ToolError
from remit_server.harness.writes.commit import write_commit
from remit_server.tools.files.list_files import list_matching
from remit_server.tools.search.file_search import Query
from remit_server.tools.search.line_matches import parse_pattern
from remit_server.tools.search.search_files import search
from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments
from remit_server.workspace.trees.ignore_layers import find_ignored
from remit_server.workspace.trees.path_globs import parse_glob
from remit_server.workspace.trees.walk import Limits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

WAYS = (-1, 10**9)
"""With ripgrep, and in process."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings of this machine are ignored, in this process and in git."""
    without_machine(monkeypatch, tmp_path)


FILES = {
    "a.py": "1\n",
    "src/b.py": "2\n",
    "lib/.gitignore": "*.log\n!keep.log\n/out/\n",
    "lib/c.py": "3\n",
    "lib/deep/.gitignore": "d.*\n",
    "lib/deep/e.py": "4\n",
}
NEW = {"lib/x.log": "foo\n", "lib/keep.log": "foo\n", "lib/out/y.py": "foo\n", "lib/deep/d.txt": "foo\n"}


def with_files(folder: Path, files: dict[str, str]) -> Path:
    """Makes a repository with these files committed, old enough for git to remove them from the working tree."""
    repository(folder)
    write(folder, files)
    for name in files:
        os.utime(folder / name, (10**9, 10**9))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def found(folder: Path, base: str = ".") -> tuple[list[str], list[str]]:
    """Returns the listed files and those with a match of `foo`, after comparing ripgrep with the search in process."""
    with Workspace(folder) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, lambda text: text)
        at = ctx.resolve(base)
        listed = [list_matching(ctx, at, parse_glob("*"), 100, Limits(small=n)).data["files"] for n in WAYS]
        query = Query(parse_pattern("foo"), at)
        searched = [search(ctx, query, Limits(small=n)).data["matches"] for n in WAYS]
    assert listed[0] == listed[1]
    assert searched[0] == searched[1]
    names = [match["file"] for match in searched[0]]  # type: ignore[index, union-attr, call-overload, misc]
    return list(listed[0]), names  # type: ignore[arg-type]


def untracked(folder: Path) -> list[str]:
    """Returns the files that `git add` would add; `git ls-files` ignores the ignore files of folders above."""
    shown = git(folder, "-c", "status.relativePaths=true", "status", "--short", "--untracked-files=all").splitlines()
    return [line.removeprefix("?? ") for line in shown if line.startswith("?? ")]


@pytest.mark.parametrize("how", ["no-cone", "cone", "sparse-index", "split", "version 4", "marked by hand"])
def test_FILE_05_an_ignore_file_that_is_not_checked_out_counts_as_in_git(tmp_path: Path, how: str) -> None:
    shop = with_files(tmp_path / "shop", FILES)
    match how:
        case "no-cone":
            git(shop, "sparse-checkout", "set", "--no-cone", "/a.py", "/src/")
        case "marked by hand":
            git(shop, "update-index", "--skip-worktree", "lib/.gitignore", "lib/deep/.gitignore")
            shutil.rmtree(shop / "lib")
        case _:
            git(shop, "sparse-checkout", "set", "--cone", *(["--sparse-index"] if how == "sparse-index" else []), "src")
    if how == "split":
        git(shop, "update-index", "--split-index")
    if how == "version 4":
        git(shop, "update-index", "--index-version", "4")
    assert not (shop / "lib").exists()
    write(shop, {**NEW, ".git/info/exclude": "*.log\n"})
    with Workspace(shop) as workspace:
        assert find_ignored(workspace, NEW) == {"lib/x.log", "lib/out/y.py", "lib/deep/d.txt"}
    assert found(shop) == (["a.py", "lib/keep.log", "src/b.py"], ["lib/keep.log"])
    assert found(shop, "lib") == (["lib/keep.log"], ["lib/keep.log"])
    assert untracked(shop) == ["lib/keep.log"]
    write(shop, {"lib/.gitignore": "nothing\n"})
    assert found(shop, "lib")[1] == untracked(shop) == ["lib/out/y.py"]


def test_FILE_05_an_ignore_file_above_that_is_not_checked_out_counts(tmp_path: Path) -> None:
    top = with_files(tmp_path / "top", {"pkg/.gitignore": "*.log\n/shop/out/\n", "pkg/shop/a.py": ""})
    git(top, "sparse-checkout", "set", "--no-cone", "/pkg/shop/")
    shop = top / "pkg" / "shop"
    write(shop, {"x.log": "", "out/y.py": "", "new.py": ""})
    assert found(shop)[0] == ["a.py", "new.py"]
    assert untracked(shop) == ["new.py"]


def test_FILE_05_an_ignore_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    shop = with_files(tmp_path / "shop", {"a.py": "1\n", ".gitignore": "*.log\n"})
    git(shop, "sparse-checkout", "set", "--no-cone", "/a.py")
    blob = git(shop, "rev-parse", "HEAD:.gitignore").strip()
    (shop / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    write(shop, {"x.log": "foo\n", "new.py": ""})
    with Workspace(shop) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, lambda text: text)
        said = [list_matching(ctx, ctx.resolve("."), parse_glob("*"), 100, Limits(small=n)).summary for n in WAYS]
    assert all("ignore patterns were read only in part: 1 ignore file" in each for each in said)
    assert all("(.gitignore)" in each for each in said)


def refusal(folder: Path, **arguments: object) -> str:
    with pytest.raises(ToolError) as refused:
        planned(folder, **arguments)  # type: ignore[arg-type]
    return refused.value.why


@pytest.mark.parametrize("how", ["no-cone", "cone"])
def test_GIT_02_what_lies_outside_a_sparse_checkout_is_left_and_named(tmp_path: Path, how: str) -> None:
    shop = with_files(tmp_path / "shop", FILES)
    patterns = ["/a.py", "/src/", "!/src/out/"] if how == "no-cone" else ["src"]
    git(shop, "sparse-checkout", "set", f"--{how}", *patterns)
    write(
        shop, {"lib/new.py": "", "lib/c.py": "changed\n", "src/new.py": "", "src/deep/new.py": "", "src/out/x.py": ""}
    )
    # The state after any git command that writes the index.
    git(shop, "update-index", "--no-skip-worktree", "lib/c.py")
    assert refusal(shop, paths=["lib/new.py"]).endswith("is outside the sparse checkout")
    plan = planned(shop, all=True)
    taken = ["src/deep/new.py", "src/new.py", *(["src/out/x.py"] if how == "cone" else [])]
    left = ["lib/c.py", "lib/new.py", *([] if how == "cone" else ["src/out/x.py"])]
    assert [change.path.relative for change in plan.changes] == taken
    assert [remark.partition(": ")[2] for remark in plan.remarks] == [
        f"{len(left)} files outside the sparse checkout ({', '.join(left)})"
    ]
    git(shop, "add", "--all", check=False)
    assert git(shop, "diff", "--cached", "--name-only").split() == taken
    write_commit(Workspace(shop), planned(shop, all=True))
    is_sound(shop)


def test_GIT_02_a_file_that_is_there_within_a_sparse_checkout_is_looked_at_though_it_is_marked(tmp_path: Path) -> None:
    shop = with_files(tmp_path / "shop", FILES)
    git(shop, "sparse-checkout", "set", "src")
    git(shop, "update-index", "--skip-worktree", "a.py", "src/b.py")
    write(shop, {"a.py": "changed\n"})
    committed(shop)
    assert git(shop, "show", "--format=", "--name-only") == "a.py\n"
    assert git(shop, "ls-files", "-t", "a.py", "src") == "H a.py\nH src/b.py\n"
    git(shop, "config", "sparse.expectFilesOutsideOfPatterns", "true")
    git(shop, "update-index", "--skip-worktree", "a.py")
    write(shop, {"a.py": "changed again\n"})
    assert "(a.py)" in refusal(shop)


def test_GIT_02_each_working_tree_has_a_sparse_checkout_of_its_own(tmp_path: Path) -> None:
    top = with_files(tmp_path / "top", FILES)
    git(top, "sparse-checkout", "set", "src")
    git(top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "shop"))
    git(tmp_path / "shop", "sparse-checkout", "set", "lib")
    write(tmp_path / "shop", {"src/new.py": "", "lib/new.py": ""})
    plan = planned(tmp_path / "shop", all=True)
    assert [change.path.relative for change in plan.changes] == ["lib/new.py"]
    assert any("(src/new.py)" in remark for remark in plan.remarks)
