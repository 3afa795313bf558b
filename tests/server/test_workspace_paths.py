"""Paths: every known way out of a workspace is tried (FILE-01)."""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from command_line import CommandLine
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.contract import ErrorCode
from remit_server.errors import OutsideWorkspace, SetupError, ToolError
from remit_server.runtime.settings import Settings
from remit_server.workspace.paths.kernel import locate, open_exact, open_exact_by_steps
from remit_server.workspace.paths.workspace_path import Workspace


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws2").mkdir()
    (tmp_path / "ws2" / "secret").write_text("secret")
    return tmp_path / "ws2"


@pytest.fixture
def workspace(outside: Path) -> Iterator[Workspace]:
    with Workspace(outside.parent / "ws") as workspace:
        (workspace.root / "src").mkdir()
        (workspace.root / "src" / "a.py").write_text("a = 1\n")
        yield workspace


@pytest.mark.parametrize(
    "text",
    ["..", "../ws2/secret", "src/../../ws2/secret", "/etc/passwd", "//etc/passwd", "/proc/self/root/etc/passwd",
     "../ws/src/a.py", "src/../../../../../../../../etc/passwd", "/"],
)  # fmt: skip
def test_thr_paths_outside(workspace: Workspace, text: str) -> None:
    """THR-paths-dotdot, THR-paths-absolute, THR-paths-proc."""
    with pytest.raises(OutsideWorkspace) as refused:
        workspace.resolve(text)
    assert refused.value.fix


def test_thr_paths_prefix_collision(workspace: Workspace, outside: Path) -> None:
    """THR-paths-prefix: `ws` is not the parent of `ws2`."""
    with pytest.raises(OutsideWorkspace):
        workspace.resolve(str(outside / "secret"))


@pytest.mark.parametrize("target", ["../ws2/secret", "{outside}/secret", "/proc/self/root/etc/passwd", "/etc"])
def test_thr_paths_symlink_out(workspace: Workspace, outside: Path, target: str) -> None:
    """THR-paths-symlink: the link is the last name of the path, or a folder in it."""
    (workspace.root / "link").symlink_to(target.format(outside=outside))
    (workspace.root / "folder").symlink_to(outside)
    for text in ("link", "folder/secret", "folder/new", "src/../link"):
        with pytest.raises(ToolError) as refused:
            workspace.resolve(text)
        assert refused.value.code is ErrorCode.OUTSIDE_WORKSPACE


@pytest.mark.parametrize("target", ["src/a.py", "./src/../src/a.py", "{root}/src/a.py"])
def test_paths_symlink_inside_is_judged_by_its_real_path(workspace: Workspace, target: str) -> None:
    (workspace.root / "alias").symlink_to(target.format(root=workspace.root))
    assert workspace.resolve("alias").relative == "src/a.py"


def test_thr_paths_dangling_symlink_is_judged_by_its_target(workspace: Workspace, outside: Path) -> None:
    """THR-paths-symlink: a write through a link to a missing file would create that file."""
    (workspace.root / "inside").symlink_to("src/new.py")
    (workspace.root / "leaving").symlink_to(outside / "new.py")
    assert workspace.resolve("inside").relative == "src/new.py"
    with pytest.raises(OutsideWorkspace):
        workspace.resolve("leaving")


def test_thr_paths_symlink_loop(workspace: Workspace) -> None:
    (workspace.root / "a").symlink_to("b")
    (workspace.root / "b").symlink_to("a")
    with pytest.raises(ToolError):
        workspace.resolve("a")


@pytest.mark.parametrize("by_steps", [False, True])
def test_thr_paths_symlink_swap(workspace: Workspace, outside: Path, by_steps: bool) -> None:
    """THR-paths-symlink-swap: a folder is checked, and is a link when it is used."""
    path = workspace.resolve("src/a.py")
    (outside / "a.py").write_text("other")
    (workspace.root / "src").rename(workspace.root / "gone")
    (workspace.root / "src").symlink_to(outside)
    with pytest.raises(ToolError) as refused:
        os.close(workspace.open_read(path))
    assert refused.value.code is ErrorCode.STALE
    root = os.open(workspace.root, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"src|a\.py|symbolic|directory|Too many"):
            (open_exact_by_steps if by_steps else open_exact)(root, path.names, os.O_RDONLY)
    finally:
        os.close(root)


def test_thr_paths_special_files(workspace: Workspace) -> None:
    """THR-paths-fifo, THR-paths-device: nothing blocks, nothing is opened."""
    os.mkfifo(workspace.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace.root / "sock"))
        for name in ("pipe", "sock"):
            with pytest.raises(ToolError) as refused:
                workspace.resolve(name)
            assert refused.value.code is ErrorCode.NOT_A_FILE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_thr_paths_device(workspace: Workspace) -> None:
    os.mknod(workspace.root / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    with pytest.raises(ToolError) as refused:
        workspace.resolve("null")
    assert refused.value.code is ErrorCode.NOT_A_FILE


def test_thr_paths_fifo_put_in_place_after_the_check(workspace: Workspace) -> None:
    path = workspace.resolve("src/a.py")
    path.absolute.unlink()
    os.mkfifo(path.absolute)
    with pytest.raises(ToolError) as refused:
        workspace.open_read(path)
    assert refused.value.code is ErrorCode.NOT_A_FILE


@pytest.mark.parametrize(
    "text", ["", "a\0b", "a\nb", "a\x1b[2Jb", "a ", "a.", "src./a.py", "x" * 256, "x/" * 3000, "\udcff", "a\x85"]
)
def test_thr_paths_malformed(workspace: Workspace, text: str) -> None:
    """THR-paths-unicode, THR-paths-trailing: spellings that two systems read differently are refused."""
    with pytest.raises(ToolError) as refused:
        workspace.resolve(text)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENTS
    assert refused.value.fix


@pytest.mark.parametrize(
    ("text", "relative"),
    [("src/a.py", "src/a.py"), ("./src//a.py", "src/a.py"), ("src/../src/a.py", "src/a.py"), (".", "."), ("src/", "src"),
     ("src/..", "."), ("new/deep/file.py", "new/deep/file.py"), ("．．/x", "．．/x"), ("~/x", "~/x")],
)  # fmt: skip
def test_paths_resolved(workspace: Workspace, text: str, relative: str) -> None:
    path = workspace.resolve(text)
    assert path.relative == relative
    assert path.absolute == workspace.root / relative
    assert workspace.resolve(str(workspace.root / text)) == path


def test_paths_up_from_what_does_not_exist(workspace: Workspace) -> None:
    with pytest.raises(ToolError) as refused:
        workspace.resolve("nothing/../src/a.py")
    assert refused.value.code is ErrorCode.NOT_FOUND


def test_paths_through_a_file(workspace: Workspace) -> None:
    with pytest.raises(ToolError) as refused:
        workspace.resolve("src/a.py/b")
    assert refused.value.code is ErrorCode.NOT_FOUND


def test_paths_workspace_given_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "a").write_text("a")
    with Workspace(tmp_path / "alias") as workspace:
        assert workspace.root == tmp_path / "real"
        assert workspace.resolve(str(tmp_path / "alias" / "a")).relative == "a"


@pytest.mark.parametrize("how", ["--workspace", "where the shell is", "below it"])
def test_FILE_01_a_path_through_the_link_by_which_a_workspace_was_opened_is_in_it(tmp_path: Path, how: str) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "real" / "sub" / "a.py").write_text("here it is\n")
    (tmp_path / "outside").write_text("")
    (tmp_path / "alias").symlink_to("real")
    alias = tmp_path / "alias"
    here, given = {
        "--workspace": ("sub", ("--workspace", str(alias))),
        "where the shell is": (".", ()),
        "below it": ("sub", ("--workspace", "..")),
    }[how]
    shell = CommandLine.alone(tmp_path / "real" / here, tmp_path)
    for path, code in ((alias / "sub" / "a.py", 0), (alias / ".." / "outside", 3), (tmp_path / "outside", 3)):
        words = ("run-tool", "read_file", json.dumps({"path": str(path)}), "--intent", "READ_FILE", *given)
        done = shell(*words, "--approve", "never", PWD=str(alias / here))
        assert (done.code, "here it is" in done.out) == (code, code == 0), done.err


def test_FILE_01_where_the_shell_says_it_is_counts_only_where_it_is_so(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert Settings.of_places(tmp_path, {"PWD": str(tmp_path / "other")}).opened_as is None
    assert Settings.of_places(Path(), {"PWD": str(tmp_path / "other")}).opened_as is None


def test_paths_missing_workspace(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        Workspace(tmp_path / "nothing")
    assert refused.value.fix


NAMES = st.sampled_from(["a", "b", "c", "link", "up"])
PARTS = st.lists(st.one_of(NAMES, st.sampled_from([".", "..", ""])), max_size=6).map("/".join)
TARGETS = st.one_of(PARTS, PARTS.map(lambda t: "/" + t), PARTS.map(lambda t: "{root}/" + t), st.just("{outside}"))


@settings(max_examples=examples(300), deadline=None)
@given(
    entries=st.lists(st.tuples(PARTS, st.one_of(st.none(), st.just(""), TARGETS)), max_size=8),
    text=st.one_of(PARTS, PARTS.map(lambda t: "{root}/" + t), st.text(max_size=20)),
)
def test_paths_never_resolve_outside(entries: list[tuple[str, str | None]], text: str) -> None:
    """THR-paths-symlink: for any tree, the result is a real path below the root, and both implementations agree."""
    with tempfile.TemporaryDirectory() as folder:
        root, outside = Path(folder).resolve() / "ws", Path(folder).resolve() / "ws2"
        root.mkdir()
        outside.mkdir()
        (outside / "a").write_text("secret")

        def filled(template: str) -> str:
            return template.replace("{root}", str(root)).replace("{outside}", str(outside))

        for where, target in entries:
            place = root / os.path.normpath("/" + where).lstrip("/")
            try:
                if target is None:
                    place.mkdir(parents=True)
                elif target == "":
                    place.write_text("text")
                else:
                    place.symlink_to(filled(target))
            except (OSError, ValueError):
                continue
        with Workspace(root) as workspace:
            try:
                path = workspace.resolve(filled(text))
            except ToolError:
                return
            assert ".." not in path.names
            # The kernel confirms it: no link in the path, and below the root.
            assert os.path.realpath(path.absolute) == str(path.absolute)
            assert path.absolute == root or root in path.absolute.parents
            fd = os.open(root, os.O_RDONLY)
            try:
                walked = locate(fd, [PurePosixPath(root)], path.names)
            finally:
                os.close(fd)
            assert (*walked.names, *walked.missing) == path.names


@pytest.mark.parametrize(
    ("there", "asked", "spelled"),
    [
        ("cafe\u0301.txt", "caf\u00e9.txt", '"cafe\\u0301.txt"'),
        ("caf\u00e9.txt", "cafe\u0301.txt", '"caf\\u00e9.txt"'),
        ("Shot 1.02.03\u202fPM.png", "Shot 1.02.03 PM.png", '"Shot 1.02.03\\u202fPM.png"'),
        ("README.md", "readme.md", '"README.md"'),
        ("a\u200b.py", "a.py", '"a\\u200b.py"'),
    ],
)
def test_FILE_01_a_name_that_looks_like_the_one_that_is_asked_for_is_named_and_not_opened(
    tmp_path: Path, there: str, asked: str, spelled: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / there).write_text("x")
    (tmp_path / "sub" / "other.txt").write_text("x")
    if (tmp_path / "sub" / asked).exists():
        pytest.skip("this file system takes both for one name")
    with Workspace(tmp_path) as workspace:
        with pytest.raises(ToolError) as missing:
            workspace.open_read(workspace.resolve(f"sub/{asked}"))
        assert missing.value.code is ErrorCode.NOT_FOUND
        assert spelled in missing.value.why
        assert "other.txt" not in missing.value.why
        os.close(workspace.open_read(workspace.resolve(f"sub/{there}")))


@pytest.mark.parametrize(("begin", "told"), [("file://{root}/", "`file://`"), ("file:", "`file://`"), ("@", "`@`")])
def test_FILE_01_a_path_in_other_words_is_told_how_to_be_given(tmp_path: Path, begin: str, told: str) -> None:
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "@b.py").write_text("x")
    with Workspace(tmp_path) as workspace:
        with pytest.raises(ToolError) as missing:
            workspace.open_read(workspace.resolve(begin.format(root=tmp_path) + "a.py"))
        assert missing.value.code is ErrorCode.NOT_FOUND
        assert told in missing.value.fix
        os.close(workspace.open_read(workspace.resolve("@b.py")))
