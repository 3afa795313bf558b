"""Git's status and differences, in repositories that nobody trusts (GIT-01)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call
from git_looks import READS, asked, git, output, repository
from messages import SAYS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("bwrap") is None or shutil.which("git") is None, reason="there is no bwrap or no git"
    ),
]

SECRET = READS + "  - { name: secret, match: { syscall: fs.read, path_glob: [.env] }, action: deny }\n"


async def test_a_status_says_branch_and_every_state(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    git(shop, "mv", "b.py", "renamed.py")
    (shop / "c c.py").write_text("changed\n")
    (shop / "new.py").write_text("")
    bench = await asked(make_bench, call("git_status"))
    (result,) = bench.of("tool_result")
    assert result.output.splitlines() == [
        "on branch main",
        "staged:",
        "  renamed: b.py -> renamed.py",
        "not staged:",
        "  modified: c c.py",
        "untracked:",
        "  new.py",
    ]


async def test_GIT_01_a_status_leaves_out_what_the_persons_own_list_ignores(
    make_bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = repository(tmp_path)
    (tmp_path / "mine").write_text("*.log\n")
    (tmp_path / "gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path}/mine\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (shop / "a.log").write_text("")
    (shop / "new.py").write_text("")
    bench = await asked(make_bench, call("git_status"))
    assert output(bench).splitlines() == ["on branch main", "untracked:", "  new.py"]


@pytest.mark.parametrize("said", ["autocrlf = input", "attributesFile = ~/attributes"])
async def test_GIT_01_a_tree_is_read_as_the_persons_own_settings_say(
    make_bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Line ends that git itself converts are no difference."""
    shop = repository(tmp_path)
    (tmp_path / "attributes").write_text("* text\n")
    (tmp_path / "gitconfig").write_text(f"[core]\n\t{said}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    data = (shop / "b.py").read_bytes()
    (shop / "b.py").write_bytes(data.replace(b"\n", b"\r\n"))
    git(shop, "add", "b.py")
    os.utime(shop / "b.py", (1, 1))
    bench = await asked(make_bench, call("git_status"), call("git_diff"))
    by_id = {result.tool_call_id: result.data for result in bench.of("tool_result")}
    status, diff = (by_id[each.tool_call_id] for each in bench.of("tool_call"))
    assert (status["entries"], diff["files"]) == ([], [])


async def test_GIT_01_a_file_whose_filter_is_not_run_is_not_just_called_modified(
    make_bench: Any, tmp_path: Path
) -> None:
    shop = repository(tmp_path)
    git(shop, "config", "filter.low.clean", "tr A-Z a-z")
    (shop / ".gitattributes").write_text("*.dat filter=low\n")
    (shop / "a.dat").write_text("HELLO\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "second")
    os.utime(shop / "a.dat", (1, 1))
    (shop / "b.py").write_text("changed\n")
    git(shop, "status")
    os.utime(shop / "a.dat", (2, 2))
    calls = (call("git_status"), call("git_diff"), call("git_diff", base="HEAD"), call("git_diff", staged=True))
    bench = await asked(make_bench, *calls)
    results = {result.tool_call_id: result for result in bench.of("tool_result")}
    told = [results[each.tool_call_id].data["filters_not_run"] for each in bench.of("tool_call")]
    assert told == [["a.dat"], ["a.dat"], ["a.dat"], []]
    assert "a.dat (low)" in output(bench)
    assert "a.dat (low)" in output(bench, 1)


async def test_GIT_01_a_submodule_that_is_not_looked_at_is_named(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    (tmp_path / "up").mkdir()
    made = repository(tmp_path / "up")
    for name in ("lib", "gone"):
        git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(made), name)
    git(shop, "commit", "-qm", "second")
    git(shop, "submodule", "--quiet", "deinit", "gone")
    (shop / "lib" / "b.py").write_text("changed\n")
    bench = await asked(make_bench, call("git_status"))
    (result,) = bench.of("tool_result")
    assert result.data["submodules_not_looked_at"] == ["lib"]
    assert "apart from submodules, nothing differs" in output(bench)


@pytest.mark.slow
async def test_a_status_knows_what_a_branch_follows_and_how_far_it_is(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", str(shop), "up.git")
    git(shop, "remote", "add", "origin", str(tmp_path / "up.git"))
    git(shop, "fetch", "-q", "origin")
    git(shop, "branch", "-u", "origin/main")
    git(shop, "commit", "-qm", "second", "--allow-empty")
    bench = await asked(make_bench, call("git_status"))
    assert output(bench) == (
        "on branch main, which follows origin/main: 1 ahead, 0 behind\n"
        "nothing differs from the last commit, and nothing is untracked"
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        ("rm -rf .git", "there is no `.git` in the workspace or above it"),
        ("rm -rf .git && git init -q --bare .", "the workspace is a bare repository"),
        ("mv .git ../elsewhere && echo 'gitdir: ../elsewhere' > .git", "that does not point back here"),
        ("mv .git ../elsewhere && ln -s ../elsewhere .git", "outside the workspace"),
        ("git config extensions.objectFormat sha256", "its format is sha256"),
        ("git checkout -q --detach", "HEAD is detached at "),
        ("rm -rf .git && git init -q -b new .", "on branch new, without a commit yet"),
        ("rm .git/HEAD", "cannot look at the repository"),
        ("echo x > .git/index", "index file smaller than expected"),
    ],
)
@pytest.mark.slow
async def test_whatever_a_repository_is_the_answer_is_clear(
    make_bench: Any, tmp_path: Path, make: str, said: str
) -> None:
    shop = repository(tmp_path)
    subprocess.run(["sh", "-ec", make], cwd=shop, check=True)
    bench = await asked(make_bench, call("git_status"))
    assert said in output(bench)


@pytest.mark.slow
async def test_conflicts_and_submodules(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(shop), "sub")
    git(shop, "commit", "-qm", "sub")
    git(shop / "sub", "commit", "-qm", "moved on", "--allow-empty")
    git(shop, "checkout", "-qb", "other")
    (shop / "b.py").write_text("theirs\n")
    git(shop, "commit", "-qm", "theirs", "b.py")
    git(shop, "checkout", "-q", "main")
    (shop / "b.py").write_text("ours\n")
    git(shop, "commit", "-qm", "ours", "b.py")
    with pytest.raises(subprocess.CalledProcessError):
        git(shop, "merge", "-q", "other")
    bench = await asked(make_bench, call("git_status"), call("git_diff"))
    said = ["on branch main", "conflicts:", "  b.py", "not staged:", "  modified: sub"]
    assert output(bench).splitlines()[:-1] == said
    assert next(r.data for r in bench.of("tool_result") if r.tool == "git_status")["submodules_not_looked_at"] == [
        "sub"
    ]
    diff = output(bench, 1)
    assert "  conflict: b.py" in diff
    assert "++<<<<<<< HEAD" in diff
    assert "  modified: sub +1 -1" in diff
    assert "+Subproject commit" in diff


async def test_a_diff_counts_and_shows(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    (shop / "b.py").write_text("other of b.py\n" + "x = 1\n" * 20)
    (shop / "c c.py").write_text("other of c\n" + "x = 1\n" * 20)
    git(shop, "mv", "c c.py", "d \t d.py")
    git(shop, "add", "d \t d.py")
    bench = await asked(
        make_bench,
        call("git_diff"),
        call("git_diff", staged=True),
        call("git_diff", base="HEAD", paths=["b.py"], context_lines=0),
    )
    assert output(bench).startswith("1 file, +1 -1\n  modified: b.py +1 -1\n\ndiff --git a/b.py b/b.py\n")
    assert "-first of b.py\n+other of b.py\n" in output(bench)
    assert "  renamed: c c.py -> d ⟨U+0009⟩ d.py +1 -1" in output(bench, 1)
    assert output(bench, 2).endswith("@@ -1 +1 @@\n-first of b.py\n+other of b.py")


@pytest.mark.parametrize("base", ["--output=x", "nowhere", "HEAD:.env", "HEAD^{tree}", "HEAD:.env^{blob}", "-", ""])
@pytest.mark.slow
async def test_what_is_no_commit_is_refused(make_bench: Any, tmp_path: Path, base: str) -> None:
    shop = repository(tmp_path)
    blob = git(shop, "rev-parse", "HEAD:.env").strip()
    bench = await asked(make_bench, call("git_diff", base=base), call("git_diff", base=blob, paths=["a.py"]))
    assert [result.ok for result in bench.of("tool_result")] == [False, False]
    assert "first of .env" not in output(bench) + output(bench, 1)


@pytest.mark.slow
async def test_a_huge_diff_is_cut_and_says_so(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    (shop / "b.py").write_text("line of a large file\n" * 400_000)
    (shop / "c c.py").write_text("small\n")
    bench = await asked(make_bench, call("git_diff"), call("git_diff", paths=["c c.py"]))
    assert "the diff is larger than 2000000 bytes: only its beginning was looked at" in output(bench)
    assert SAYS.more_characters_of_this_file in output(bench)
    assert "not shown in full: b.py; ask for them with `paths`" in output(bench)
    assert output(bench, 1).startswith("1 file, +1 -21\n")


async def test_thr_files_that_policy_denies_show_in_no_status_and_no_diff(make_bench: Any, tmp_path: Path) -> None:
    """Git has the content in its database, and the files are hidden on disk: neither output shows anything of them."""
    shop = repository(tmp_path)
    git(shop, "mv", ".env", "plain.txt")
    (shop / "b.py").write_text("second\n")
    bench = await asked(
        make_bench,
        *(call("git_status"), call("git_diff", base="HEAD"), call("git_diff", staged=True)),
        call("git_diff", base="HEAD", paths=[".env"]),
        policy=SECRET,
    )
    whole = "".join(output(bench, number) for number in range(3))
    assert "first of .env" not in whole
    assert "plain.txt" not in whole
    assert "modified: b.py" in output(bench)
    assert "left out: 1 path that policy keeps unread" in whole
    assert "+second" in output(bench, 1)
    assert "left out: 1 file that policy keeps unread" in whole
    assert [r.error.code for r in bench.of("tool_result") if r.error is not None] == ["denied"]


async def test_a_tracked_file_that_policy_denies_keeps_no_other_difference_from_being_shown(
    make_bench: Any, tmp_path: Path
) -> None:
    """Git cannot read the file, so that it always counts as changed, and git alone would end with an error there."""
    shop = repository(tmp_path)
    for name in ("vault/:(top)b*.pem", "vault/a\nb.pem"):
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text("-----BEGIN\n")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "keys")
    (shop / "b.py").write_text("second\n")
    keys = SECRET.replace("[.env]", '[.env, "*.pem"]')
    bench = await asked(
        make_bench, *(call("git_diff", **given) for given in ({}, {"base": "HEAD"}, {"paths": ["."]})), policy=keys
    )
    for number in range(3):
        assert output(bench, number).startswith("1 file, +1 -21\n  modified: b.py +1 -21\nleft out: 3 files")
        assert "+second" in output(bench, number)


async def test_who_denies_reading_git_denies_git(make_bench: Any, tmp_path: Path) -> None:
    repository(tmp_path)
    policy = READS + "  - { name: no-git, match: { syscall: fs.read, path_glob: [.git] }, action: deny }\n"
    bench = await asked(make_bench, call("git_status"), call("git_diff"), policy=policy)
    assert [result.error.code for result in bench.of("tool_result")] == ["denied", "denied"]


async def test_thr_a_hostile_repository_starts_nothing(make_bench: Any, tmp_path: Path) -> None:
    """Every setting that names a program is set; the program would leave its mark in the output or fail the command."""
    shop = repository(tmp_path)
    evil = shop / "evil.sh"
    evil.write_text("#!/bin/sh\necho PWNED; echo PWNED >&2; exit 1\n")
    evil.chmod(0o755)
    program = str(evil)
    for name in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "diff.x.textconv"),
        *("diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "credential.helper"),
        *("merge.x.driver", "interactive.diffFilter", "pager.status", "pager.diff"),
    ):
        git(shop, "config", name, program)
    git(shop, "config", "filter.x.required", "true")
    git(shop, "config", "alias.status", f"!{program}")
    git(shop, "config", "core.hooksPath", str(shop))
    git(shop, "config", "core.worktree", "/etc")
    git(shop, "config", "include.path", "../more")
    (shop / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (shop / "config").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (shop / ".git" / "commondir").write_text("..\n")
    (shop / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (shop / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (shop / "post-index-change").symlink_to(evil)
    (shop / "b.py").write_text("changed\n")

    bench = await asked(make_bench, call("git_status"), call("git_diff"), call("git_diff", base="HEAD"))
    assert [result.ok for result in bench.of("tool_result")] == [True, True, True], output(bench)
    assert "modified: b.py" in output(bench)
    assert "+changed" in output(bench, 1)
    assert "PWNED" not in "".join(output(bench, number) for number in range(3))


def test_where_git_sees_the_settings_the_same_repository_does_start_programs(tmp_path: Path) -> None:
    """Shows that the attack above is real: git alone starts a filter with a name that nobody can know beforehand."""
    shop = repository(tmp_path)
    git(shop, "config", "filter.x.clean", "echo PWNED")
    (shop / ".gitattributes").write_text("* filter=x\n")
    (shop / "b.py").write_text("changed\n")
    assert "+PWNED" in git(shop, "diff", "b.py")


@pytest.mark.slow
async def test_a_tree_is_read_as_its_settings_say(make_bench: Any, tmp_path: Path) -> None:
    """Settings for line ends and modes; without them every file would differ."""
    shop = repository(tmp_path)
    git(shop, "config", "core.autocrlf", "true")
    git(shop, "config", "core.fileMode", "false")
    (shop / "b.py").write_bytes((shop / "b.py").read_bytes().replace(b"\n", b"\r\n"))
    git(shop, "add", "b.py")
    os.utime(shop / "b.py", (1, 1))
    (shop / "c c.py").chmod(0o755)
    bench = await asked(make_bench, call("git_status"))
    assert output(bench).endswith("nothing differs from the last commit, and nothing is untracked")


async def test_looking_changes_nothing_in_the_repository(make_bench: Any, tmp_path: Path) -> None:
    shop = repository(tmp_path)
    os.utime(shop / "b.py")
    before = {path: path.read_bytes() for path in (shop / ".git").rglob("*") if path.is_file()}
    await asked(make_bench, call("git_status"), call("git_diff"))
    assert before == {path: path.read_bytes() for path in (shop / ".git").rglob("*") if path.is_file()}
