"""Commits if `.git` only points to a repository, or lies in a folder above: they go where git's own would go, and a
forged pointer is refused (GIT-02, GIT-07)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commits import committed, git, is_sound, planned, repository, without_machine, write
from git_pointers import own_folder, to_another_worktree, to_the_repository_itself

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.writes.commit import write_commit
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.ignore_layers import find_ignored

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

FILES = {"a.py": "1\n", "sub/b.py": "2\n"}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings of this machine are ignored, in this process and in git."""
    without_machine(monkeypatch, tmp_path)


def worktree(folder: Path) -> Path:
    """Makes a linked worktree on a branch of its own."""
    home = repository(folder / "home", FILES)
    git(home, "worktree", "add", "-q", "-b", "side", str(folder / "shop"))
    return folder / "shop"


def worktree_of_a_bare_one(folder: Path) -> Path:
    """Makes a linked worktree of a bare repository."""
    repository(folder / "home", FILES)
    git(folder, "clone", "-q", "--bare", "home", "bare.git")
    git(folder / "bare.git", "worktree", "add", "-q", "-b", "side", str(folder / "shop"))
    _name_the_author(folder / "shop")
    return folder / "shop"


def submodule(folder: Path) -> Path:
    """Makes a submodule on a branch, inside another repository."""
    repository(folder / "up", FILES)
    top = repository(folder / "top")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder / "up"), "shop")
    git(top, "commit", "-qm", "with a submodule")
    _name_the_author(top / "shop")
    return top / "shop"


def separate(folder: Path) -> Path:
    """Makes a repository whose git folder lies elsewhere and names the working tree."""
    shop = repository(folder / "shop", FILES)
    git(shop, "init", "-q", "--separate-git-dir", str(folder / "shop.git"))
    git(shop, "config", "core.worktree", str(shop))
    return shop


def below(folder: Path) -> Path:
    """Makes a workspace that is a folder of a larger repository, whose other files must not be touched."""
    top = repository(folder / "top", {f"pkg/shop/{name}": text for name, text in FILES.items()} | {"pkg/other.py": ""})
    return top / "pkg" / "shop"


def _name_the_author(shop: Path) -> None:
    git(shop, "config", "user.name", "Ada")
    git(shop, "config", "user.email", "ada@example.org")


def below_a_worktree(folder: Path) -> Path:
    """Makes a workspace that is a folder of a linked worktree."""
    top = below(folder).parent.parent
    git(top, "worktree", "add", "-q", "-b", "side", str(folder / "linked"))
    return folder / "linked" / "pkg" / "shop"


LAYOUTS = [worktree, worktree_of_a_bare_one, submodule, separate, below, below_a_worktree]


@pytest.mark.parametrize("make", LAYOUTS)
def test_GIT_02_a_commit_goes_to_the_repository_that_the_folder_belongs_to(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    shop = make(tmp_path)
    write(shop, {"a.py": "changed\n", "new.py": "", "sub/b.py": "staged\n"})
    git(shop, "add", "sub/b.py")
    before = git(shop, "rev-parse", "HEAD").strip()
    made = committed(shop, paths=["a.py", "new.py"], all=True)
    assert git(shop, "rev-parse", "HEAD", "HEAD~1").split() == [made, before]
    assert git(shop, "show", "--format=", "--name-status", "--relative", made) == "M\ta.py\nA\tnew.py\n"
    assert git(shop, "status", "--short") == "M  sub/b.py\n"
    assert git(shop, "reflog").splitlines()[0].endswith("HEAD@{0}: commit: a change")
    assert committed(shop) == git(shop, "rev-parse", "HEAD").strip()
    assert git(shop, "status", "--short") == ""
    is_sound(shop)
    assert not list(tmp_path.rglob("*.lock")) + list(tmp_path.rglob(".remit-tmp-*"))


def test_GIT_02_a_commit_in_a_linked_worktree_leaves_the_first_one_as_it_is(tmp_path: Path) -> None:
    shop, home = worktree(tmp_path), tmp_path / "home"
    write(home, {"a.py": "of the first one\n"})
    git(home, "add", "a.py")
    seen = [git(home, "status", "--short", "--branch"), git(home, "rev-parse", "main"), git(home, "reflog")]
    write(shop, {"a.py": "of the second one\n"})
    made = committed(shop)
    assert [git(home, "status", "--short", "--branch"), git(home, "rev-parse", "main"), git(home, "reflog")] == seen
    assert git(home, "rev-parse", "side").strip() == made
    assert planned_refusal(shop).why.startswith("nothing differs")


def test_GIT_02_a_merge_in_another_worktree_is_under_way_there_only(tmp_path: Path) -> None:
    shop, home = worktree(tmp_path), tmp_path / "home"
    (home / ".git" / "MERGE_HEAD").write_text(git(home, "rev-parse", "HEAD"))
    write(shop, {"a.py": "changed\n"})
    committed(shop)
    (home / ".git" / "worktrees" / "shop" / "MERGE_HEAD").write_text(git(home, "rev-parse", "HEAD"))
    write(shop, {"a.py": "changed again\n"})
    assert "a merge is under way" in planned_refusal(shop).why


def test_GIT_02_a_lock_of_another_worktree_is_not_ours(tmp_path: Path) -> None:
    shop, home = worktree(tmp_path), tmp_path / "home"
    write(shop, {"a.py": "changed\n"})
    (home / ".git" / "index.lock").touch()
    committed(shop)
    write(shop, {"a.py": "changed again\n"})
    (home / ".git" / "worktrees" / "shop" / "index.lock").touch()
    with pytest.raises(ToolError) as refused:
        committed(shop)
    assert refused.value.code is ErrorCode.BUSY


def planned_refusal(shop: Path) -> ToolError:
    with pytest.raises(ToolError) as refused:
        planned(shop)
    return refused.value


def _to_one_whose_common_folder_is_a_link(shop: Path, victim: Path) -> None:
    (own_folder(shop, shop) / "commondir").symlink_to(victim / ".git" / "commondir")
    (victim / ".git" / "commondir").write_text("../..\n")


def _to_a_folder_whose_parts_are_links(shop: Path, victim: Path) -> None:
    (own_folder(shop, shop) / "commondir").write_text("../..\n")
    for name in ("objects", "refs", "HEAD", "config"):
        (shop / "evil" / name).symlink_to(victim / ".git" / name)


@pytest.mark.parametrize(
    "point",
    [
        to_the_repository_itself,
        to_another_worktree,
        _to_one_whose_common_folder_is_a_link,
        _to_a_folder_whose_parts_are_links,
    ],
)
def test_THR_config_a_pointer_that_nothing_points_back_to_is_committed_to_by_nobody(
    tmp_path: Path, point: Callable[[Path, Path], None]
) -> None:
    """THR-config-worktree-pointer, written: no branch, index or object of the person's other repository changes."""
    victim = repository(tmp_path / "victim", FILES)
    shop = tmp_path / "shop"
    write(shop.parent, {"shop/a.py": "evil\n"})
    point(shop, victim)
    before = {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()}
    assert planned_refusal(shop).fix
    assert {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()} == before


def test_THR_config_a_folder_of_the_project_vouches_for_nothing_above_it(tmp_path: Path) -> None:
    """THR-config-worktree-pointer: a checkout is called `worktrees` and lies beside what looks like a repository."""
    above = repository(tmp_path / "above", FILES)
    shop = above / ".git" / "worktrees"
    write(shop.parent, {"worktrees/x/gitdir": f"{shop}/.git\n", "worktrees/x/commondir": "../..\n"})
    write(shop, {"x/HEAD": "ref: refs/heads/main\n", "a.py": "evil\n", ".git": "gitdir: x\n"})
    assert "does not point back" in planned_refusal(shop).why


def test_THR_config_a_pointer_that_changes_once_it_was_seen_is_not_followed(tmp_path: Path) -> None:
    """THR-config-worktree-pointer: a commit goes to the approved repository, or nowhere."""
    shop = worktree(tmp_path)
    write(shop, {"a.py": "changed\n"})
    plan = planned(shop)
    git(tmp_path / "home", "worktree", "move", str(shop), str(tmp_path / "moved"))
    git(tmp_path / "home", "worktree", "add", "-q", "--detach", str(shop))
    git(shop, "checkout", "-q", "--ignore-other-worktrees", "side")
    with pytest.raises(ToolError) as refused:
        write_commit(Workspace(shop), plan)
    assert refused.value.code is ErrorCode.STALE
    assert git(shop, "log", "--oneline").count("\n") == 1


@pytest.mark.parametrize("make", LAYOUTS)
def test_thr_programs_that_a_repository_elsewhere_names_do_not_run(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """THR: hooks, monitors and filters in the folder that worktrees share, and in a worktree's own settings."""
    shop = make(tmp_path)
    common = Path(git(shop, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    evil.chmod(0o755)
    git(shop, "config", "extensions.worktreeConfig", "true")
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process"):
        git(shop, "config", name, str(evil))
    git(shop, "config", "--worktree", "core.fsmonitor", str(evil))
    (common / "hooks").mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction"):
        shutil.copy(evil, common / "hooks" / name)
    write(shop, {".gitattributes": "*.dat filter=x\n", "a.py": "changed\n", "x.dat": ""})
    (tmp_path / "ran").unlink(missing_ok=True)
    plan = planned(shop)
    write_commit(Workspace(shop), plan)
    with pytest.raises(ToolError):
        planned(shop, paths=["x.dat"])
    assert not (tmp_path / "ran").exists()
    assert plan.remarks[-1] == "hooks are not run: pre-commit, post-commit, reference-transaction"


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_GIT_07_below_a_repository_only_files_of_the_workspace_are_committed(tmp_path: Path, version: str) -> None:
    shop, top = below(tmp_path), tmp_path / "top"
    git(top, "update-index", "--index-version", version)
    write(top, {"pkg/other.py": "staged\n", "new.py": "", "pkg/shop/a.py": "changed\n", "pkg/shop/new.py": ""})
    git(top, "add", "pkg/other.py", "new.py")
    write(top, {"pkg/other.py": "changed since\n"})
    plan = planned(shop, all=True)
    assert [change.path.relative for change in plan.changes] == ["a.py", "new.py"]
    assert sum("2 files that are staged outside" in remark for remark in plan.remarks) == 1
    write_commit(Workspace(shop), plan)
    assert git(top, "show", "--format=", "--name-status") == "M\tpkg/shop/a.py\nA\tpkg/shop/new.py\n"
    assert git(top, "status", "--short") == "A  new.py\nMM pkg/other.py\n"
    is_sound(top)


def test_GIT_07_ignore_and_attribute_files_above_count(tmp_path: Path) -> None:
    shop, top = below(tmp_path), tmp_path / "top"
    above = {".gitignore": "*.log\n/pkg/shop/out/\n", "pkg/.gitignore": "!keep.log\n/shop/x.py\n/y.py\n"}
    write(
        top, {**above, ".git/info/exclude": "/pkg/shop/z.py\n/w.py\n", ".gitattributes": "/pkg/shop/*.dat filter=x\n"}
    )
    write(shop, dict.fromkeys(("a.log", "keep.log", "out/b.py", "x.py", "y.py", "z.py", "w.py"), ""))
    committed(shop, all=True)
    assert (
        git(top, "status", "--short", "--untracked-files=all")
        == "?? .gitattributes\n?? .gitignore\n?? pkg/.gitignore\n"
    )
    assert git(shop, "show", "--format=", "--name-only", "--relative").split() == ["keep.log", "w.py", "y.py"]
    write(shop, {"x.dat": ""})
    with pytest.raises(ToolError) as refused:
        committed(shop, paths=["x.dat"])
    assert "the filter `x`" in refused.value.why


def test_GIT_07_nothing_new_is_committed_of_a_folder_that_is_ignored_whole(tmp_path: Path) -> None:
    shop, top = below(tmp_path), tmp_path / "top"
    write(top, {".gitignore": "pkg/\n", "pkg/shop/new.py": "", "pkg/shop/a.py": "changed\n"})
    with pytest.raises(ToolError):
        planned(shop, paths=["new.py"])
    assert [change.path.relative for change in planned(shop, all=True).changes] == ["a.py"]


def test_GIT_07_what_is_ignored_above_by_any_name_may_be_taken_back_in_the_folder(tmp_path: Path) -> None:
    shop, top = below(tmp_path), tmp_path / "top"
    write(top, {".gitignore": "*\n!*/\n"})
    write(shop, {".gitignore": "!keep.py\n!.gitignore\n", "keep.py": "", "other.py": ""})
    with Workspace(shop) as workspace:
        assert find_ignored(workspace, [".gitignore", "keep.py", "other.py"]) == {"other.py"}
    committed(shop, all=True)
    assert git(shop, "show", "--format=", "--name-only", "--relative").split() == [".gitignore", "keep.py"]


def test_GIT_07_a_repository_above_that_knows_nothing_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    """For example a home that is a repository itself."""
    top = repository(tmp_path / "top", {"shop-of-another/a.py": "", "shop.py": ""})
    write(top, {"shop/a.py": ""})
    refused = planned_refusal(top / "shop")
    assert (refused.code, "knows no file" in refused.why) == (ErrorCode.NOT_FOUND, True)
    git(top, "add", "shop/a.py")
    assert planned(top / "shop")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", [".", ".git"])
def test_THR_config_a_repository_above_of_another_user_is_refused(tmp_path: Path, whose: str) -> None:
    """THR-config-worktree-pointer: its owner decides where a commit goes, and what git would start."""
    shop, top = below(tmp_path), tmp_path / "top"
    write(shop, {"a.py": "changed\n"})
    os.chown(top / whose, 4321, 4321)
    assert "belongs to another" in planned_refusal(shop).why


def test_THR_config_a_pointer_above_that_nothing_points_back_to_is_not_followed(tmp_path: Path) -> None:
    """THR-config-worktree-pointer, above: as for git, it hides a real repository further up."""
    shop, top = below(tmp_path), tmp_path / "top"
    victim = repository(tmp_path / "victim", {"shop/a.py": "1\n"})
    write(top, {"pkg/.git": f"gitdir: {victim}/.git\n", "pkg/shop/a.py": "evil\n"})
    assert "does not point back" in planned_refusal(shop).why


def test_GIT_07_git_looks_above_no_ceiling_and_out_of_no_git_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, top = below(tmp_path), tmp_path / "top"
    assert planned_refusal(top / ".git" / "hooks").code is ErrorCode.NOT_FOUND
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(top))
    write(shop, {"a.py": "changed\n"})
    assert planned_refusal(shop).code is ErrorCode.NOT_FOUND
