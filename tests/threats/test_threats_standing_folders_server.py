"""Answers with scope `always` or `session` do not count in another folder: in another server, in one server with
several folders, and in a folder that took the place of a trusted one (APP-05)."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from running_server import Called, RunningServer

pytestmark = pytest.mark.slow

ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }
  - { name: runs, match: { syscall: process.exec }, action: require_review }
"""
CONTENTS = itertools.count()


def write(server: RunningServer, answer: str = "deny", scope: str | None = None, folder: Path | None = None) -> Called:
    """Writes a file with other content each time, so that each write is a change."""
    return server.call("write_file", answer, folder, scope, path="b.py", content=str(next(CONTENTS)))


def is_asked(called: Called) -> bool:
    """Returns whether the person was asked; asserts that an asked write was denied, and that any other one was done."""
    asked = [question["title"] for question in called.questions]
    assert (len(asked), called.code) in {(1, "approval_denied"), (0, None)}, called.result
    return bool(asked)


@pytest.mark.usefixtures("sandbox")
def test_THR_approvals_always_in_one_project_lets_no_server_run_a_hostile_ones_file(tmp_path: Path) -> None:
    """THR-approvals-always-workspace-server: the same command in the same place, but another project's `run.sh`; with a
    server that ran before the answer was given, one that starts after it, and one with both folders open."""
    for name in ("mine", "hostile"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.sh").write_text(f"echo of {name}\n")
    run = {"tool": "run_command", "command": "sh run.sh"}
    with (
        RunningServer(tmp_path, ASKS, names=("mine",)) as mine,
        RunningServer(tmp_path, ASKS, names=("hostile",)) as before,
    ):
        assert "of mine" in mine.call(answer="allow", scope="always", **run).output
        assert not is_asked(mine.call(**run))
        assert is_asked(before.call(**run))
    with RunningServer(tmp_path, ASKS, names=("hostile", "mine")) as both:
        assert is_asked(both.call(**run))
        assert not is_asked(both.call(folder=tmp_path / "mine", **run))
        assert is_asked(both.call(folder=tmp_path / "hostile", **run))


def test_THR_approvals_everywhere_is_the_one_answer_that_another_server_takes(tmp_path: Path) -> None:
    """THR-approvals-everywhere-server: a scope of its own, whose rule names no folder."""
    with RunningServer(tmp_path, ASKS, names=("mine", "other")) as server:
        (question,) = write(server, "allow", "everywhere").questions
        assert f"workspace: {tmp_path / 'mine'}" in question["always_rule"]
        assert "workspace" not in question["everywhere_rule"]
        assert not is_asked(write(server, folder=tmp_path / "other"))
    with RunningServer(tmp_path, ASKS, names=("third",)) as server:
        assert not is_asked(write(server))
    assert question["everywhere_rule"] in (tmp_path / "config" / "permissions.yaml").read_text()


def test_THR_approvals_a_folder_in_a_trusted_ones_place_has_none_of_its_answers(tmp_path: Path) -> None:
    """THR-approvals-always-swapped-server: the project is moved away, and another folder, then a link, takes its
    place."""
    with RunningServer(tmp_path, ASKS) as server:
        assert len(write(server, "allow", "always").questions) == 1
        assert not is_asked(write(server))
    with RunningServer(tmp_path, ASKS) as server:
        assert not is_asked(write(server)), "a later server takes it"
    (tmp_path / "shop").rename(tmp_path / "moved")
    with RunningServer(tmp_path, ASKS) as server:
        assert is_asked(write(server))
    (tmp_path / "shop").rename(tmp_path / "hostile")
    (tmp_path / "shop").symlink_to("hostile")
    with RunningServer(tmp_path, ASKS) as server:
        assert is_asked(write(server))


def test_THR_approvals_a_no_for_good_holds_in_a_folder_that_took_the_place(tmp_path: Path) -> None:
    """THR-approvals-deny-swapped-server: in any other folder the person is asked."""
    with RunningServer(tmp_path, ASKS) as server:
        assert len(write(server, "deny", "always").questions) == 1
    (tmp_path / "shop").rename(tmp_path / "moved")
    with RunningServer(tmp_path, ASKS, names=("shop", "other")) as server:
        denied = write(server, "allow")
        assert (denied.code, denied.questions) == ("denied", ())
        assert is_asked(write(server, folder=tmp_path / "other"))


def test_THR_approvals_a_sessions_answer_stays_in_its_folder_of_several(tmp_path: Path) -> None:
    """THR-approvals-session-workspace-server: one server and one session id, but two folders; a folder that was closed
    and opened again has no answers either."""
    with RunningServer(tmp_path, ASKS, names=("mine", "other")) as server:
        assert len(write(server, "allow", "session").questions) == 1
        assert not is_asked(write(server))
        assert is_asked(write(server, folder=tmp_path / "other"))
        mine = {"uri": (tmp_path / "mine").as_uri(), "name": "mine"}
        for added, removed in (([], [mine]), ([mine], [])):
            server.client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": removed}})
        assert is_asked(write(server, folder=tmp_path / "mine"))
        assert not (tmp_path / "other" / "b.py").exists()
