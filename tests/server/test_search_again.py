"""A second search of the same files reads only those that changed, and finds what a first one would (TOOL-06)."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from somebody_else import as_somebody_else

from remit_server.tools.search.file_search import Query
from remit_server.tools.search.line_matches import parse_pattern
from remit_server.tools.search.search_files import search
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.content.content_cache import MAX_CONTENT_BYTES, Content
from remit_server.workspace.content.file_cache import SETTLED_NS, FileCache
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments, OpenDocument
from remit_server.workspace.trees.walk import Limits

NAMES = st.sampled_from(["a.py", "b.py", "sub/c.py", "sub/d.log", ".gitignore", "sub/.gitignore"])
# Some of one length, so that only times tell them apart.
TEXTS = st.sampled_from(
    [b"foo\n", b"bar\n", b"f\xffo\n", b"*.py", b"d.*\n", b"", b"hush foo\nend\r\n", b"foo\0", "föo\n".encode("utf-16")]
)
EDITS = st.one_of(
    st.tuples(st.sampled_from(["write", "replace", "quietly"]), NAMES, TEXTS),
    st.tuples(st.sampled_from(["delete", "link", "pipe", "locked"]), NAMES, st.just(b"")),
    st.tuples(st.just("rename"), NAMES, NAMES.map(str.encode)),
)
PATTERNS = st.sampled_from(["foo", "f.o", "^$", r"end$", r"(?i)BAR|hush", r"(o)\1"])


def later() -> int:
    """A clock by which every file has long been as it is."""
    return time.time_ns() + 10**11


@contextmanager
def remembering(root: Path, most: int = 1 << 20) -> Iterator[Workspace]:
    with Workspace(root, contents=FileCache(most, 0, later)) as workspace:
        yield workspace


class Open(NoDocuments):
    """One document that is open."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def get(self, relative: str) -> OpenDocument | None:
        return OpenDocument(1, self.text) if relative == self.path else None


def searched(
    workspace: Workspace,
    pattern: str = "foo",
    *,
    denied: str | None = None,
    hidden: str = "",
    documents: NoDocuments | None = None,
) -> Outcome:
    """A search where `hidden` is a secret, if there is one; the policy's version is named after it."""
    ctx = ToolContext(
        workspace,
        documents or NoDocuments(),
        {},
        lambda _, path: path != denied,
        lambda text: text.replace(hidden, "[redacted]") if hidden else text,
        lambda: hidden,
    )
    return search(ctx, Query(parse_pattern(pattern), ctx.resolve("."), context=1), Limits(seconds=60))


def matches(outcome: Outcome) -> list[str]:
    found: object = outcome.data["matches"]
    assert isinstance(found, list)
    return [f"{match['file']}:{match['content']}" for match in found]


def ticked(root: Path) -> None:
    """Wait until the file system's clock has gone on: within a step of it, times tell nothing."""
    with tempfile.NamedTemporaryFile(dir=root.parent) as probe:
        before = os.fstat(probe.fileno()).st_ctime_ns
        while os.fstat(probe.fileno()).st_ctime_ns == before:
            probe.write(b"x")
            probe.flush()


def edit(root: Path, kind: str, name: str, what: bytes) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    if kind == "write":
        path.unlink() if path.is_symlink() or path.is_fifo() else None
        path.write_bytes(what)
        path.chmod(0o644)
    elif kind == "replace":
        (root / "new").write_bytes(what)
        (root / "new").replace(path)
    elif kind == "quietly" and path.is_file() and not path.is_symlink():
        times = path.stat()
        path.write_bytes(what)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    elif kind == "rename" and os.path.lexists(path):
        (root / os.fsdecode(what)).parent.mkdir(exist_ok=True)
        path.replace(root / os.fsdecode(what))
    elif kind == "locked" and path.is_file() and not path.is_symlink():
        path.chmod(0)
    elif kind in {"delete", "link", "pipe"}:
        path.unlink(missing_ok=True)
        if kind == "link":
            path.symlink_to(root / "a.py")
        elif kind == "pipe":
            os.mkfifo(path)


STEPS = st.tuples(
    st.lists(EDITS, max_size=4), PATTERNS, st.sampled_from(["", "hush", "o"]), st.sampled_from(["", "a.py", "sub/c.py"])
)


@settings(max_examples=examples(60), deadline=None)
@given(steps=st.lists(STEPS, max_size=5), most=st.sampled_from([1 << 20, 600]))
def test_a_search_finds_the_same_whatever_is_remembered(
    steps: list[tuple[list[tuple[str, str, bytes]], str, str, str]], most: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        with remembering(root, most) as known:
            for edits, pattern, hidden, denied in steps:
                for each in edits:
                    with suppress(PermissionError):
                        edit(root, *each)
                ticked(root)
                with Workspace(root, contents=FileCache(0, 0)) as fresh:
                    expected = searched(fresh, pattern, denied=denied, hidden=hidden)
                for _ in range(2):
                    assert searched(known, pattern, denied=denied, hidden=hidden) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process has read")
def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    for number in range(50):
        (tmp_path / f"{number}.py").write_text("foo\n" + "bar\n" * 1_000)
    with remembering(tmp_path) as workspace:
        begun, first = bytes_read(), searched(workspace)
        once, second = bytes_read(), searched(workspace, "f.o")
        twice = bytes_read()
        (tmp_path / "7.py").write_text("bar\n" * 1_000)
        third = searched(workspace)
    assert once - begun >= 200_000
    assert twice - once < 4_000
    assert [each.data["files"] for each in (first, second, third)] == [50, 50, 49]


@pytest.mark.parametrize(("since_ns", "kept"), [(SETTLED_NS, False), (SETTLED_NS + 1, True)])
def test_a_file_that_changed_just_now_is_read_each_time(since_ns: int, kept: bool, tmp_path: Path) -> None:
    """Two changes within one step of the file system's clock leave the same stamp."""
    path = tmp_path / "a.py"
    path.write_text("bar\n")
    status = path.stat()
    was = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    contents: FileCache[Content] = FileCache(1 << 20, 0, lambda: status.st_ctime_ns + since_ns)
    with Workspace(tmp_path, contents=contents) as workspace:
        searched(workspace)
        assert (contents.known("a.py", was) is not None) == kept


@pytest.mark.parametrize("locked", ["sub/a.py", "sub"])
def test_what_may_no_longer_be_read_is_not_shown_from_memory(locked: str, tmp_path: Path) -> None:
    with remembering(tmp_path) as workspace:
        searched(workspace)  # whatever is imported late is imported here

    def work(root: Path) -> None:
        (root / "sub").mkdir()
        (root / "sub" / "a.py").write_text("foo\n")
        with remembering(root) as workspace:
            assert matches(searched(workspace)) == ["sub/a.py:foo"]
            (root / locked).chmod(0)
            assert matches(searched(workspace)) == []
            (root / locked).chmod(0o755)
            assert matches(searched(workspace)) == ["sub/a.py:foo"]

    as_somebody_else(work)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_became_a_link_or_a_pipe_is_not_shown_from_memory(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("foo\n")
    (tmp_path / "outside").write_text("foo\n")
    with remembering(root) as workspace:
        assert matches(searched(workspace)) == ["a.py:foo"]
        (root / "a.py").unlink()
        (root / "a.py").symlink_to(tmp_path / "outside") if kind == "link" else os.mkfifo(root / "a.py")
        assert matches(searched(workspace)) == []


def test_policy_is_asked_again_and_a_new_one_may_know_other_secrets(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("foo = hush\n")
    with remembering(tmp_path) as workspace:
        assert matches(searched(workspace)) == ["a.py:foo = hush"]
        assert matches(searched(workspace, denied="a.py")) == []
        assert matches(searched(workspace, hidden="hush")) == ["a.py:foo = [redacted]"]
        assert matches(searched(workspace, "hu", hidden="hush")) == []
        assert matches(searched(workspace)) == ["a.py:foo = hush"]


def test_a_policy_that_is_replaced_while_secrets_are_looked_for_is_not_taken_for_the_new_one() -> None:
    versions = iter(["old", "new", "new", "new"])
    calls: list[str] = []

    def redact(text: str) -> str:
        calls.append(text)
        return text.replace("hush", f"[{len(calls)}]")

    content = Content(b"hush").decoded("x").redacted(redact, lambda: next(versions))
    assert (content.looked_under, content.shown, len(calls)) == ("new", "[2]", 2)


def test_the_editors_buffer_comes_before_what_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("foo on disk\n")
    with remembering(tmp_path) as workspace:
        found = [matches(searched(workspace, documents=each)) for each in (None, Open("a.py", "foo typed"), None)]
    assert found == [["a.py:foo on disk"], ["a.py:foo typed"], ["a.py:foo on disk"]]


def test_what_is_remembered_is_bounded_and_large_files_are_not() -> None:
    kept: FileCache[Content] = FileCache(10_000, 0)
    for number in range(100):
        content = Content(b"x" * 1_000, "x" * 1_000)
        kept.keep(str(number), (number,), "", content)
    known = [number for number in range(100) if kept.known(str(number), (number,)) is not None]
    assert known == list(range(100 - 10_000 // content.size, 100))
    assert 2_000 < content.size < 3_000


def test_a_file_over_the_limit_is_searched_each_time(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"foo\n" + b"x" * MAX_CONTENT_BYTES)
    contents: FileCache[Content] = FileCache(1 << 20, 0, later)
    with Workspace(tmp_path, contents=contents) as workspace:
        assert searched(workspace).data["files"] == 1
        status = (tmp_path / "a.py").stat()
    was = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    assert contents.known("a.py", was) is None


def test_searches_side_by_side_find_the_same(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.py").write_text("foo hush\n" * number)
    hidden: Mapping[int, str] = {0: "hush", 1: ""}
    with remembering(tmp_path, 20_000) as workspace, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: searched(workspace, hidden=hidden[n % 2]), range(80)))
    assert found[0] != found[1]
    assert [found[n % 2] for n in range(80)] == found
