"""Files: a write leaves the old contents or the new ones, never a mixture (FILE-01)."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.files import (
    TEMPORARY_PREFIX,
    collect_leftovers,
    digest_of,
    image_of,
    read_image,
    write_atomically,
)
from remit_server.workspace.paths.workspace_path import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "a.txt").write_bytes(b"old")
    with Workspace(tmp_path) as workspace:
        yield workspace


def leftovers(root: Path) -> list[str]:
    return [p.name for p in root.rglob(TEMPORARY_PREFIX + "*")]


def test_files_read_image(workspace: Workspace) -> None:
    (workspace.root / "a.txt").chmod(0o640)
    os.link(workspace.root / "a.txt", workspace.root / "b.txt")
    image = read_image(workspace, workspace.resolve("a.txt"))
    assert (image.data, image.mode, image.links, image.digest) == (b"old", 0o640, 2, digest_of(b"old"))


@pytest.mark.parametrize(
    ("mode", "becomes", "afterwards"),
    [(0o644, True, 0o755), (0o750, False, 0o640), (0o600, True, 0o700), (0o755, None, 0o755)],
)
def test_files_become_executable_for_whoever_may_read_them(
    workspace: Workspace, mode: int, becomes: bool | None, afterwards: int
) -> None:
    path = workspace.resolve("a.txt")
    path.absolute.chmod(mode)
    assert write_atomically(workspace, path, read_image(workspace, path), b"new", becomes).mode == afterwards
    assert stat.S_IMODE(path.absolute.stat().st_mode) == afterwards


def test_files_are_born_executable_within_the_umask(workspace: Workspace) -> None:
    before = os.umask(0o027)
    try:
        assert write_atomically(workspace, workspace.resolve("new.sh"), None, b"x", executable=True).mode == 0o750
        assert write_atomically(workspace, workspace.resolve("new.txt"), None, b"x").mode == 0o640
    finally:
        os.umask(before)


@pytest.mark.parametrize(("name", "code"), [("none", ErrorCode.NOT_FOUND), (".", ErrorCode.NOT_A_FILE)])
def test_files_read_refused(workspace: Workspace, name: str, code: ErrorCode) -> None:
    with pytest.raises(ToolError) as refused:
        read_image(workspace, workspace.resolve(name))
    assert refused.value.code is code


def test_files_too_large(workspace: Workspace) -> None:
    with pytest.raises(ToolError) as refused:
        read_image(workspace, workspace.resolve("a.txt"), max_bytes=2)
    assert refused.value.code is ErrorCode.TOO_LARGE


def test_files_written(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    path.absolute.chmod(0o750)
    before = read_image(workspace, path)
    after = write_atomically(workspace, path, before, b"new")
    assert path.absolute.read_bytes() == b"new"
    assert stat.S_IMODE(path.absolute.stat().st_mode) == 0o750
    assert read_image(workspace, path) == after
    assert not leftovers(workspace.root)


def test_files_created_with_parents_and_umask(workspace: Workspace) -> None:
    old = os.umask(0o027)
    try:
        path = workspace.resolve("x/y/z.txt")
        image = write_atomically(workspace, path, None, b"new")
    finally:
        os.umask(old)
    assert path.absolute.read_bytes() == b"new"
    assert image.mode == 0o640 == stat.S_IMODE(path.absolute.stat().st_mode)
    assert path.absolute.stat().st_nlink == 1


def test_thr_paths_hard_link_is_broken_by_a_write(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """THR-paths-hard-link: the other name, which may lie outside, keeps its contents."""
    other = tmp_path_factory.mktemp("outside") / "other"
    path = workspace.resolve("a.txt")
    os.link(path.absolute, other)
    write_atomically(workspace, path, read_image(workspace, path), b"new")
    assert other.read_bytes() == b"old"
    assert path.absolute.read_bytes() == b"new"


def test_files_stale_when_changed(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    before = read_image(workspace, path)
    path.absolute.write_bytes(b"theirs")
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, path, before, b"new")
    assert refused.value.code is ErrorCode.STALE
    assert path.absolute.read_bytes() == b"theirs"
    path.absolute.unlink()
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, path, before, b"new")
    assert refused.value.code is ErrorCode.STALE
    assert not path.absolute.exists()
    assert not leftovers(workspace.root)


def test_files_stale_when_appeared(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, path, None, b"new")
    assert refused.value.code is ErrorCode.STALE
    assert path.absolute.read_bytes() == b"old"
    assert not leftovers(workspace.root)


def test_thr_paths_symlink_swap_before_a_write(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    """THR-paths-symlink-swap: neither the file nor its folder may have become a link."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_bytes(b"old")
    path = workspace.resolve("a.txt")
    before = read_image(workspace, path)
    path.absolute.unlink()
    path.absolute.symlink_to(outside / "a.txt")
    with pytest.raises(ToolError):
        write_atomically(workspace, path, before, b"new")
    (workspace.root / "dir").mkdir()
    inner = workspace.resolve("dir/a.txt")
    (workspace.root / "dir").rmdir()
    (workspace.root / "dir").symlink_to(outside)
    for image in (before, None):
        with pytest.raises(ToolError):
            write_atomically(workspace, inner, image, b"new")
    assert [p.name for p in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_bytes() == b"old"


def test_files_read_only_file_and_folder(workspace: Workspace) -> None:
    path = workspace.resolve("a.txt")
    path.absolute.chmod(0o444)
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, path, read_image(workspace, path), b"new")
    assert refused.value.code is ErrorCode.READ_ONLY
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, workspace.resolve("sub/x"), image_of(b"x"), b"y")
    assert refused.value.code in {ErrorCode.STALE, ErrorCode.NOT_FOUND}
    assert not (workspace.root / "sub").exists()
    with pytest.raises(ToolError) as refused:
        write_atomically(workspace, workspace.resolve("."), None, b"new")
    assert refused.value.code is ErrorCode.NOT_A_FILE


@pytest.mark.slow
def test_files_disk_full(workspace: Workspace) -> None:
    """THR-storage-disk-full: the file is unchanged, and no temporary file is left."""
    path = workspace.resolve("a.txt")
    script = """
import resource, signal, sys
from pathlib import Path
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.content.files import read_image, write_atomically
from remit_server.errors import ToolError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
workspace = Workspace(Path(sys.argv[1]))
path = workspace.resolve("a.txt")
try:
    write_atomically(workspace, path, read_image(workspace, path), b"x" * 100_000)
except ToolError as error:
    print(error.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(workspace.root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ErrorCode.LIMIT_REACHED
    assert path.absolute.read_bytes() == b"old"
    assert not leftovers(workspace.root)


def test_files_collect_leftovers(workspace: Workspace) -> None:
    (workspace.root / "sub").mkdir()
    dead, alive = (TEMPORARY_PREFIX + letter * 24 for letter in "da")
    (workspace.root / "sub" / dead).write_bytes(b"half")
    for name in ("notes", "d" * 23, "d" * 25, "g" * 24, "D" * 24, "d" * 24 + ".py"):
        (workspace.root / (TEMPORARY_PREFIX + name)).write_bytes(b"a file of the person's own")
    writer = subprocess.Popen(
        [sys.executable, "-c", "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f,2); print('x',flush=True); time.sleep(60)",
         str(workspace.root / alive)], stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert collect_leftovers(workspace) == (f"sub/{dead}",)
        assert alive in leftovers(workspace.root)
        assert len(leftovers(workspace.root)) == 7
    finally:
        writer.kill()
        writer.communicate()
    assert collect_leftovers(workspace) == (alive,)


@pytest.mark.slow
def test_thr_storage_kill_at_any_moment(workspace: Workspace) -> None:
    """THR-storage-kill: 100 writers are killed at random moments; the file is whole each time, and so is a new one."""
    path = workspace.resolve("a.txt")
    size = 300_000
    path.absolute.write_bytes(b"0" * size)
    luck = random.Random(7)
    seen = set[bytes]()
    for run in range(100):
        ready, go = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(ready)
                os.write(go, b"x")
                number = run
                while True:
                    number += 1
                    before = read_image(workspace, path)
                    write_atomically(workspace, path, before, b"%d" % (number % 10) * size)
                    new = workspace.resolve(f"new/{run}-{number}")
                    write_atomically(workspace, new, None, b"n" * size)
                    new.absolute.unlink()
            finally:
                os._exit(1)
        os.close(go)
        os.read(ready, 1)
        os.close(ready)
        time.sleep(luck.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        data = path.absolute.read_bytes()
        assert data == data[:1] * size
        seen.add(data[:1])
        new_files = list((workspace.root / "new").glob("[0-9]*"))
        assert all(p.read_bytes() == b"n" * size for p in new_files)
    assert len(seen) > 1
    collect_leftovers(workspace)
    assert not leftovers(workspace.root)
