"""Folders are examined again only if they have changed (SEC-02)."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from remit_server.workspace.trees import known_folders
from remit_server.workspace.trees.known_folders import Choose, Folder, KnownFolders

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/mountinfo").exists(), reason="folders are kept where mounts can be read"
)


SETTLED_S = 0.05


class Tree:
    """A tree that is surveyed again and again; `looked` has the folders that the last survey had to read."""

    def __init__(self, root: Path) -> None:
        self.root, self.known, self.looked = root, KnownFolders(), list[str]()
        self.choose: Choose = self._choose

    def _choose(self, folder: str, names: Iterable[str]) -> list[str]:
        self.looked.append(folder)
        return [name for name in names if name.startswith(".")]

    def walk(self) -> dict[str, Folder]:
        """Returns the folders in which something was chosen."""
        time.sleep(2 * SETTLED_S)
        self.looked.clear()
        survey = self.known.survey(self.root, self.choose)
        self.looked = sorted(set(self.looked))
        return {folder.relative: folder for folder in survey.telling}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setattr(known_folders, "_SETTLED_NS", int(SETTLED_S * 1e9))
    for name in ("a/b/one", "a/two", "c/three"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    tree = Tree(tmp_path)
    assert tree.walk() == {}
    assert tree.looked == ["", "a", "a/b", "c"]
    return tree


def test_SEC_02_a_folder_that_has_not_changed_is_not_looked_into_again(tree: Tree) -> None:
    assert (tree.walk(), tree.looked) == ({}, [])
    (tree.root / "a/two").write_text("longer than before")
    assert (tree.walk(), tree.looked) == ({}, [])


def test_SEC_02_what_is_made_renamed_replaced_or_goes_is_seen(tree: Tree) -> None:
    (tree.root / "a/b/.env").write_text("x")
    assert tree.walk()["a/b"].chosen == (".env",)
    assert tree.looked == ["a/b"]
    (tree.root / "a/two").rename(tree.root / "c/.two")
    assert tree.walk()["c"].chosen == (".two",)
    assert tree.looked == ["a", "c"]
    os.mkfifo(tree.root / "c/pipe")
    assert tree.walk()["c"].odd == ("pipe",)
    shutil.copytree(tree.root / "a", tree.root / "new")
    shutil.rmtree(tree.root / "a")
    (tree.root / "new").rename(tree.root / "a")
    assert set(tree.walk()) == {"a/b", "c"}
    assert "a/b" in tree.looked
    (tree.root / "c/.two").unlink()
    assert tree.walk()["c"].chosen == ()
    shutil.rmtree(tree.root / "a")
    assert set(tree.walk()) == {"c"}


def test_SEC_02_a_time_that_is_set_back_hides_nothing(tree: Tree) -> None:
    """A user can set the modification time of a folder, but not the time of its inode's change."""
    folder = tree.root / "a/b"
    was = folder.stat()
    (folder / ".env").write_text("x")
    os.utime(folder, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert folder.stat().st_mtime_ns == was.st_mtime_ns
    assert tree.walk()["a/b"].chosen == (".env",)


def test_SEC_02_a_folder_that_changed_just_now_is_not_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system's clock may be so slow that a second change gets the same time as the first."""
    monkeypatch.setattr(known_folders, "_SETTLED_NS", 60_000_000_000)
    (tree.root / "c/four").write_text("x")
    for _ in range(2):
        tree.walk()
        assert tree.looked == ["c"]


@pytest.mark.parametrize(
    "mounts",
    [
        "",
        "1 0 0:1 / / rw - nfs4 x rw\n",
        "1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {place} rw shared:1 - fuse.sshfs x rw\n",
        "1 0 0:1 / {place} rw - ext4 x rw\n2 1 0:2 / {place} rw - 9p x rw\n",
        None,
    ],
)
def test_SEC_02_nothing_is_kept_of_a_file_system_of_another_machine(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str | None
) -> None:
    file = tmp_path.parent / f"{tmp_path.name}-mounts"
    if mounts is not None:
        file.write_text(mounts.format(place=str(tmp_path).replace(" ", "\\040")))
    monkeypatch.setattr(known_folders, "_MOUNTS", file)
    tree.known = KnownFolders()
    for _ in range(2):
        tree.walk()
        assert tree.looked == ["", "a", "a/b", "c"]


def test_SEC_02_what_was_chosen_otherwise_is_forgotten(tree: Tree) -> None:
    (tree.root / "c/.env").write_text("x")
    assert tree.walk()["c"].chosen == (".env",)
    tree.choose = lambda folder, names: []
    assert tree.walk() == {}


def test_SEC_02_within_a_while_nothing_is_looked_at(tree: Tree) -> None:
    (tree.root / "c/.env").write_text("x")
    assert tree.known.survey(tree.root, tree.choose, within_s=60.0).telling == ()
    assert [folder.relative for folder in tree.known.survey(tree.root, tree.choose).telling] == ["c"]


def test_SEC_02_a_tree_that_is_named_by_a_link_is_seen_to_change(tree: Tree) -> None:
    """The root of a repository may be such a link."""
    link = tree.root.parent / f"{tree.root.name}-link"
    link.symlink_to(tree.root)
    tree.root = link
    assert (tree.walk(), tree.walk()) == ({}, {})
    (tree.root / ".env").write_text("x")
    assert tree.walk()[""].chosen == (".env",)
