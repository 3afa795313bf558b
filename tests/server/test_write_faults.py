"""Writes that are killed or fail at each step: the file is the old or the new one, and no other file is left
(FILE-02)."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from messages import SAYS
from step_by_step import Order, Report, Writers

from remit_server.contract import ErrorCode
from remit_server.workspace.content.files import TEMPORARY_PREFIX, collect_leftovers
from remit_server.workspace.paths.workspace_path import Workspace

pytestmark = pytest.mark.slow

OLD, NEW = "old\n" * 1000, "new\n" * 3000
MODE = 0o640
LAST_STEP = 60
NOBODY = 65534

OVER_OLD, IN_NEW_FOLDERS = "a.txt", "x/y/z.txt"
targets = pytest.mark.parametrize("target", [OVER_OLD, IN_NEW_FOLDERS])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def fresh(root: Path) -> None:
    shutil.rmtree(root / "x", ignore_errors=True)
    (root / OVER_OLD).write_text(OLD)
    (root / OVER_OLD).chmod(MODE)


def step_by_step(root: Path, target: str, fault: str | int) -> Iterator[Report]:
    """Yields the report of one writer for each step, each on fresh files, until a writer ends undisturbed."""
    with Writers(root) as writers:
        for step in range(LAST_STEP):
            fresh(root)
            report = writers.write(Order(target, NEW, step, fault))
            if report.call is None:
                assert report.ended == "done"
                assert step > 10
                return
            yield report
    raise AssertionError(f"a write takes more than {LAST_STEP} calls")


def content(path: Path) -> str | None:
    if not path.exists():
        return None
    assert path.name != OVER_OLD or path.stat().st_mode & 0o7777 == MODE
    return path.read_text()


def temporary(root: Path) -> list[str]:
    return [path.name for path in root.rglob(TEMPORARY_PREFIX + "*")]


@targets
def test_thr_storage_kill_at_every_step(root: Path, target: str) -> None:
    """THR-storage-kill: the process is killed before each system call of a write; leftovers are collected later."""
    before = OLD if target == OVER_OLD else None
    outcomes = list[str | None]()
    half_done = 0
    for report in step_by_step(root, target, "kill"):
        assert report.ended == "killed"
        outcomes.append(content(root / target))
        half_done += len(temporary(root))
        with Workspace(root) as workspace:
            collect_leftovers(workspace)
        assert not temporary(root)
        assert content(root / target) == outcomes[-1]
        assert outcomes[-1] is None or (root / target).stat().st_nlink == 1
    turned = outcomes.index(NEW)
    assert set(outcomes[:turned]) == {before}
    assert set(outcomes[turned:]) == {NEW}
    assert half_done


@targets
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
def test_thr_storage_every_call_failing(root: Path, target: str, error: int) -> None:
    """Each system call fails in turn: a refused write has changed nothing, and one that has changed the file is not
    refused."""
    for report in step_by_step(root, target, error):
        if report.ended == "done":
            assert content(root / target) == NEW
        else:
            code = ErrorCode.READ_ONLY if error == errno.EIO else ErrorCode.LIMIT_REACHED
            assert report.ended == code
            assert content(root / target) == (OLD if target == OVER_OLD else None)
            assert not (root / "x").exists()
        assert report.call == "unlink" or not temporary(root)


@targets
def test_thr_storage_two_servers_one_collects_while_the_other_writes(root: Path, target: str) -> None:
    """A server that starts at any moment of another one's write removes nothing of it."""
    for report in step_by_step(root, target, "collect"):
        assert report.ended == "done", report
        assert content(root / target) == NEW
        assert not temporary(root)


def test_thr_storage_a_folder_this_user_may_not_write_to(root: Path) -> None:
    uid = NOBODY if os.geteuid() == 0 else None
    fresh(root)
    root.chmod(0o555)
    try:
        with Writers(root) as writers:
            for target in (OVER_OLD, "new.txt", IN_NEW_FOLDERS):
                assert writers.write(Order(target, NEW, uid=uid)).ended == ErrorCode.READ_ONLY
    finally:
        root.chmod(0o755)
    assert content(root / OVER_OLD) == OLD
    assert [path.name for path in root.iterdir()] == [OVER_OLD]


WRITE = """
import json, os, sys
from pathlib import Path
from remit_server.errors import ToolError
from remit_server.workspace.content.files import read_image, write_atomically
from remit_server.workspace.paths.workspace_path import Workspace

root, new = Path(sys.argv[1]), os.urandom(3_000_000)
if not (root / "a.txt").exists():
    (root / "a.txt").write_text("old")
refusals = []
with Workspace(root) as workspace:
    for name in ("a.txt", "x/y.txt"):
        path = workspace.resolve(name)
        before = read_image(workspace, path) if path.absolute.exists() else None
        try:
            write_atomically(workspace, path, before, new)
        except ToolError as error:
            refusals.append([error.code, error.why])
print(json.dumps([refusals, (root / "a.txt").read_text(), os.listdir(root)]))
"""


def written_inside(mounted: list[str], root: Path) -> tuple[list[list[str]], str, list[str]]:
    """Returns the results of two writes in a file system of their own: the refusals, the old file, the names in the
    folder."""
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bwrap to mount with: install bubblewrap")
    command = ["bwrap", "--dev-bind", "/", "/", *mounted, str(root), "--", sys.executable, "-c", WRITE, str(root)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0 and "bwrap:" in ended.stderr:
        pytest.skip(f"nothing can be mounted here: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stderr
    refusals, old, names = json.loads(ended.stdout)
    return refusals, old, names


def test_thr_storage_a_full_disk(root: Path) -> None:
    refusals, old, names = written_inside(["--size", "1000000", "--tmpfs"], root)
    assert refusals == [["limit_reached", SAYS.the_disk_is_full]] * 2
    assert (old, names) == ("old", ["a.txt"])


def test_thr_storage_a_read_only_disk(root: Path) -> None:
    (root / "a.txt").write_text("old")
    refusals, old, names = written_inside(["--ro-bind", str(root)], root)
    assert refusals == [["read_only", SAYS.the_file_system_is_read]] * 2
    assert (old, names) == ("old", ["a.txt"])
