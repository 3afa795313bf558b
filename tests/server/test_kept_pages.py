"""`read_file` pages a large file without reading it twice, and never shows one as it was (LSP-04)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_server.tools.files.read_file import read_lines
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.content.file_cache import MIN_KEPT_BYTES, FileCache, Pages
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

LINE = "value = 'some line of a large file'\n"


def later() -> int:
    """A clock by which every file has long been as it is."""
    return time.time_ns() + 10**11


def page(workspace: Workspace, offset: int, version: str = "1") -> Outcome:
    ctx = ToolContext(
        workspace, NoDocuments(), {}, lambda *_: True, lambda text: text.replace("hush", version), lambda: version
    )
    return read_lines(ctx.resolve("x"), ctx, offset, 500)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process has read")
def test_pages_of_a_large_file_read_it_once(tmp_path: Path) -> None:
    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    (tmp_path / "x").write_text("".join(f"{n} {LINE}" for n in range(230_000)))
    size = (tmp_path / "x").stat().st_size
    with Workspace(tmp_path, FileCache(now_ns=later)) as workspace:
        begun, total = bytes_read(), page(workspace, 1).data["total_lines"]
        assert isinstance(total, int)
        once = bytes_read()
        for offset in range(1, total, 5_000):
            assert f"\n{offset}|{offset - 1} value" in page(workspace, offset).text
        assert size <= once - begun
        assert bytes_read() - once < size // 10


def test_a_changed_file_is_read_anew_even_if_its_size_and_time_are_put_back(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(LINE * 5_000)
    with Workspace(tmp_path, FileCache(now_ns=later)) as workspace:
        first, times = page(workspace, 1), path.stat()
        path.write_text(LINE.replace("some", "that") * 5_000)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        second = page(workspace, 1)
        path.rename(tmp_path / "y")
        path.write_text("short\n")
        third = page(workspace, 1)
    assert ["some" in first.text, "that" in second.text, "short" in third.text] == [True, True, True]
    assert first.data["digest"] != second.data["digest"]


def test_another_policy_may_know_other_secrets(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hush\n" + LINE * 5_000)
    with Workspace(tmp_path, FileCache(now_ns=later)) as workspace:
        assert "1|old" in page(workspace, 1, "old").text
        assert "1|new" in page(workspace, 1, "new").text


def reads(kept: FileCache[Pages], path: Path, text: str) -> int:
    """How often two looks at a file read it."""
    count = 0

    def read(fd: int) -> Pages:
        nonlocal count
        count += 1
        return Pages.of(os.read(fd, len(text)).decode(), "", "utf-8")

    for _ in range(2):
        fd = os.open(path, os.O_RDONLY)
        assert kept.of(fd, path.name, str, read).content == text
        os.close(fd)
    return count


def test_what_has_just_changed_or_is_small_is_not_kept_and_memory_is_bounded(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_text("x" * MIN_KEPT_BYTES)
    small.write_text("x")
    assert reads(FileCache(), large, large.read_text()) == 2
    assert reads(FileCache(now_ns=later), small, "x") == 2
    assert reads(FileCache(now_ns=later), large, large.read_text()) == 1
    assert reads(FileCache(most=MIN_KEPT_BYTES, now_ns=later), large, large.read_text()) == 2


@given(content=st.text(st.sampled_from("ab\n\r"), max_size=30), first=st.integers(1, 12), count=st.integers(1, 12))
def test_pages_are_the_lines(content: str, first: int, count: int) -> None:
    lines, pages = Text(content).lines, Pages.of(content, "", "utf-8")
    assert pages.total == len(lines)
    assert pages.lines(first, count) == lines[first - 1 : first - 1 + count]
