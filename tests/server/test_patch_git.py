"""`apply_diff` makes exactly the change that git shows between two trees, or nothing (TOOL-05)."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.errors import ToolError
from remit_server.harness.stages.write import Merger
from remit_server.tools.edit.apply_diff import APPLY_DIFF, ApplyDiffArguments
from remit_server.tools.spec import ToolContext, WritePlan
from remit_server.workspace.merges.merge_log import MergeLog
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

pytestmark = pytest.mark.slow

Tree = Mapping[str, tuple[bytes, bool]]
"""By path, the content of each file, and whether it is executable."""

NAMES = [
    "a.txt",
    "b.txt",
    "sp ace.txt",
    "d/a.txt",
    "b/a.txt",
    "d/e f/c.txt",
    "a/b/a.txt",
    "ü.txt",
    'q"uo\\te.txt',
    "-- x",
]
LINES = [f"line {n} of this text" for n in range(14)] + ["", "same", "same", "-- a/x", "++ b/y", "@@ -1 +1 @@", "-- "]

MARK = b"\xef\xbb\xbf"

git_needed = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = draw(st.sampled_from([LINES, LINES[::-1], [], LINES[:3]]))
    return as_bytes(draw, lines)


def as_bytes(draw: st.DrawFn, lines: list[str]) -> bytes:
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = end.join(lines) + (end if lines and draw(st.booleans()) else "")
    return (MARK if draw(st.integers(0, 5)) == 0 else b"") + text.encode()


@st.composite
def edits(draw: st.DrawFn, before: bytes) -> bytes:
    """Draws the content with some lines added, removed or changed; a byte order mark or the last line's end may change
    too."""
    if draw(st.integers(0, 9)) == 0:
        return draw(contents())
    mark, lines = MARK if before.startswith(MARK) else b"", before.removeprefix(MARK).split(b"\n")
    end = b"\r" if b"\r\n" in before else b""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        new = draw(st.lists(st.sampled_from(["new", "same", "", "-- q", "++ q", "\\ n"]), max_size=3))
        lines[at : at + draw(st.integers(0, 3))] = [line.encode() + end for line in new]
    mark = draw(st.sampled_from([mark, mark, MARK, b""]))
    return mark + b"\n".join(lines)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Tree, Tree]:
    before: dict[str, tuple[bytes, bool]] = {
        name: (draw(contents()), draw(st.booleans()))
        for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    }
    after = dict(before)
    for name, (data, runs) in before.items():
        free = [each for each in NAMES if each not in before and each not in after]
        match draw(st.sampled_from(["keep", "edit", "chmod", "remove", "move", "copy", "both"])):
            case "edit":
                after[name] = (draw(edits(data)), runs)
            case "chmod":
                after[name] = (data, not runs)
            case "both":
                after[name] = (draw(edits(data)), not runs)
            case "remove":
                del after[name]
            case "move" | "copy" as how if free:
                new = draw(edits(data)) if draw(st.booleans()) else data
                after[draw(st.sampled_from(free))] = (new, runs is not draw(st.integers(0, 3).map(lambda n: n == 0)))
                if how == "move":
                    del after[name]
            case _:
                pass
    for name in draw(st.lists(st.sampled_from([each for each in NAMES if each not in after] or NAMES), max_size=2)):
        after.setdefault(name, (draw(contents()), draw(st.booleans())))
    return before, after


def write(folder: Path, tree: Tree) -> None:
    for name, (data, runs) in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if runs else 0o644)


def found(folder: Path) -> Tree:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): (p.read_bytes(), bool(p.stat().st_mode & 0o100)) for p in files}


class Git:
    """A repository that only makes diffs, with this system's git but without the person's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run("init", "--quiet")

    def run(self, *words: str) -> str:
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        settings_ = ["-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.filemode=true"]
        words = ("git", *settings_, *words)
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def tree(self, tree: Tree) -> str:
        for path in self.folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        write(self.folder, tree)
        self.run("add", "-A", "-f")
        return self.run("write-tree").strip()


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return Git(tmp_path_factory.mktemp("git"))


async def apply(workspace: Workspace, log: Path, diff: str) -> str:
    """Applies the diff as the dispatcher does, without asking anybody. Returns the report; raises ToolError."""
    ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
    arguments = ApplyDiffArguments(diff=diff)
    APPLY_DIFF.targets(arguments, ctx)
    plan = await APPLY_DIFF.prepare(arguments, ctx)
    assert isinstance(plan, WritePlan)
    await Merger(workspace, NoDocuments(), MergeLog(log)).merge(plan.changes, "x", [], "1")
    return plan.outcome.text


def applied(before: Tree, diff: str) -> tuple[Tree, str | ToolError]:
    """Returns the tree afterwards, and the report or the refusal."""
    with TemporaryDirectory() as folder:
        root = Path(folder, "w")
        root.mkdir()
        write(root, before)
        with Workspace(root) as workspace:
            try:
                report: str | ToolError = asyncio.run(apply(workspace, Path(folder, "log"), diff))
            except ToolError as error:
                report = error
        return found(root), report


@git_needed
@settings(max_examples=examples(60), deadline=None)
@given(
    pair=trees(),
    follow=st.sampled_from([[], ["--no-renames"], ["-M"], ["-M30%"], ["-C"], ["-C", "--find-copies-harder"]]),
    context=st.sampled_from(["-U0", "-U1", "-U3"]),
    form=st.sampled_from(["--full-index", "--binary", "--no-prefix", "--patch-with-stat"]),
)
def test_a_diff_of_git_gives_exactly_the_second_tree(
    git: Git, pair: tuple[Tree, Tree], follow: list[str], context: str, form: str
) -> None:
    before, after = pair
    diff = git.run("diff", *follow, context, form, git.tree(before), git.tree(after))
    if diff:
        now, report = applied(before, diff)
        if form == "--no-prefix" and isinstance(report, ToolError) and "do not match each other" in report.why:
            assert now == before  # from a folder called `a` to one called `b`: git could have made such names
            return
        assert not isinstance(report, ToolError), (str(report), report.why, diff)
        assert now == after, diff


@pytest.mark.slow
@git_needed
@settings(max_examples=examples(60), deadline=None)
@given(pair=trees(), data=st.data())
def test_a_diff_of_git_that_was_damaged_changes_what_it_reports_or_nothing(
    git: Git, pair: tuple[Tree, Tree], data: st.DataObject
) -> None:
    before, after = pair
    lines = git.run("diff", "-M", "-C", "-B", git.tree(before), git.tree(after)).splitlines(keepends=True)
    if not lines:
        return
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], ["\n"], [lines[at]] * 2, [data.draw(st.sampled_from(lines))]])
        )
        if not lines:
            return
    now, report = applied(before, "".join(lines))
    if isinstance(report, ToolError):
        assert now == before
        return
    for name in before.keys() | now.keys():
        if before.get(name) != now.get(name):
            assert name in report, (name, report)
