"""Git's index is read and written as git does, in every version of the format and within limits (GIT-02, GIT-04)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commits import git, repository

from remit_server.workspace.git_index import (
    COMPRESSED,
    read_joined,
    read_version,
    read_whole,
    write_index,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

FILES = {"a.py": "1\n", "a/b.py": "2\n", "a/bc.py": "2\n", f"deep/{'n' * 200}/x": "", f"deep/{'n' * 200}y": ""}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_GIT_02_an_index_is_written_as_git_wrote_it(tmp_path: Path, version: int) -> None:
    shop = repository(tmp_path / "shop", FILES)
    git(shop, "update-index", "--index-version", str(version))
    if version > 2:
        git(shop, "update-index", "--skip-worktree", "a.py")
    git(shop, "update-index", "--assume-unchanged", "a/b.py")
    data = (shop / ".git" / "index").read_bytes()
    entries, whole = read_whole(data)
    assert (whole, read_version(data)) == (True, version)
    written = write_index(entries, version)
    assert data.startswith(written[:-20])
    assert read_whole(written)[0] == entries
    listed = git(shop, "ls-files", "-s", "-v", "-z"), git(shop, "ls-files", "--debug")
    (shop / ".git" / "index").write_bytes(written)
    assert (git(shop, "ls-files", "-s", "-v", "-z"), git(shop, "ls-files", "--debug")) == listed


@pytest.mark.parametrize("version", [2, 4])
def test_FILE_05_an_index_that_is_split_is_read_with_what_it_shares(tmp_path: Path, version: int) -> None:
    shop = repository(tmp_path / "shop", {**FILES, **{f"many/{n:03}": "" for n in range(300)}})
    git(shop, "config", "splitIndex.maxPercentChange", "100")
    git(shop, "update-index", "--index-version", str(version))
    git(shop, "update-index", "--split-index")
    git(shop, "update-index", "--skip-worktree", "a.py", *(f"many/{n:03}" for n in range(100, 250)))
    (shop / "a" / "b.py").write_text("changed\n")
    (shop / "new.py").write_text("")
    git(shop, "rm", "-q", "a/bc.py", "many/007")
    git(shop, "add", "a/b.py", "new.py")
    own = (shop / ".git" / "index").read_bytes()
    assert not read_whole(own)[1]
    entries = read_joined(own, lambda name: (shop / ".git" / name).read_bytes())
    listed = (f"{'S' if each.is_absent else 'H'} {each.id} {name.decode()}" for name, each in sorted(entries))
    shown = (
        line.replace("100644 ", "").replace(" 0\t", " ") for line in git(shop, "ls-files", "-s", "-t").splitlines()
    )
    assert list(listed) == list(shown)


def test_GIT_04_a_bitmap_without_end_costs_nothing() -> None:
    """One word of a bitmap can stand for any number of files."""
    whole = b"DIRC" + (2).to_bytes(4) + bytes(4)
    run = (0xFFFFFFFF << 1 | 1).to_bytes(8)
    bitmap = b"\xff" * 4 + (2_000).to_bytes(4) + run * 2_000 + bytes(4)
    link = b"\1" * 20 + bitmap * 2
    split = whole + b"link" + len(link).to_bytes(4) + link + bytes(20)
    assert read_joined(split, lambda _: whole + bytes(20)) == []


def test_GIT_04_a_small_index_of_long_names_is_refused() -> None:
    """Each name is the previous one and one more character."""
    zeros = bytes(62)
    names = b"".join(zeros + b"\0" + b"n\0" for _ in range(5_000))
    data = b"DIRC" + COMPRESSED.to_bytes(4) + (5_000).to_bytes(4) + names + bytes(20)
    with pytest.raises(ValueError, match="too long"):
        read_whole(data)


@pytest.mark.parametrize("cut", [0, 11, 40, 90, -21])
def test_GIT_04_an_index_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    shop = repository(tmp_path / "shop", FILES)
    data = (shop / ".git" / "index").read_bytes()
    with pytest.raises(ValueError, match=r".+"):
        read_whole(data[:cut])
