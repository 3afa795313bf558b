"""Repositories that try to start programs, or to show files of another repository, against a running server
(GIT-01)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commits import git, repository, without_machine, write
from git_pointers import to_a_pipe, to_another_worktree, to_the_repository_itself
from running_server import POLICY, RunningServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("sandbox"),
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git"),
]

COMMITS = POLICY + '  - { name: commits, match: { syscall: git.commit, path_glob: ["**"] }, action: allow }\n'
SETTINGS = (
    *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "diff.x.textconv"),
    *("diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "credential.helper", "gpg.program"),
    *("merge.x.driver", "interactive.diffFilter", "pager.status", "pager.diff", "core.alternateRefsCommand"),
)
HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository with one change; git's settings of this machine are not used."""
    without_machine(monkeypatch, tmp_path)
    folder = repository(tmp_path / "shop", {"a.py": "1\n", "b.py": "2\n"})
    write(folder, {"b.py": "changed\n"})
    return folder


def _evil(folder: Path, marker: Path) -> Path:
    """Writes a program that leaves a mark when it runs: in the file `marker`, and in its output."""
    program = folder / "evil.sh"
    program.write_text(f"#!/bin/sh\necho PWNED; echo PWNED >&2; echo x >> {marker}; exit 1\n")
    program.chmod(0o755)
    return program


def test_THR_config_a_hostile_repository_starts_nothing_by_a_running_server(shop: Path, tmp_path: Path) -> None:
    """THR-config-fsmonitor-server, THR-config-filters-server: settings, attributes, hooks and included files name a
    program; status, differences and a commit must not start it."""
    marker = tmp_path / "started"
    program = _evil(tmp_path, marker)
    for name in SETTINGS:
        git(shop, "config", name, str(program))
    for name, value in (("alias.status", f"!{program}"), ("commit.gpgsign", "true"), ("core.hooksPath", str(shop))):
        git(shop, "config", name, value)
    for hook in HOOKS:
        for place in (shop / ".git" / "hooks" / hook, shop / hook):
            place.unlink(missing_ok=True)
            place.parent.mkdir(exist_ok=True)
            place.symlink_to(program)
    with RunningServer(tmp_path, COMMITS) as server:
        (shop / ".gitattributes").write_text("* diff=x merge=x\n")
        for tool, arguments in (("git_status", {}), ("git_diff", {}), ("git_diff", {"base": "HEAD"})):
            called = server.call(tool, "allow", **arguments)
            assert called.code is None, called.result
            assert "b.py" in called.output
            assert "PWNED" not in str(called.result)
        refused = server.call("git_commit", "allow", message="signed", paths=["b.py"])
        git(shop, "config", "commit.gpgsign", "false")
        made = server.call("git_commit", "allow", message="plain", paths=["b.py"])
        assert (refused.code, made.code) == ("invalid_arguments", None)
        assert not marker.exists()
        (shop / ".gitattributes").write_text("* filter=x\n")
        for tool in ("git_status", "git_diff"):
            assert "PWNED" not in str(server.call(tool, "allow").result)
    assert not marker.exists()


def _by_a_link(shop: Path, victim: Path) -> None:
    (shop / ".git").symlink_to(victim / ".git")


def _by_alternates(shop: Path, victim: Path) -> None:
    git(shop, "init", "-q")
    (shop / ".git" / "objects" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")
    (shop / ".git" / "refs" / "heads" / "private").write_text(git(victim, "rev-parse", "private"))


@pytest.mark.parametrize(
    "point", [to_the_repository_itself, to_another_worktree, _by_a_link, to_a_pipe, _by_alternates]
)
def test_THR_config_a_pointer_of_the_workspace_shows_no_other_repository(
    point: Callable[[Path, Path], None], shop: Path, tmp_path: Path
) -> None:
    """THR-config-worktree-pointer-server: neither files nor branches of the other repository are shown."""
    victim = shop.rename(tmp_path / "victim")
    write(victim, {"a.py": "the-quiet-word\n"})
    git(victim, "commit", "-qam", "the-quiet-message")
    git(victim, "branch", "private")
    write(victim, {"a.py": "the-quiet-change\n"})
    mine = tmp_path / "shop"
    mine.mkdir()
    point(mine, victim)
    before = git(victim, "rev-parse", "HEAD")
    with RunningServer(tmp_path, COMMITS) as server:
        (mine / "a.py").write_text("mine\n")
        for tool, arguments in (
            ("git_status", {}),
            ("git_diff", {}),
            ("git_diff", {"base": "private"}),
            ("git_commit", {"message": "x"}),
            ("run_command", {"command": "git log -p --all; git show private; git branch -a; cat .git/*"}),
        ):
            called = (
                server.call(tool, "allow", timeout=20, **arguments)
                if tool == "run_command"
                else server.call(tool, "allow", **arguments)
            )
            assert "the-quiet" not in str(called.result), (tool, called.result)
    assert git(victim, "rev-parse", "HEAD") == before
