"""kill -9 at every step of a merge, then a restart: all of it or nothing, and no step twice (FILE-04)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import merges_by_step
import pytest
from merges_by_step import CHANGES, EXECUTABLE, reset

from remit_server.workspace.content.files import digest_of
from remit_server.workspace.merges.merge_log import MergeLog, Step
from remit_server.workspace.merges.recovery import recover
from remit_server.workspace.paths.workspace_path import Workspace

RUNS = 200


def runs_alone(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


class Killed:
    """A workspace, a merge log, and a process whose merges are killed."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.root, self.log, self._process = folder / "work", folder / "merges", process
        self.workspace = Workspace(self.root)

    def merge(self, step: int) -> str:
        """Runs a merge that is killed at this call; returns `killed`, or `done` if there are fewer calls."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def holds(self) -> dict[str, str | None]:
        files = {name: self.root / name for name in CHANGES}
        return {name: path.read_text() if path.exists() else None for name, path in files.items()}


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Killed]:
    (tmp_path / "work").mkdir()
    command = [sys.executable, merges_by_step.__file__, str(tmp_path / "work"), str(tmp_path / "merges")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Killed(tmp_path, process)
        process.communicate()


OLD = {name: before for name, (before, _) in CHANGES.items()}
NEW = {name: after for name, (_, after) in CHANGES.items()}


@pytest.mark.slow
def test_thr_storage_kill_at_every_step_of_a_merge(killed: Killed) -> None:
    """THR-storage-kill-merge: whatever the step, the next start finds the old files or makes all of them new."""
    outcomes = {"old": 0, "new": 0}
    runs = step = 0
    while runs < RUNS:
        reset(killed.root)
        if killed.merge(step) == "done":
            step = 0
            continue
        recovered = recover(killed.workspace, MergeLog(killed.log), "policy")
        assert all(not each.left for each in recovered), (step, recovered)
        found = killed.holds()
        assert found in (OLD, NEW), (step, found)
        assert runs_alone(killed.root / EXECUTABLE) == (found == NEW)
        outcomes["old" if found == OLD else "new"] += 1
        assert recover(killed.workspace, MergeLog(killed.log), "policy") == ()
        assert not killed.log.exists() or list(killed.log.iterdir()) == []
        runs, step = runs + 1, step + 1
    assert min(outcomes.values()) > 10, outcomes


@pytest.mark.slow
def test_no_step_is_done_twice(killed: Killed) -> None:
    """A step that was noted as done is not repeated, so a file that the person has put back meanwhile stays."""
    put_back = 0
    for step in range(0, 200, 3):
        reset(killed.root)
        if killed.merge(step) == "done":
            break
        merges = list(MergeLog(killed.log).unfinished())
        first_done = any(0 in merge.done for merge in merges)
        for merge in merges:
            merge.release()
        if first_done:
            (killed.root / "a.txt").write_text("old a\n")
            put_back += 1
        recover(killed.workspace, MergeLog(killed.log), "policy")
        if first_done:
            assert killed.holds() == NEW | {"a.txt": "old a\n"}
    assert put_back > 5


def unfinished(killed: Killed) -> None:
    """Leaves a merge of which only the first step is done."""
    for step in range(300):
        reset(killed.root)
        shutil.rmtree(killed.log, ignore_errors=True)
        if killed.merge(step) == "killed":
            merges = list(MergeLog(killed.log).unfinished())
            for merge in merges:
                merge.release()
            if any(merge.done == {0} for merge in merges):
                return
    raise AssertionError("no such moment")


@pytest.mark.slow
def test_what_cannot_be_finished_is_reported_and_kept(killed: Killed) -> None:
    unfinished(killed)
    (killed.root / "c.txt").write_text("the person's\n")
    (recovered,) = recover(killed.workspace, MergeLog(killed.log), "policy")
    assert recovered.left == ("c.txt",)
    assert "changed meanwhile" in recovered.message
    assert recovered.kept is not None
    assert (killed.root / "c.txt").read_text() == "the person's\n"
    assert "new c\n" * 1000 in [path.read_text() for path in Path(recovered.kept).iterdir()]


@pytest.mark.slow
def test_another_policy_finishes_nothing(killed: Killed) -> None:
    unfinished(killed)
    before = killed.holds()
    (recovered,) = recover(killed.workspace, MergeLog(killed.log), "another")
    assert recovered.finished == ()
    assert killed.holds() == before


@pytest.mark.slow
def test_thr_paths_a_link_put_on_the_way_after_the_crash(killed: Killed) -> None:
    """THR-paths-link-before-recovery: what was approved for one path is not written to another."""
    unfinished(killed)
    (killed.root / "elsewhere.txt").write_text("old c\n")
    (killed.root / "c.txt").unlink()
    (killed.root / "c.txt").symlink_to("elsewhere.txt")
    (recovered,) = recover(killed.workspace, MergeLog(killed.log), "policy")
    assert recovered.left == ("c.txt",)
    assert (killed.root / "elsewhere.txt").read_text() == "old c\n"


@pytest.mark.slow
def test_a_merge_that_is_under_way_is_left_alone(killed: Killed, tmp_path: Path) -> None:
    log = MergeLog(tmp_path / "merges")
    merge = log.begin([], "policy")
    assert list(MergeLog(tmp_path / "merges").unfinished()) == []
    merge.end()
    assert list((tmp_path / "merges").iterdir()) == []


def crashed(root: Path, before: bytes, after: bytes, executable: bool) -> tuple[Workspace, MergeLog, Path]:
    """Makes a workspace with one file, and a merge of which no step is noted as done."""
    (root / "work").mkdir()
    (root / "work" / "run.sh").write_bytes(before)
    log = MergeLog(root / "merges")
    step = Step("run.sh", digest_of(before), digest_of(after), executable=executable)
    log.begin([(step, after)], "policy").release()
    return Workspace(root / "work"), MergeLog(root / "merges"), root / "work" / "run.sh"


@pytest.mark.parametrize("after", [b"same", b"other"])
def test_a_mode_that_was_due_is_put_on(tmp_path: Path, after: bytes) -> None:
    workspace, log, file = crashed(tmp_path, b"same", after, executable=True)
    (recovered,) = recover(workspace, log, "policy")
    assert recovered.finished == ("run.sh",)
    assert runs_alone(file)
    assert file.read_bytes() == after


def test_a_mode_that_is_there_is_done(tmp_path: Path) -> None:
    workspace, log, file = crashed(tmp_path, b"same", b"same", executable=True)
    file.chmod(0o755)
    (recovered,) = recover(workspace, log, "policy")
    assert (recovered.finished, recovered.left) == ((), ())
    assert runs_alone(file)


def test_new_contents_without_their_mode_are_somebody_elses(tmp_path: Path) -> None:
    workspace, log, file = crashed(tmp_path, b"old", b"new", executable=True)
    file.write_bytes(b"new")
    (recovered,) = recover(workspace, log, "policy")
    assert recovered.left == ("run.sh",)
    assert not runs_alone(file)
