"""Commits as git would make them: the same tree, an index that git accepts, and the refusals (GIT-02)."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import commits_by_step
import pytest
from commits import committed, environment, git, is_sound, planned, repository, without_machine, write
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.writes.commit import write_commit
from remit_server.workspace.paths.workspace_path import Workspace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings of this machine are ignored, in this process and in git."""
    without_machine(monkeypatch, tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", {"a.py": "1\n", "sub/b.py": "2\n", "gone.py": "3\n"})


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "-q", "--verify", "HEAD", check=False).strip()


def refusal(folder: Path, **arguments: object) -> ToolError:
    before = head(folder)
    with pytest.raises(ToolError) as refused:
        committed(folder, **arguments)  # type: ignore[arg-type]
    assert head(folder) == before
    return refused.value


def test_everything_that_changed_is_committed_and_git_agrees(shop: Path) -> None:
    write(shop, {"a.py": "changed\n", "new.py": "not known\n"})
    (shop / "gone.py").unlink()
    (shop / "sub" / "b.py").chmod(0o755)
    (shop / "link").symlink_to("a.py")
    git(shop, "add", "link")
    before = head(shop)
    made = committed(shop, "one line\n\n\n\nand a body  \n")
    assert head(shop) == made
    assert git(shop, "status", "--short") == "?? new.py\n"
    shown = git(shop, "show", "--format=%P%n%an <%ae>%n%B", "--summary", "--name-status", made)
    assert shown == (
        f"{before}\nAda <ada@example.org>\none line\n\nand a body\n\n\nM\ta.py\nD\tgone.py\nA\tlink\nM\tsub/b.py\n"
    )
    assert git(shop, "ls-tree", made, "link", "sub/b.py").split()[0] == "120000"
    assert git(shop, "reflog").splitlines()[0].endswith("HEAD@{0}: commit: one line")
    is_sound(shop)


@pytest.mark.slow
def test_only_what_is_named_and_what_is_staged_stays_so(shop: Path) -> None:
    write(shop, {"a.py": "changed\n", "sub/b.py": "changed\n", "sub/new.py": "", "staged.py": ""})
    git(shop, "add", "staged.py")
    committed(shop, paths=["sub"])
    assert git(shop, "status", "--short") == " M a.py\nA  staged.py\n?? sub/new.py\n"
    committed(shop, paths=["sub"], all=True)
    assert git(shop, "status", "--short") == " M a.py\nA  staged.py\n"
    is_sound(shop)


@pytest.mark.slow
def test_a_first_commit_and_a_detached_head(tmp_path: Path) -> None:
    shop = repository(tmp_path / "new")
    write(shop, {"a.py": "1\n", ".gitignore": "*.log\n", "b.log": ""})
    git(shop, "checkout", "-q", "-b", "deep/er")
    made = committed(shop, all=True)
    assert git(shop, "ls-tree", "--name-only", "deep/er").split() == [".gitignore", "a.py"]
    git(shop, "checkout", "-q", "--detach")
    write(shop, {"a.py": "2\n"})
    assert committed(shop) == head(shop) != made
    assert git(shop, "rev-parse", "deep/er").strip() == made
    is_sound(shop)


@pytest.mark.slow
def test_a_packed_repository(shop: Path) -> None:
    git(shop, "gc", "-q")
    git(shop, "update-index", "--index-version", "4")
    write(shop, {"a.py": "changed\n"})
    committed(shop)
    assert git(shop, "status", "--short") == ""
    is_sound(shop)


NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "a/c", "a/d/e", "b/x", "z.txt", "é", "a b", "a0"])
KINDS = st.sampled_from(["", "text\n", "other\n", "run", "link", "gone"])


def put(folder: Path, tree: dict[str, str]) -> None:
    for name, kind in tree.items():
        path = folder / name
        above = [each for each in path.parents if each.is_relative_to(folder)]
        if any(each.is_file() or each.is_symlink() for each in above) or (path.is_dir() and not path.is_symlink()):
            continue
        path.unlink(missing_ok=True)
        if kind == "gone":
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to("a")
            continue
        path.write_text(kind)
        path.chmod(0o755 if kind == "run" else 0o644)


TREES = st.dictionaries(NAMES, KINDS, max_size=6)


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(before=TREES, staged=TREES, after=TREES)
def test_the_tree_is_the_one_git_makes(before: dict[str, str], staged: dict[str, str], after: dict[str, str]) -> None:
    """There are two copies of a repository: git commits in one, and the tool in the other."""
    with tempfile.TemporaryDirectory() as folder:
        ours = repository(Path(folder) / "ours")
        put(ours, before)
        git(ours, "add", "-A")
        git(ours, "commit", "-qm", "first", "--allow-empty")
        put(ours, staged)
        git(ours, "add", "-A")
        put(ours, after)
        theirs = Path(folder) / "theirs"
        shutil.copytree(ours, theirs, symlinks=True)
        git(theirs, "commit", "-qam", "a change", check=False)
        if head(theirs) == head(ours):
            assert "nothing differs" in refusal(ours).why
            return
        committed(ours)
        assert git(ours, "rev-parse", "HEAD^{tree}") == git(theirs, "rev-parse", "HEAD^{tree}")
        assert git(ours, "status", "--short") == git(theirs, "status", "--short")
        is_sound(ours)


REFUSED = {
    "git config --unset user.email": "`user.email` is not set",
    "git config commit.gpgSign true": "signing would start a program",
    "git checkout -qb other && echo x > a.py && git commit -qam x && git checkout -q main && echo y > a.py"
    " && git commit -qam y && ! git merge -q other": "a merge is under way",
    "echo changed > a.py; touch .git/index.lock": "`.git/index.lock` is there",
    "echo changed > a.py; touch .git/refs/heads/main.lock": "`.git/refs/heads/main.lock` is there",
    "git config core.worktree /tmp": "`core.worktree`",
    "git update-index --split-index": "split or sparse",
    "echo /elsewhere > .git/objects/info/alternates": "alternates",
    "mv .git ../x && ln -s ../x .git": "`.git` is a link",
    "mv .git ../x && echo gitdir: ../x > .git": "does not point back here",
    "mv .git ../x && echo gitdir: ../y > .git": "that is not there",
    "mv .git/objects ../x && ln -s ../../x .git/objects": "a folder or link in its path",
    "mv .git/refs ../x && ln -s ../../x .git/refs": "a folder or link in its path",
    "rm -rf .git": "no `.git` in the workspace or above it",
    "echo 'ref: refs/heads/../../../x' > .git/HEAD": "HEAD names no branch",
    "echo 'a.py filter=lfs' > .gitattributes; echo x > a.py": "through the filter `lfs`",
    "echo '*.py text=auto' > .git/info/attributes; printf 'x\\r\\n' > a.py": "line ends",
    "git config core.autocrlf input; printf 'x\\r\\n' > a.py": "line ends",
    "echo 'a.py working-tree-encoding=UTF-16' > .gitattributes; echo x > a.py": "another encoding",
    "echo '[attr]big filter=x' > .gitattributes; echo 'a.py big' >> .gitattributes; echo x > a.py": "filter `x`",
    "echo x > a.py; git config extensions.objectFormat sha256": "does not support its format",
    "rm .git/objects/??/*; echo x > a.py": "the repository cannot be read",
    "echo broken > .git/index": "the repository cannot be read",
    "true": "nothing differs from the last commit",
}


@pytest.mark.slow
@pytest.mark.parametrize("make", REFUSED)
def test_what_cannot_be_done_exactly_is_refused(shop: Path, make: str) -> None:
    subprocess.run(["sh", "-ec", make], cwd=shop, check=True, env=environment(shop.parent), capture_output=True)
    with pytest.raises(ToolError) as refused:
        committed(shop)
    assert REFUSED[make] in refused.value.why
    assert refused.value.retryable or "touch" not in make


@pytest.mark.slow
def test_files_whose_line_ends_stay_are_committed(shop: Path) -> None:
    write(shop, {".gitattributes": "* text=auto\n*.bat -text\n"})
    (shop / "a.bat").write_bytes(b"x\r\n")
    (shop / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    committed(shop, all=True)
    assert git(shop, "status", "--short") == ""
    assert git(shop, "cat-file", "-s", "HEAD:a.bat").strip() == "3"


def test_an_ignored_missing_or_linked_name_is_refused(shop: Path) -> None:
    write(shop, {".gitignore": "*.log\n", "x.log": ""})
    assert "is ignored" in refusal(shop, paths=["x.log"]).why
    assert "there is no `none`" in refusal(shop, paths=["none"]).why
    (shop / "link").symlink_to("a.py")
    assert "leads to `a.py`" in refusal(shop, paths=["link"]).why


@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude"])
def test_GIT_02_an_ignore_file_that_begins_with_a_byte_order_mark_keeps_its_first_line(shop: Path, name: str) -> None:
    (shop / name).write_bytes(b"\xef\xbb\xbfsecret_out/\n")
    write(shop, {"secret_out/x.py": "", "new.py": ""})
    committed(shop, all=True)
    assert "secret_out/x.py" not in git(shop, "ls-files").split()
    assert git(shop, "status", "--short") == ""
    assert "is ignored" in refusal(shop, paths=["secret_out/x.py"]).why


def test_GIT_02_what_git_would_take_along_and_a_commit_does_not_is_named(shop: Path) -> None:
    inner = repository(shop / "inner", {"a.py": ""})
    git(shop, "clone", "-q", str(inner), "known")
    git(shop, "add", "known")
    git(shop, "commit", "-qm", "second")
    git(shop, "commit", "-q", "--allow-empty", "-m", "on")
    repository(shop / "empty")
    (shop / "link").symlink_to("a.py")
    (shop / "ignored").symlink_to("a.py")
    write(shop, {".gitignore": "ignored\n", "new.py": "", "tab\tname": ""})
    plan = planned(shop, all=True)
    assert [change.path.relative for change in plan.changes] == [".gitignore", "new.py"]
    assert [remark.partition(": ")[2] for remark in plan.remarks] == [
        "1 link (link)",
        "2 repositories of their own (empty, inner)",
        "1 submodule (known)",
        "1 new files with names that cannot be shown",
    ]
    write_commit(Workspace(shop), plan)
    assert "1 link (link)" in refusal(shop, all=True).why
    hidden = planned(shop, all=True, permits=lambda _, path: path != "link") if write(shop, {"b": ""}) is None else None
    assert hidden is not None
    assert not any("link" in remark for remark in hidden.remarks)


def test_GIT_02_a_file_outside_a_sparse_checkout_that_is_there_is_named(shop: Path) -> None:
    git(shop, "sparse-checkout", "set", "--no-cone", "/a.py")
    write(shop, {"sub/b.py": "changed\n", "a.py": "changed\n"})
    plan = planned(shop)
    assert [change.path.relative for change in plan.changes] == ["a.py"]
    assert any("outside the sparse checkout (sub/b.py)" in remark for remark in plan.remarks)


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
@pytest.mark.parametrize("everything", [False, True])
def test_GIT_02_a_file_that_is_only_meant_to_be_added_stays_so_where_git_does_not_look_at_it(
    shop: Path, flag: str, everything: bool
) -> None:
    write(shop, {"a.py": "changed\n", "meant.py": "new\n"})
    git(shop, "add", "-N", "meant.py")
    git(shop, "update-index", flag, "meant.py")
    before = git(shop, "ls-files", "-v", "-s", "meant.py")
    committed(shop, all=everything)
    assert git(shop, "show", "--format=", "--name-only") == "a.py\n"
    assert git(shop, "ls-files", "-v", "-s", "meant.py") == before
    (shop / "meant.py").unlink()
    write(shop, {"a.py": "changed again\n"})
    committed(shop, all=everything)
    assert git(shop, "ls-files", "-v", "-s", "meant.py") == before
    is_sound(shop)


def test_GIT_02_a_file_in_another_case_is_no_new_one_where_case_does_not_count(shop: Path) -> None:
    git(shop, "config", "core.ignoreCase", "true")
    write(shop, {"A.py": "1\n", "new.py": ""})
    assert [change.path.relative for change in planned(shop, all=True).changes] == ["new.py"]


def test_GIT_02_a_new_file_in_a_folder_that_git_knows_in_another_case_is_left_and_named(shop: Path) -> None:
    """Git would use the known folder's spelling, but no such file exists if the disk distinguishes case."""
    git(shop, "config", "core.ignoreCase", "true")
    write(shop, {"Sub/new.py": "", "sub/other.py": ""})
    plan = planned(shop, all=True)
    assert [change.path.relative for change in plan.changes] == ["sub/other.py"]
    assert any("folder of another case (Sub/new.py)" in remark for remark in plan.remarks)
    assert "in another case" in refusal(shop, paths=["Sub/new.py"]).why
    git(shop, "config", "core.ignoreCase", "false")
    assert len(planned(shop, all=True).changes) == 2


def test_GIT_02_naming_an_ignored_folder_commits_nothing_of_it(shop: Path) -> None:
    write(shop, {".gitignore": "build/\n", "build/x.py": ""})
    assert "nothing differs" in refusal(shop, paths=["build"], all=True).why


def test_GIT_02_new_files_are_not_committed_where_it_is_not_known_what_is_ignored(shop: Path) -> None:
    (shop.parent / "list").write_text("new.py\n")
    git(shop, "config", "core.excludesFile", str(shop.parent / "list"))
    write(shop, {"a.py": "changed\n", "new.py": ""})
    assert "core.excludesFile" in refusal(shop, all=True).why
    assert "core.excludesFile" in refusal(shop, paths=["new.py"]).why
    committed(shop)
    assert git(shop, "status", "--short") == ""


def test_what_policy_keeps_from_being_read_is_not_committed(shop: Path) -> None:
    """THR: neither changed nor staged files are committed, and both stay as they were."""
    write(shop, {"a.py": "changed\n", "gone.py": "secret\n", "key.pem": "secret\n"})
    git(shop, "add", "key.pem")
    plan = planned(shop, permits=lambda _, path: path not in {"gone.py", "key.pem"})
    write_commit(Workspace(shop), plan)
    assert git(shop, "show", "--format=", "--name-only") == "a.py\n"
    assert git(shop, "status", "--short") == " M gone.py\nA  key.pem\n"
    assert plan.remarks == ("left out: 2 files that policy keeps unread",)
    is_sound(shop)


@pytest.mark.slow
def test_another_commit_in_between_is_not_lost(shop: Path) -> None:
    write(shop, {"a.py": "ours\n"})
    plan = planned(shop)
    write(shop, {"gone.py": "theirs\n"})
    git(shop, "commit", "-qm", "theirs", "gone.py")
    theirs = head(shop)
    with pytest.raises(ToolError) as refused:
        write_commit(Workspace(shop), plan)
    assert (refused.value.code, head(shop)) == (ErrorCode.STALE, theirs)
    plan = planned(shop)
    git(shop, "checkout", "-qb", "other")
    with pytest.raises(ToolError) as refused:
        write_commit(Workspace(shop), plan)
    assert refused.value.code is ErrorCode.STALE
    assert git(shop, "rev-parse", "main", "other").split() == [theirs, theirs]
    is_sound(shop)


@pytest.mark.slow
def test_thr_a_hostile_repository_starts_nothing_by_a_commit(shop: Path) -> None:
    """THR: hooks, filters, monitors, signing programs and includes that a repository brings are not run."""
    evil = shop.parent / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {shop.parent}/ran\ncat\n")
    evil.chmod(0o755)
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction"):
        shutil.copy(evil, shop / ".git" / "hooks" / name)
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.x.command", "gpg.program", "core.pager"):
        git(shop, "config", name, str(evil))
    (shop.parent / "more").write_text(f"[core]\n\thooksPath = {shop.parent}\n")
    git(shop, "config", "include.path", str(shop.parent / "more"))
    write(shop, {".gitattributes": "*.md diff=x\n*.dat filter=x\n", "a.py": "changed\n"})
    (shop.parent / "ran").unlink(missing_ok=True)
    plan = planned(shop)
    write_commit(Workspace(shop), plan)
    assert not (shop.parent / "ran").exists()
    assert plan.remarks == (
        "hooks are not run: pre-commit, prepare-commit-msg, commit-msg, post-commit, reference-transaction",
    )
    write(shop, {"x.dat": "x"})
    assert "the filter `x`" in refusal(shop, paths=["x.dat"]).why
    assert not (shop.parent / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [".GIT", "git~1", ".g\u200cit", "a\\b", "a\nb", "a\u202eb", "sub/.Git/x"])
def test_thr_paths_tricky_names_are_not_committed(shop: Path, name: str) -> None:
    """THR: names that another system takes for `.git`, or that look like another name."""
    write(shop, {name: "x", "a.py": "changed\n"})
    git(shop, "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "add", "-A", check=False)
    before = head(shop)
    if name not in git(shop, "ls-files", "-z").split("\0"):
        pytest.skip("git does not take it either")
    with pytest.raises(ToolError):
        committed(shop)
    assert head(shop) == before


def test_thr_paths_an_index_that_leads_out_reads_nothing(shop: Path) -> None:
    """THR: a forged index names a file outside the workspace."""
    (shop.parent / "aa").write_text("outside\n")
    write(shop, {"xx/aa": "in\n"})
    git(shop, "add", "-A")
    index = shop / ".git" / "index"
    data = index.read_bytes().replace(b"xx/aa", b"../aa")
    index.write_bytes(data[:-20] + hashlib.sha1(data[:-20], usedforsecurity=False).digest())
    assert SAYS.cannot_be_committed in refusal(shop).why


@pytest.fixture
def killed(shop: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, commits_by_step.__file__, str(shop)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment(shop.parent)) as process:
        yield process
        process.communicate()


def killed_at(process: subprocess.Popen[str], step: int) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(step) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_thr_storage_kill_at_every_step_of_a_commit(shop: Path, killed: subprocess.Popen[str]) -> None:
    """THR-storage-kill-commit: the head is the old or the new one, fsck finds nothing, and the next commit succeeds."""
    outcomes = {"old": 0, "new": 0}
    step = 0
    while True:
        write(shop, {"a.py": f"change {step}\n", f"new{step}/x.py": f"{step}\n"})
        before = head(shop)
        ended = killed_at(killed, step)
        new = head(shop) != before
        is_sound(shop)
        assert git(shop, "rev-parse", "HEAD~1").strip() == before if new else True
        assert git(shop, "show", "HEAD:a.py") == (f"change {step}\n" if new else git(shop, "show", f"{before}:a.py"))
        if ended == "done":
            break
        outcomes["new" if new else "old"] += 1
        if not new:
            assert killed_at(killed, 100_000) == "done"
            assert git(shop, "show", "HEAD:a.py") == f"change {step}\n"
        else:
            write(shop, {"after.py": f"{step}\n"})
            assert killed_at(killed, 100_000) == "done"
        assert git(shop, "status", "--short") == ""
        assert not list((shop / ".git").rglob("*.lock")) + list((shop / ".git").glob(".remit-tmp-*"))
        step += 1
    assert outcomes["old"] > 20
    assert outcomes["new"] > 2
