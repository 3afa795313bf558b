"""What commands see of a repository that lies outside the workspace: as much as of a plain `.git` (GIT-06)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from git_looks import git, repository

SECRET = "the-quiet-word-that-nobody-may-see"
RUNS = """capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: runs, match: { syscall: [process.exec] }, action: allow }
  - { name: vault, match: { syscall: [fs.read], path_glob: ["vault.txt", ".git/description"] }, action: deny }
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("bwrap") is None or shutil.which("git") is None, reason="there is no bwrap or no git"
    ),
]


def plain(folder: Path) -> Path:
    return repository(folder)


def worktree(folder: Path) -> Path:
    (folder / "home").mkdir()
    home = repository(folder / "home")
    git(home, "worktree", "add", "-q", "-b", "side", str(folder / "shop"))
    return folder / "shop"


def submodule(folder: Path) -> Path:
    (folder / "up").mkdir()
    made = repository(folder / "up")
    (folder / "top").mkdir()
    git(folder, "init", "-q")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(made), "shop")
    return folder / "shop"


def separate(folder: Path) -> Path:
    shop = repository(folder)
    git(shop, "init", "-q", "--separate-git-dir", str(folder / "shop.git"))
    git(shop, "config", "core.worktree", str(shop))
    return shop


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def ran(
    make_bench: Any, *commands: str, decision: str = "allow", name: str = "shop"
) -> tuple[Bench, list[str], list[Any]]:
    asker = Answering(decision=decision)
    calls = [call("run_command", command=command) for command in commands]
    bench: Bench = await make_bench({"calls": [intent("EXECUTE"), *calls]}, {"text": "ok"}, policy=RUNS, name=name)
    (bench.workspace / "a.py").write_text("changed\n")
    await bench.ask("look", asker=asker)
    by_id = {result.tool_call_id: result.output for result in bench.of("tool_result")}
    return bench, [by_id[each.tool_call_id] for each in bench.of("tool_call")], asker.asked


@pytest.mark.parametrize("make", [plain, worktree, submodule, separate])
async def test_GIT_06_git_works_in_commands_as_in_a_plain_repository(
    make_bench: Any, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    shop = make(tmp_path)
    common = Path(git(shop, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    (common / "not-of-git").write_text(SECRET)
    (common / "description").write_text(SECRET)
    before = contents(common)
    branch = git(shop, "branch", "--show-current").strip()
    look = f"git status --short --branch; git log --oneline; git diff --stat; cat {common}/description"
    bench, said, asked = await ran(make_bench, look, "git add -A; git commit -qm x", "git hash-object -w a.py")
    assert f"## {branch}" in said[0]
    assert " M a.py" in said[0]
    assert "first" in said[0]
    assert "1 file changed" in said[0]
    assert SECRET not in "".join(said)
    assert asked == []
    if make is not plain:
        assert not (bench.workspace / ".git").is_dir()
        assert "index.lock" in said[1]
    assert contents(common) == before


async def test_GIT_06_nothing_but_gits_own_names_is_shown_of_a_folder_elsewhere(
    make_bench: Any, tmp_path: Path
) -> None:
    """THR-config-worktree-pointer: other files beside the repository's own, and other working trees, stay hidden."""
    worktree(tmp_path)
    home = tmp_path / "home" / "shop"
    (home / ".git" / "private").write_text(SECRET)
    (home / "here.txt").write_text(SECRET)
    git(home, "worktree", "add", "-q", str(tmp_path / "other"))
    (home / ".git" / "hooks" / "leads").symlink_to(home / "here.txt")
    look = (
        f"cat {home}/.git/private {home}/here.txt {home}/.git/worktrees/other/HEAD {home}/.git/hooks/leads; ls {home}"
    )
    _, said, _ = await ran(make_bench, look)
    assert SECRET not in said[0]
    assert said[0].count("No such file") == 4
    assert "refs/heads/other" not in said[0]


@pytest.mark.parametrize("make", [plain, worktree, separate])
async def test_POL_16_history_elsewhere_that_holds_what_is_denied_is_asked_about(
    make_bench: Any, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    shop = make(tmp_path)
    (shop / "vault.txt").write_text(SECRET)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "with a secret")
    git(shop, "rm", "-q", "vault.txt")
    git(shop, "commit", "-qm", "without")
    (shop / "inside.sh").write_text("git show HEAD~1:vault.txt\n")
    commands = ("git show HEAD~1:vault.txt", "git log --oneline", "sh inside.sh")
    _, said, asked = await ran(make_bench, *commands, decision="deny")
    assert ["history" in json.dumps(each.model_dump(mode="json")) for each in asked] == [True]
    assert SECRET not in "".join(said)
    assert "without" in said[1]


@pytest.mark.parametrize(("version", "linked"), [("2", False), ("4", False), ("3", True)])
async def test_GIT_07_below_a_repository_git_tells_commands_of_the_files_that_are_there(
    make_bench: Any, tmp_path: Path, version: str, linked: bool
) -> None:
    top = repository(tmp_path).rename(tmp_path / ("first" if linked else "whole"))
    if linked:
        git(top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "whole"))
        top = tmp_path / "whole"
    shop = top / "pkg" / "shop"
    shop.mkdir(parents=True)
    for path in (shop / "a.py", shop / "b.py", top / "pkg" / "beside.py"):
        path.write_text(f"of {path.name}: {SECRET if path.parent != shop else ''}\n")
    (top / ".gitignore").write_text("*.log\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "second")
    git(top, "update-index", "--index-version", version)
    (shop / "b.py").unlink()
    (shop / "new.py").write_text("")
    (shop / "x.log").write_text("git show HEAD:pkg/beside.py")
    common = Path(git(shop, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    before = contents(common)
    look = (
        "git status --short --branch",
        "git log --oneline -- .",
        "git ls-files | cat",
        "sh x.log",
    )
    _, said, asked = await ran(
        make_bench,
        *look,
        "git show HEAD:pkg/beside.py",
        "ls ../..; cat ../beside.py",
        name="whole/pkg/shop",
        decision="deny",
    )
    assert said[0].splitlines() == [
        "exit code 0",
        "stdout:",
        f"## {'side' if linked else 'main'}",
        " M a.py",
        " D b.py",
        "?? new.py",
    ]
    assert "second" in said[1]
    assert said[2].splitlines()[2:] == ["a.py", "b.py"]
    assert ["history" in json.dumps(each.model_dump(mode="json")) for each in asked] == [True]
    assert SECRET not in "".join(said)
    assert contents(common) == before


@pytest.mark.parametrize("layout", ["worktree", "below"])
async def test_GIT_06_git_looks_into_submodules_of_the_workspace(make_bench: Any, tmp_path: Path, layout: str) -> None:
    """If the workspace is a folder of the repository, other submodules are outside it, like the files beside it."""
    (tmp_path / "up").mkdir()
    made = repository(tmp_path / "up")
    home = repository(tmp_path).rename(tmp_path / "home")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    git(home, *add, "add", str(made), "pkg/shop/lib")
    git(home, *add, "add", str(made), "beside")
    (home / "pkg" / "shop" / "a.py").write_text("x = 1\n")
    git(home, "add", "-A")
    git(home, "commit", "-qm", "second")
    name, modules = "home/pkg/shop", home / ".git" / "modules"
    if layout == "worktree":
        name, modules = "linked", home / ".git" / "worktrees" / "linked" / "modules"
        git(home, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
        git(tmp_path / "linked", *add, "update", "--init")
    lib = tmp_path / name / ("lib" if layout == "below" else "pkg/shop/lib")
    (lib / "b.py").write_text("changed\n")
    look = ("git status --short", f"cat {modules}/pkg/shop/lib/HEAD", f"cat {modules}/beside/HEAD")
    _, said, _ = await ran(make_bench, *look, name=name)
    assert " M a.py" in said[0] or "?? a.py" in said[0]
    assert f" m {lib.relative_to(tmp_path / name)}" in said[0]
    assert "stderr" not in said[0]
    assert "exit code 0" in said[1]
    assert ("exit code 0" in said[2]) == (layout == "worktree")


async def test_THR_config_a_pointer_that_nothing_points_back_to_shows_commands_nothing(
    make_bench: Any, tmp_path: Path
) -> None:
    """THR-config-worktree-pointer, by a command."""
    (tmp_path / "home").mkdir()
    victim = repository(tmp_path / "home")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".git").write_text(f"gitdir: {victim}/.git\n")
    look = f"git log; git show HEAD:b.py; ls {victim}/.git {victim}; cat {victim}/.git/HEAD {victim}/b.py"
    _, said, _ = await ran(make_bench, look)
    assert "first" not in said[0]
    assert "refs/heads" not in said[0]
    assert "not a git repository" in said[0]


def in_a_detached_head(shop: Path) -> str:
    """Puts the secret into a commit of another working tree to which no ref leads; returns the command that shows
    it."""
    other = shop.parent / "other"
    git(shop, "worktree", "add", "-q", "--detach", str(other))
    (other / "vault.txt").write_text(SECRET)
    git(other, "add", "-A")
    git(other, "commit", "-qm", "with a secret")
    (shop / ".git" / "worktrees" / "other" / "logs" / "HEAD").unlink()
    return "git show $(cat .git/worktrees/other/HEAD):vault.txt"


def in_a_log(shop: Path) -> str:
    """Puts the secret into a commit that only the reflog names, after a reset; returns the command that shows it."""
    (shop / "vault.txt").write_text(SECRET)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "with a secret")
    git(shop, "reset", "-q", "--hard", "HEAD~1")
    return "git show HEAD@{1}:vault.txt"


def in_a_submodule(shop: Path) -> str:
    """Puts the secret into a submodule that is no longer checked out; returns the command that shows it."""
    (shop.parent / "up").mkdir()
    made = repository(shop.parent / "up")
    (made / "vault.txt").write_text(SECRET)
    git(made, "add", "-A")
    git(made, "commit", "-qm", "with a secret")
    git(made, "rm", "-q", "vault.txt")
    git(made, "commit", "-qm", "without")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(made), "lib")
    git(shop, "commit", "-qm", "lib")
    git(shop, "submodule", "--quiet", "deinit", "-f", "lib")
    return "git --git-dir=.git/modules/lib show HEAD~1:vault.txt"


def with_a_secret(made: Path) -> Path:
    """Returns the repository, with a secret in its history."""
    (made / "vault.txt").write_text(SECRET)
    git(made, "add", "-A")
    git(made, "commit", "-qm", "with a secret")
    git(made, "rm", "-q", "vault.txt")
    git(made, "commit", "-qm", "without")
    return made


def in_a_folder(shop: Path) -> str:
    """Puts the secret into a nested repository that is no submodule; returns the command that shows it."""
    (shop / "vendor").mkdir()
    made = with_a_secret(repository(shop / "vendor"))
    return f"git -C {made.relative_to(shop)} show HEAD~1:vault.txt"


def in_a_folder_of_no_repository(shop: Path) -> str:
    shutil.rmtree(shop / ".git")
    return in_a_folder(shop)


def in_a_bare_one(shop: Path) -> str:
    (shop.parent / "up").mkdir()
    git(shop, "clone", "-q", "--bare", str(with_a_secret(repository(shop.parent / "up"))), "mirror")
    return "git --git-dir=mirror show HEAD~1:vault.txt"


def staged_elsewhere(shop: Path) -> str:
    """Puts the secret into the index of another working tree, and into no commit; returns the command that shows it."""
    other = shop.parent / "other"
    git(shop, "worktree", "add", "-q", "--detach", str(other))
    (other / "vault.txt").write_text(SECRET)
    git(other, "add", "-A")
    return "GIT_INDEX_FILE=.git/worktrees/other/index git show :vault.txt"


@pytest.mark.parametrize(
    "make",
    [
        *(in_a_detached_head, in_a_log, in_a_submodule),
        *(in_a_folder, in_a_folder_of_no_repository, in_a_bare_one, staged_elsewhere),
    ],
)
async def test_POL_16_history_that_no_ref_of_the_repository_leads_to_is_asked_about(
    make_bench: Any, tmp_path: Path, make: Callable[[Path], str]
) -> None:
    shop = repository(tmp_path)
    show = make(shop)
    (shop / "inside.sh").write_text(f"{show}\n")
    bench, said, asked = await ran(make_bench, show, "sh inside.sh", decision="deny")
    assert bench.workspace == shop
    assert len(asked) == 1
    assert SECRET not in "".join(said)
