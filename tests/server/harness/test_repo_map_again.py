"""A second `repo_map` reads only changed files, and returns what a first one would (TOOL-09)."""

from __future__ import annotations

import os
import tempfile
import time
from itertools import count
from pathlib import Path

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.tools.code.index.tags import SETTLED_NS, TagCache, Tags
from remit_server.tools.code.repo_map import map_of
from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments
from remit_server.workspace.trees.walk import Limits

NAMES = st.sampled_from(["a.py", "b.py", "sub/c.py", "sub/d.js"])
SOURCES = st.sampled_from(["def one(): two()\n", "def two(): one()\n", "class One:\n    pass\n", "x = (\n", ""])
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, SOURCES),
    st.tuples(st.just("replace"), NAMES, SOURCES),
    st.tuples(st.just("delete"), NAMES, st.just("")),
    st.tuples(st.just("rename"), NAMES, NAMES),
)
TIMES = count(1_000_000_000_000_000_000, 1_000_000)


def edit(root: Path, kind: str, name: str, what: str) -> None:
    """Makes one change, with a new modification time, because two changes within one step of the clock look alike."""
    path = root / name
    path.parent.mkdir(exist_ok=True)
    if kind in {"write", "replace"}:
        to = path if kind == "write" else root / "temporary"
        to.write_text(what)
        moment = next(TIMES)
        os.utime(to, ns=(moment, moment))
        to.replace(path)
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif path.exists():
        (root / what).parent.mkdir(exist_ok=True)
        path.replace(root / what)


@settings(max_examples=examples(40), deadline=None)
@given(edits=st.lists(st.lists(EDITS, max_size=3), max_size=5))
def test_a_map_is_the_same_whatever_is_remembered(edits: list[list[tuple[str, str, str]]]) -> None:
    remembering = TagCache(clock=lambda: time.time_ns() + 2 * SETTLED_NS)
    with tempfile.TemporaryDirectory() as folder, Workspace(Path(folder)) as workspace:
        context = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, lambda text: text)
        for step in edits:
            for each in step:
                edit(Path(folder), *each)
            maps = [
                map_of(context, workspace.resolve("."), 1_500, Limits(seconds=60), cache)
                for cache in (remembering, TagCache())
            ]
            assert maps[0] == maps[1]


def test_a_file_is_read_again_only_where_it_changed(tmp_path: Path) -> None:
    asked: list[int] = []

    def found() -> Tags:
        asked.append(1)
        return Tags("python")

    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    cache = TagCache(clock=lambda: path.stat().st_ctime_ns + SETTLED_NS + 1)
    for _ in range(3):
        cache.of_file(path.stat(), "python", found)
    assert len(asked) == 1
    (tmp_path / "b.py").write_text("y = 1\n")
    (tmp_path / "b.py").replace(path)
    cache.of_file(path.stat(), "python", found)
    assert len(asked) == 2


def test_a_file_that_changed_just_now_is_read_each_time(tmp_path: Path) -> None:
    """Two changes within one step of the file system's clock have the same time stamp."""
    asked: list[int] = []
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    cache = TagCache(clock=lambda: path.stat().st_ctime_ns + 1)
    for _ in range(2):
        cache.of_file(path.stat(), "python", lambda: asked.append(1) or Tags("python"))
    assert len(asked) == 2
