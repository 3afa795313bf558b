"""Real repositories, made and judged by real git, and commits that the harness makes in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from remit_server.harness.writes.commit import write_commit
from remit_server.tools.git.git_commit import GitCommitArguments, commit_plan
from remit_server.tools.spec import CommitPlan, ToolContext
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

NAME, MAIL = "Ada", "ada@example.org"


def environment(home: Path) -> dict[str, str]:
    """Returns the variables for git, without any settings of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / "none"),
        "LC_ALL": "C",
    }


def without_machine(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Has this process and its git ignore the machine's settings."""
    for name, value in environment(home).items():
        if name == "HOME" or name.startswith("GIT_"):
            monkeypatch.setenv(name, value)


def git(folder: Path, *words: str, check: bool = True) -> str:
    """Runs git in the folder, and returns its output."""
    settings = ("-c", f"user.name={NAME}", "-c", f"user.email={MAIL}", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ("git", *settings, *words),
        cwd=folder,
        check=check,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=environment(folder.parent),
    )
    return done.stdout


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Makes a repository with these files committed."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "user.name", NAME)
    git(folder, "config", "user.email", MAIL)
    if files:
        write(folder, files)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    """Writes these files with these contents."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def planned(
    folder: Path, message: str = "a change", permits: Callable[[str, str], bool] = lambda *_: True, **arguments: object
) -> CommitPlan:
    """Returns the commit as the tool would propose it."""
    context = ToolContext(Workspace(folder), NoDocuments(), {}, permits, lambda text: text)
    return commit_plan(GitCommitArguments.model_validate({"message": message, **arguments}), context)


def committed(folder: Path, message: str = "a change", **arguments: object) -> str:
    """Plans and makes a commit, and returns its id."""
    return write_commit(Workspace(folder), planned(folder, message, **arguments))  # type: ignore[arg-type]


def is_sound(folder: Path) -> None:
    """Checks that git finds nothing wrong with the repository."""
    done = subprocess.run(
        ("git", "fsck", "--strict"), cwd=folder, capture_output=True, text=True, check=False, env=environment(folder)
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith(("notice", "Checking"))]
    assert (done.returncode, said) == (0, []), done
