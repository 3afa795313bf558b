"""A repository with a pack whose few bytes expand to more than memory holds, or need endless work."""

from __future__ import annotations

import hashlib
import shutil
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from commits import git, planned, repository, without_machine, write
from dulwich.objects import RawObjectID
from dulwich.pack import write_pack_index_v2
from messages import SAYS

from remit_server.errors import ToolError
from remit_server.workspace.content.files import MAX_FILE_BYTES

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

COMMIT, OFS_DELTA, REF_DELTA = 1, 6, 7
LIMIT = MAX_FILE_BYTES * 4
HEAD = b"\xbb" * 20
BASE = b"\xaa" * 20

Entry = tuple[bytes, int, int, bytes, bytes]
"""An object of a pack: its id, kind and stated size, the bytes between that and the body, and the body."""


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    without_machine(monkeypatch, tmp_path)
    folder = repository(tmp_path / "shop", {"a.py": "1\n"})
    write(folder, {"a.py": "changed\n"})
    return folder


def _header(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80, *_varint(size)]) if size else bytes([first])


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _delta(source: int, result: int) -> bytes:
    """Returns a delta that copies the first MiB of its base until `result` bytes are built."""
    return _varint(source) + _varint(result) + b"\xc0\x10" * (result >> 20)


def _install(shop: Path, *entries: Entry) -> None:
    """Writes the entries as a pack of the repository, whose branch then ends in the object `HEAD`."""
    data, known = (
        b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big"),
        list[tuple[RawObjectID, int, int]](),
    )
    for sha, kind, size, between, body in entries:
        known.append((RawObjectID(sha), len(data), 0))
        data += _header(kind, size) + between + zlib.compress(body)
    checksum = hashlib.sha1(data).digest()
    folder = shop / ".git" / "objects" / "pack"
    (folder / "pack-1.pack").write_bytes(data + checksum)
    with (folder / "pack-1.idx").open("wb") as file:
        write_pack_index_v2(file, sorted(known), checksum)
    (shop / ".git" / "refs" / "heads" / "main").write_text(HEAD.hex() + "\n")


def _refused(shop: Path) -> str:
    with pytest.raises(ToolError) as refusal:
        planned(shop)
    return str(refusal.value)


def test_THR_storage_a_packed_object_larger_than_memory(shop: Path) -> None:
    _install(shop, (HEAD, COMMIT, LIMIT + 1, b"", bytes(LIMIT + 1)))
    assert f"takes more than {LIMIT} bytes" in _refused(shop)


def test_THR_storage_a_packed_object_that_is_larger_than_it_says(shop: Path) -> None:
    _install(shop, (HEAD, COMMIT, 10, b"", bytes(LIMIT + 1)))
    assert "exceeds expected size" in _refused(shop)


@pytest.mark.parametrize("result", [LIMIT + (1 << 20), 1 << 60], ids=["large", "endless"])
def test_THR_storage_a_delta_that_builds_more_than_memory_holds(shop: Path, result: int) -> None:
    base = bytes(1 << 20)
    delta = _delta(len(base), min(result, LIMIT * 2))
    delta = delta if result < LIMIT * 2 else _varint(len(base)) + _varint(result) + b"\xc0\x10"
    _install(shop, (BASE, COMMIT, len(base), b"", base), (HEAD, REF_DELTA, len(delta), BASE, delta))
    assert f"takes more than {LIMIT} bytes" in _refused(shop)


def test_THR_storage_a_delta_that_is_itself_larger_than_memory(shop: Path) -> None:
    """The delta itself is too large, though its result would be small."""
    body = _varint(1) + _varint(1) + bytes(LIMIT)
    base = (BASE, COMMIT, 1, b"", b"x")
    _install(shop, base, (HEAD, REF_DELTA, len(body), BASE, body))
    assert f"takes more than {LIMIT} bytes" in _refused(shop)


def test_THR_storage_deltas_that_build_for_ever(shop: Path) -> None:
    """Each delta is within the limit and copies its whole base."""
    size = 32 << 20
    delta = _varint(size) + _varint(size) + b"\xc0\x10" * (size >> 20)
    ids = [BASE, *(number.to_bytes(20, "big") for number in range(200)), HEAD]
    links = [(sha, REF_DELTA, len(delta), before, delta) for before, sha in pairwise(ids)]
    _install(shop, (BASE, COMMIT, size, b"", bytes(size)), *links)
    assert SAYS.too_many_steps in _refused(shop)


@pytest.mark.parametrize("other", [HEAD, BASE], ids=["itself", "each other"])
def test_THR_storage_deltas_that_go_round_in_circles(shop: Path, other: bytes) -> None:
    delta = _varint(1) + _varint(1) + b"\x01x"
    _install(shop, (BASE, REF_DELTA, len(delta), HEAD, delta), (HEAD, REF_DELTA, len(delta), other, delta))
    assert SAYS.too_many_steps in _refused(shop)


@pytest.mark.parametrize("back", [b"\x00", b"\x7f\xff", b"\xff\xff\xff\x7f", b"\xff" * 30])
def test_THR_storage_a_delta_of_something_outside_of_the_pack(shop: Path, back: bytes) -> None:
    delta = _varint(1) + _varint(1) + b"\x01x"
    _install(shop, (HEAD, OFS_DELTA, len(delta), back, delta))
    assert "cannot commit" in _refused(shop)


def test_deltas_of_git_itself_are_read(shop: Path) -> None:
    """A folder of many files in many versions, because git stores its trees and commits as deltas of each other."""
    for number in range(6):
        write(shop, {f"folder/{each}.py": "x\n" for each in range(number * 20, number * 20 + 20)})
        git(shop, "add", "folder")
        git(shop, "commit", "-qm", f"number {number}")
    git(shop, "repack", "-adfq", "--depth=50", "--window=50")
    packs = (shop / ".git" / "objects" / "pack").glob("*.idx")
    assert "chain length" in git(shop, "verify-pack", "-v", *map(str, packs))
    assert len(planned(shop).changes) == 1
