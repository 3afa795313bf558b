"""A repository with hostile objects, index or attributes: the server itself reads them when it commits."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from commits import git, planned, repository, without_machine, write
from messages import SAYS

from remit_server.errors import ToolError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    without_machine(monkeypatch, tmp_path)
    folder = repository(tmp_path / "shop", {"a.py": "1\n", "sub/b.py": "2\n"})
    write(folder, {"a.py": "changed\n"})
    return folder


def _object(shop: Path, kind: bytes, body: bytes) -> str:
    whole = b"%b %d\0%b" % (kind, len(body), body)
    sha = hashlib.sha1(whole).hexdigest()
    path = shop / ".git" / "objects" / sha[:2] / sha[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole))
    return sha


def _commit(shop: Path, tree: str) -> None:
    body = f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n".encode()
    (shop / ".git" / "refs" / "heads" / "main").write_text(_object(shop, b"commit", body) + "\n")


def _tree(shop: Path, names: list[bytes], sha: str, mode: bytes = b"40000") -> str:
    return _object(shop, b"tree", b"".join(b"%b %b\0%b" % (mode, name, bytes.fromhex(sha)) for name in names))


def _refused(shop: Path) -> str:
    with pytest.raises(ToolError) as refusal:
        planned(shop)
    return str(refusal.value)


@pytest.mark.parametrize("name", ["pack/pack-1.pack", "pack/multi-pack-index", "info/commit-graph"])
def test_THR_paths_a_fifo_among_the_packs(shop: Path, name: str) -> None:
    os.mkfifo(shop / ".git" / "objects" / name)
    assert f"`.git/objects/{name}` is not a file" in _refused(shop)


def test_THR_paths_a_fifo_in_place_of_an_object(shop: Path) -> None:
    head = git(shop, "rev-parse", "HEAD").strip()
    path = shop / ".git" / "objects" / head[:2] / head[2:]
    path.unlink()
    os.mkfifo(path)
    assert SAYS.the_repository_cannot_be_read in _refused(shop)


@pytest.mark.slow
def test_THR_storage_a_tree_of_more_folders_than_can_be_gone_through(shop: Path) -> None:
    tree = _object(shop, b"tree", b"")
    for _ in range(12):
        tree = _tree(shop, [b"%02d" % number for number in range(20)], tree)
    _commit(shop, tree)
    assert SAYS.its_tree_is_too_large in _refused(shop)


def test_THR_storage_a_tree_of_more_names_than_memory_holds(shop: Path) -> None:
    tree = _tree(shop, [b"%04d" % number for number in range(1000)], _object(shop, b"blob", b""), b"100644")
    _commit(shop, _tree(shop, [b"n" * 1_000_000], tree))
    assert SAYS.its_tree_is_too_large in _refused(shop)


def _index(*names: tuple[bytes, bytes]) -> bytes:
    """An index of version 4; each pair says how much of the previous name to cut off, and what to add."""
    fixed = struct.pack(">10I20sH", *[0] * 6, 0o100644, 0, 0, 0, bytes(20), 0xFFF)
    body = struct.pack(">4sII", b"DIRC", 4, len(names)) + b"".join(fixed + cut + name + b"\0" for cut, name in names)
    return body + hashlib.sha1(body).digest()


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [[(b"\0", b"n" * 50_000_000)], [(b"\0", b"n" * 1000)] * 20_000],
    ids=["one", "added up"],
)
def test_THR_storage_an_index_of_more_names_than_memory_holds(shop: Path, names: list[tuple[bytes, bytes]]) -> None:
    (shop / ".git" / "index").write_bytes(_index(*names))
    assert SAYS.its_names_are_too_long in _refused(shop)


def test_THR_shell_attributes_that_take_long_to_match(shop: Path) -> None:
    """A backtracking engine would take seconds to match each of these lines."""
    name = "/".join(["a" * 200] * 5)
    write(shop, {name: "x\n", ".gitattributes": "*a*a*a*a*a*a*a*b text\n" * 1_000 + "a* filter=x\n"})
    with pytest.raises(ToolError) as refusal:
        planned(shop, all=True)
    assert "filter `x`" in str(refusal.value)
