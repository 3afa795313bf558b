"""Git's status and differences if `.git` only points to a repository: worktrees, submodules, and forged pointers
(GIT-01)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call
from git_looks import READS, asked, git, output, repository
from git_pointers import own_folder, to_a_pipe, to_another_worktree, to_the_repository_itself
from messages import SAYS

from remit_server.workspace.git_linked import resolve_pointer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("bwrap") is None or shutil.which("git") is None, reason="there is no bwrap or no git"
    ),
]


def worktree(folder: Path) -> Path:
    """Makes `shop` a linked worktree, with a change, of a repository beside it; returns the repository."""
    home = folder / "home"
    home.mkdir()
    origin = repository(home)
    git(origin, "worktree", "add", "-q", "-b", "side", str(folder / "shop"))
    (folder / "shop" / "b.py").write_text("changed\n")
    (origin / "only-there.py").write_text("")
    return origin


@pytest.mark.parametrize("relative", [False, True])
async def test_a_linked_worktree_is_read_as_git_reads_it(make_bench: Any, tmp_path: Path, relative: bool) -> None:
    origin = worktree(tmp_path)
    own = origin / ".git" / "worktrees" / "shop"
    if relative:
        (tmp_path / "shop" / ".git").write_text("gitdir: ../home/shop/.git/worktrees/shop\n")
        (own / "gitdir").write_text("../../../../../shop/.git\n")
    git(tmp_path / "shop", "rm", "-q", "--cached", "c c.py")
    before = {path: path.read_bytes() for path in origin.rglob("*") if path.is_file()}
    bench = await asked(make_bench, call("git_status"), call("git_diff"), call("git_diff", base="HEAD"))
    assert output(bench).splitlines() == [
        *("on branch side", "staged:", "  deleted: c c.py", "not staged:", "  modified: b.py"),
        *("untracked:", "  c c.py"),
    ]
    assert "+changed" in output(bench, 1)
    assert "c c.py" in output(bench, 2)
    assert {path: path.read_bytes() for path in origin.rglob("*") if path.is_file()} == before


async def test_GIT_01_a_submodule_with_settings_of_its_working_tree_is_read(make_bench: Any, tmp_path: Path) -> None:
    """`git sparse-checkout` makes such settings, which then contain the place of the files."""
    (tmp_path / "up").mkdir()
    made = repository(tmp_path / "up")
    git(tmp_path, "init", "-q")
    git(tmp_path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(made), "shop")
    git(tmp_path / "shop", "sparse-checkout", "set", "--no-cone", "/*")
    (tmp_path / "shop" / "b.py").write_text("changed\n")
    bench = await asked(make_bench, call("git_status"))
    assert output(bench).splitlines()[1:] == ["not staged:", "  modified: b.py"]


async def test_GIT_07_conflicts_below_a_repository_are_told_by_their_paths_in_the_folder(
    make_bench: Any, tmp_path: Path
) -> None:
    """Policy judges them by these paths too: a file that may not be read stays unread in a conflict."""
    (tmp_path / "whole").mkdir()
    git(tmp_path / "whole", "init", "-q")
    shop = tmp_path / "whole" / "shop"

    def commit(text: str) -> None:
        for name in ("a.py", "kept/b.py", "new\nline"):
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).write_text(f"{text} of {name}\n" if name != "a.py" else "same\n")
        git(shop, "add", "-A")
        git(shop, "commit", "-qm", text)

    commit("first")
    git(shop, "checkout", "-q", "-b", "side")
    commit("secret")
    git(shop, "checkout", "-q", "main")
    commit("quiet")
    with pytest.raises(subprocess.CalledProcessError):
        git(shop, "merge", "-q", "side")
    policy = READS + "  - { name: kept, match: { syscall: fs.read, path_glob: [/kept/*] }, action: deny }\n"
    looks = (call("git_diff"), call("git_diff", staged=True))
    bench = await asked(make_bench, *looks, policy=policy, name="whole/shop")
    by_id = {result.tool_call_id: result for result in bench.of("tool_result")}
    unstaged, staged = (by_id[each.tool_call_id] for each in bench.of("tool_call"))
    paths = [sorted(file["path"] for file in each.data["files"]) for each in (unstaged, staged)]
    assert paths == [["a.py", "new\nline"], ["new\nline"]]
    assert unstaged.data["left_out"] > 0
    assert staged.data["left_out"] == 1
    assert "secret of kept" not in unstaged.output


@pytest.mark.parametrize("bare", [False, True])
async def test_a_worktree_inside_its_repository_and_one_of_a_bare_one(
    make_bench: Any, tmp_path: Path, bare: bool
) -> None:
    (tmp_path / "made").mkdir()
    made = repository(tmp_path / "made")
    home = tmp_path / ".bare" if bare else tmp_path / "home"
    git(tmp_path, "clone", "-q", *(["--bare"] if bare else []), str(made), str(home))
    if not bare:
        shutil.move(home / ".git", tmp_path / ".git")
    git(tmp_path / ".bare" if bare else tmp_path, "worktree", "add", "-q", "-b", "side", str(tmp_path / "shop"))
    bench = await asked(make_bench, call("git_status"))
    assert output(bench).splitlines()[0].startswith("on branch side")


async def test_a_submodule_is_read_as_git_reads_it(make_bench: Any, tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    made = repository(tmp_path / "up")
    git(tmp_path, "init", "-q")
    git(tmp_path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(made), "shop")
    assert (tmp_path / "shop" / ".git").is_file()
    (tmp_path / "shop" / "b.py").write_text("changed\n")
    bench = await asked(make_bench, call("git_status"), call("git_diff"))
    assert "  modified: b.py" in output(bench)
    assert "+changed" in output(bench, 1)


async def test_GIT_07_a_folder_of_a_larger_repository_is_read_as_git_reads_it(make_bench: Any, tmp_path: Path) -> None:
    top = repository(tmp_path).rename(tmp_path / "whole")
    (top / "pkg" / "shop").mkdir(parents=True)
    for name in ("a.py", "b.py", "c.py"):
        (top / "pkg" / "shop" / name).write_text("first of a.py\n" + "x = 1\n" * 20)
        (top / name).write_text("secret\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "second")
    git(top, "mv", "pkg/shop/c.py", "pkg/shop/d.py")
    git(top, "mv", "c.py", "pkg/shop/moved.py")
    for name in ("pkg/shop/b.py", "b.py", "pkg/shop/x.log", "pkg/shop/new.py", "new.py"):
        (top / name).write_text("changed\n")
    (top / ".gitignore").write_text("pkg/shop/*.log\n")
    looks = (call("git_diff", base="HEAD"), call("git_diff", base="HEAD", paths=["b.py"]))
    bench = await asked(make_bench, call("git_status"), call("git_diff"), *looks, name="whole/pkg/shop")
    assert output(bench).splitlines() == [
        *("on branch main", "staged:", "  renamed: c.py -> d.py", "  added: moved.py"),
        *("not staged:", "  modified: b.py", "untracked:", "  new.py"),
    ]
    assert output(bench, 1).splitlines()[:2] == ["1 file, +1 -21", "  modified: b.py +1 -21"]
    assert output(bench, 2).startswith("3 files")
    assert output(bench, 3).startswith("1 file, ")


def _to_its_own_with_a_stranger_as_common(shop: Path, victim: Path) -> None:
    (own_folder(shop, shop.parent) / "commondir").write_text(f"{victim}/.git\n")


def _through_a_link(shop: Path, victim: Path) -> None:
    to_another_worktree(shop, victim)
    (shop.parent / "evil").symlink_to(victim / ".git")
    (shop / ".git").write_text("gitdir: ../evil/worktrees/other\n")


@pytest.mark.parametrize(
    "point",
    [
        to_the_repository_itself,
        to_another_worktree,
        _to_its_own_with_a_stranger_as_common,
        _through_a_link,
        to_a_pipe,
    ],
)
async def test_THR_config_a_pointer_that_nothing_points_back_to_shows_nothing(
    make_bench: Any, tmp_path: Path, point: Callable[[Path, Path], None]
) -> None:
    """THR-config-worktree-pointer, read: files, history and branches of another repository are not shown."""
    (tmp_path / "home").mkdir()
    victim = repository(tmp_path / "home")
    git(victim, "branch", "private")
    shop = tmp_path / "shop"
    shop.mkdir()
    point(shop, victim)
    bench = await asked(make_bench, call("git_status"), call("git_diff", base="private"))
    assert [each.ok for each in bench.of("tool_result")] == [False, False]
    assert SAYS.that_does_not_point_back in output(bench)


def test_THR_config_links_in_a_repository_elsewhere_are_not_followed(tmp_path: Path) -> None:
    """Parts of the repository are mounted where they lie; a link among them could lead to any folder of the
    person's."""
    origin = worktree(tmp_path)
    secret = tmp_path / "secret"
    secret.mkdir()
    for name in ("refs", "info", "packed-refs"):
        part = origin / ".git" / name
        if part.is_dir():
            shutil.rmtree(part)
        part.symlink_to(secret)
    shop = tmp_path / "shop"
    folders = resolve_pointer(shop, (shop / ".git").read_bytes())
    assert folders is not None
    assert {path.name for path in folders.parts()} == {"HEAD", "index", "logs", "objects"}
