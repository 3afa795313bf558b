"""What policy forbids to read cannot be read by another name, in another sandbox or through another program
(SEC-02)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine
from running_server import RunningServer

SECRET = "the-quiet-word-that-nobody-may-see"


@pytest.fixture
def linked(server: RunningServer) -> Iterator[Path]:
    """`notes.txt` is a hard link to `.env`, which may not be read; `other.txt` is one to `pair.txt`, which may."""
    shop = server.workspace
    (shop / ".env").write_text(SECRET)
    (shop / "pair.txt").write_text("harmless\n")
    for name, target in (("notes.txt", ".env"), ("other.txt", "pair.txt")):
        (shop / name).unlink(missing_ok=True)
        os.link(shop / target, shop / name)
    yield shop
    for name in (".env", "notes.txt", "pair.txt", "other.txt"):
        (shop / name).unlink()


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_THR_hidden_a_hard_link_reads_nothing_that_its_other_name_denies(linked: Path, server: RunningServer) -> None:
    read = server.call("read_file", path="notes.txt")
    assert read.code == "denied"
    assert "secrets" in json.dumps(read.result)
    assert server.call("search_files", pattern="quiet").output.startswith("0 matches")
    assert server.call("edit_file", "allow", path="notes.txt", old_text="the-quiet", new_text="x").code == "denied"
    ran = server.call("run_command", "allow", command="cat notes.txt .env; grep -r quiet . ; ls")
    assert SECRET not in ran.output
    assert "notes.txt" in ran.output
    # A file of which every name may be read is read.
    assert "harmless" in server.call("read_file", path="other.txt").output
    assert "harmless" in server.call("run_command", "allow", command="cat other.txt").output
    assert (linked / "notes.txt").read_text() == SECRET


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_THR_hidden_a_command_of_remit_sandbox_run_sees_no_more_than_the_agents(remit: CommandLine) -> None:
    (remit.workspace / ".env").write_text(SECRET)
    os.link(remit.workspace / ".env", remit.workspace / "notes.txt")
    ran = remit("sandbox", "run", "--", "sh", "-c", "cat .env notes.txt a.py")
    assert SECRET not in ran.out + ran.err
    assert "total = 0" in ran.out


@pytest.fixture
def past(tmp_path: Path) -> Iterator[RunningServer]:
    """A server in a repository in which a file that may not be read exists only in the history."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "a.py").write_text("total = 0\n")
    (shop / ".env").write_text(f"word={SECRET}\n")
    as_ = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*as_, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=shop, check=True)
    (shop / ".env").unlink()
    subprocess.run(["git", *as_, "commit", "-q", "-a", "-m", "two"], cwd=shop, check=True)
    with RunningServer(tmp_path) as running:
        yield running


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_THR_hidden_gits_history_shows_nothing_unasked(past: RunningServer) -> None:
    """A git command that may show the file needs approval; for all other commands git's objects are hidden."""
    showing = (
        "show HEAD~1:.env",
        "log -p",
        "diff HEAD~1",
        "cat-file -p HEAD~1:.env",
        "archive HEAD~1",
        "grep word HEAD~1",
    )
    for words in (
        *showing,
        "--no-pager show HEAD~1",
        "log --all -S word --patch",
        "stash show -p",
        "checkout HEAD~1 -- .",
    ):
        called = past.call("run_command", "deny", command=f"git {words}")
        assert called.code == "approval_denied", words
        assert "history" in json.dumps(called.questions), words
        assert SECRET not in json.dumps(called.result)
    objects = (
        "import glob, zlib; [print(zlib.decompress(open(f, 'rb').read())) for f in glob.glob('.git/objects/??/*')]"
    )
    (past.workspace / "look.py").write_text(objects)
    for command in ("python3 look.py", "sh -c 'cat .git/objects/??/* | wc -c' ; ls -R .git/objects"):
        called = past.call("run_command", "allow", command=command)
        assert SECRET not in called.output
    (past.workspace / "inside.sh").write_text("git show HEAD~1:.env\n")
    assert SECRET not in past.call("run_command", "allow", command="sh inside.sh").output


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_THR_hidden_everyday_commands_of_git_are_not_asked_about(past: RunningServer) -> None:
    for words in ("status --short", "log --oneline", "branch -v", "ls-files", "rev-parse HEAD"):
        called = past.call("run_command", "deny", command=f"git {words}")
        assert (called.code, called.questions) == (None, ()), (words, called)
    assert "exit code 0" in past.call("run_command", "deny", command="git log --oneline").output
