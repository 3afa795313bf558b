"""Searches and lists give the same results with ripgrep and in process (TOOL-06)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from commits import git, repository, without_machine
from examples import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from somebody_else import as_somebody_else

from remit_server.errors import ToolError
from remit_server.tools.files.list_files import list_matching
from remit_server.tools.search.file_search import Query
from remit_server.tools.search.line_matches import parse_pattern, ripgrep_expression
from remit_server.tools.search.omissions import Ignored, describe_ignored
from remit_server.tools.search.search_files import search
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments, OpenDocument
from remit_server.workspace.trees.path_globs import parse_glob
from remit_server.workspace.trees.ripgrep import find_ripgrep
from remit_server.workspace.trees.walk import Limits

pytestmark = pytest.mark.slow

WITH_RIPGREP, IN_PROCESS = -1, 10**9
# The number of files after which ripgrep takes over, in the middle of the walk.
HALFWAY = (0, 1, 2, 3, 5)


@pytest.fixture(autouse=True)
def _ripgrep(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        if find_ripgrep(workspace) is None:
            pytest.skip("there is no rg: install ripgrep")


class Open(NoDocuments):
    """Open documents, by their paths."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def get(self, relative: str) -> OpenDocument | None:
        return OpenDocument(1, self.texts[relative]) if relative in self.texts else None

    def paths(self) -> tuple[str, ...]:
        return tuple(self.texts)


def grown(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def both(root: Path, pattern: str, base: str = ".", documents: Mapping[str, str] | None = None) -> Outcome:
    """Returns what is found in process, after a comparison with ripgrep from the start and from halfway."""
    with Workspace(root) as workspace:
        ctx = ToolContext(workspace, Open(documents or {}), {}, lambda _, path: "denied" not in path, lambda text: text)
        query = Query(parse_pattern(pattern), ctx.resolve(base), context=1)
        expected, *found = (search(ctx, query, Limits(small=n)) for n in (IN_PROCESS, WITH_RIPGREP, *HALFWAY))
    assert found == [expected] * len(found)
    return expected


def files_of(outcome: Outcome) -> list[str]:
    return [match["file"] for match in outcome.data["matches"]]  # type: ignore[index, union-attr, call-overload, misc]


NAMES = st.sampled_from(["a", "b.py", "c.log", "build", ".hidden", "ü", ".git", "denied", "x y"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINES = ["foo", "Foo bar", "bar42", "", "x\ty", "café", "K9 ſoo", "-- foo --", "a\rb", "ｆｏｏ", "日本語 foo"]
TEXTS = st.lists(st.sampled_from(LINES), max_size=4)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp932", "gb18030"])
DATA = st.builds(
    lambda lines, end, encoding, tail: end.join(lines).encode(encoding, "replace") + tail,
    *(TEXTS, st.sampled_from(["\n", "\r\n"]), ENCODINGS, st.sampled_from([b"", b"", b"\n", b"\0", b"\xff\xfe"])),
)
IGNORES = st.lists(
    st.sampled_from(
        ["*.log", "build/", "!c.log", "/a", "a/b.py", "**/b.py", "x*", "!build/", "# a", ".hidden", "\\!a"]
    ),
    max_size=4,
).map(lambda lines: "\n".join(lines).encode())
TREES = st.builds(
    lambda files, ignores: {
        **files,
        **{f"{folder}.gitignore": data for folder, data in ignores.items()},
    },
    st.dictionaries(PATHS, DATA, max_size=8),
    st.dictionaries(st.sampled_from(["", "a/", "build/", "a/build/"]), IGNORES, max_size=3),
)
PATTERNS = st.sampled_from(
    [
        *("foo", "Foo|bar", r"\bfoo\b", "^foo$", r"\w+\d", "(?i)foo", "(?i)KſI", "caf.", "café", r"\s", r"[^a-z]oo"),
        *(
            "x{2}",
            r"[\W\d]+$",
            "",
            r"b\r?$",
            "[a-ü]+",
            "..語",
            r"\x66oo",
            "foo{,2}",
            "ſ",
            r"\S{3}",
        ),
    ]
).filter(bool)


def fits(files: Mapping[str, bytes]) -> bool:
    """Returns whether no path is both a file and a folder."""
    return not any(other.startswith(name + "/") for name in files for other in files)


@pytest.mark.slow
@given(files=TREES.filter(fits), pattern=PATTERNS, base=st.sampled_from([".", "a", "build", "a/build"]), data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_ripgrep_and_the_walk_find_the_same(
    files: Mapping[str, bytes], pattern: str, base: str, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        grown(root, files)
        base = base if (root / base).is_dir() else "."
        there = [name for name in files if ".gitignore" not in name]
        documents = (
            data.draw(st.dictionaries(st.sampled_from(there), TEXTS.map("\n".join), max_size=2)) if there else {}
        )
        both(root, pattern, base, documents)
        with Workspace(root) as workspace:
            ctx = ToolContext(workspace, NoDocuments(), {}, lambda _, path: "denied" not in path, str)
            where, glob = ctx.resolve(base), parse_glob("*")
            ways = (IN_PROCESS, WITH_RIPGREP, *HALFWAY)
            first, *others = (list_matching(ctx, where, glob, 100, Limits(small=n)) for n in ways)
            assert others == [first] * len(others)


CHARACTERS = st.text(st.sampled_from("aFks1_ -\t\x1c\xa0éıſK日.*+?()[]|^$\\{},:bdwWsSD"), min_size=1, max_size=12)
SUBJECTS = st.text(st.sampled_from("aFfkKsS1_ -\t\x1c\x85\xa0éÉıſK日.*()\\"), max_size=12)


@pytest.mark.slow
@given(
    pattern=CHARACTERS, subject=SUBJECTS, encoding=st.sampled_from(["utf-8", "utf-16", "gb18030", "cp1252", "cp932"])
)
@settings(max_examples=examples(200), deadline=None)
@example(pattern="(?i)k", subject="K", encoding="utf-8")
@example(pattern="[^\\S]", subject="\x1c", encoding="utf-8")
@example(pattern="a.b", subject="aéb", encoding="cp1252")
@example(pattern="\\bé", subject="é é", encoding="utf-8")
def test_ripgrep_names_every_file_with_a_match(pattern: str, subject: str, encoding: str) -> None:
    try:
        query = parse_pattern(pattern)
        data = subject.encode(encoding)
    except (ToolError, UnicodeEncodeError):
        return
    with tempfile.TemporaryDirectory() as folder:
        grown(Path(folder), {"x": b"first\n" + data + b"\nlast" if encoding != "utf-16" else data})
        with Workspace(Path(folder)) as workspace:
            ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
            ways = (search(ctx, Query(query, ctx.resolve(".")), Limits(small=n)) for n in (IN_PROCESS, WITH_RIPGREP))
            assert len({way.text for way in ways}) == 1


@pytest.mark.parametrize(
    "pattern", [r"\pL", "[[:alpha:]]b", r"(?P<x>a)b", r"\Qa\E", "a{,3}", "[a&&b]", r"(?i)a\W*b", "(?s)a"]
)
def test_what_ripgrep_may_read_otherwise_is_searched_in_process(pattern: str, tmp_path: Path) -> None:
    assert ripgrep_expression(pattern) is None
    grown(tmp_path, {"x": b"aab aa\n"})
    both(tmp_path, pattern)


def test_ignore_files_outside_a_repository_within_the_project_count_in_it(tmp_path: Path) -> None:
    grown(tmp_path, {".gitignore": b"*.log", "sub/.git": b"", "sub/c.log": b"", "sub/deep/d.log": b"", "sub/e": b""})
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        for small in (WITH_RIPGREP, IN_PROCESS):
            found = list_matching(ctx, ctx.resolve("."), parse_glob("*"), 100, Limits(small=small))
            assert found.data["files"] == [".gitignore", "sub/e"]


def test_FILE_05_an_ignore_file_is_read_as_git_reads_it_mark_and_line_ends_included(tmp_path: Path) -> None:
    """The first line counts though a byte order mark stands before it, and only a line feed ends a line."""
    marked = b"\xef\xbb\xbfout/\r\n*.log\x0cx"
    grown(tmp_path, {".gitignore": marked, "out/x.py": b"foo", "a.py": b"foo", "a.log": b"foo", "sub/x": b"foo"})
    grown(tmp_path, {"sub/out/x.py": b"foo", "sub/.gitignore": b"\xef\xbb\xbfx\n"})
    assert files_of(both(tmp_path, "foo")) == ["a.log", "a.py"]
    assert files_of(both(tmp_path, "foo", "sub")) == []
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        for small in (WITH_RIPGREP, IN_PROCESS):
            found = list_matching(ctx, ctx.resolve("."), parse_glob("*"), 100, Limits(small=small))
            assert found.data["files"] == [".gitignore", "a.log", "a.py", "sub/.gitignore"]


def listed(root: Path, base: str = ".") -> list[str]:
    """Returns what is listed in process, after a comparison with ripgrep."""
    with Workspace(root) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        found = [list_matching(ctx, ctx.resolve(base), parse_glob("*"), 100, Limits(small=n)) for n in (-1, 10**9)]
    assert found[0] == found[1]
    return list(found[0].data["files"])  # type: ignore[arg-type]


def test_FILE_05_an_ignore_file_that_ripgrep_takes_for_ignored_is_read(tmp_path: Path) -> None:
    """Ripgrep removes all carriage returns at a line's end, git only one; so for ripgrep the file ignores itself."""
    grown(tmp_path, {"sub/.gitignore": b".gitignore\r\r\n*.py\r\r\n", "sub/a.py": b"foo", "sub/b": b"foo"})
    assert listed(tmp_path) == ["sub/.gitignore", "sub/a.py", "sub/b"]
    assert files_of(both(tmp_path, "foo")) == ["sub/a.py", "sub/b"]


@pytest.mark.parametrize(
    ("lines", "found"), [(b"a.\nb./\n", ["c."]), (b"*\n!a.\n!b./\n!b./*\n!.gitignore\n", ["a.", "b./x"])]
)
def test_FILE_05_names_with_a_dot_at_their_end_are_ignored_as_git_ignores_them(
    tmp_path: Path, lines: bytes, found: list[str]
) -> None:
    grown(tmp_path, {".gitignore": lines, "a.": b"foo", "b./x": b"foo", "c.": b"foo"})
    assert listed(tmp_path) == [".gitignore", *found]
    assert files_of(both(tmp_path, "foo")) == found


@pytest.mark.parametrize(("patterns", "found"), [("Build/\n*.LOG\n", ["d"]), ("*\n!Sub/\n!B.log\n", ["sub/b.log"])])
def test_FILE_05_case_does_not_count_in_lists_outside_the_tree_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patterns: str, found: list[str]
) -> None:
    without_machine(monkeypatch, tmp_path)
    shop = repository(tmp_path / "shop")
    git(shop, "config", "core.ignoreCase", "true")
    (shop / ".git" / "info" / "exclude").write_text(patterns)
    grown(shop, {"build/x": b"foo", "sub/b.log": b"foo", "d": b"foo"})
    assert listed(shop) == found
    assert files_of(both(shop, "foo")) == found
    shown = git(shop, "ls-files", "--others", "--exclude-standard").split()
    assert shown == found


def test_TOOL_03_what_is_ignored_is_counted_where_nothing_else_is_found(tmp_path: Path) -> None:
    grown(tmp_path, {".gitignore": b"out/\n*.log\ndenied\n", "out/a.py": b"foo", "a.log": b"foo", "denied": b"foo"})
    grown(tmp_path, {"sub/b.log": b"foo", "c.py": b"bar"})
    found = both(tmp_path, "foo")
    assert (found.data["total_matches"], found.data["ignored"]) == (0, 3)
    assert "(a.log, sub/b.log)" in found.summary
    assert "(out)" in found.summary
    assert "denied" not in found.summary
    assert both(tmp_path, "bar").data["ignored"] is None
    assert both(tmp_path, "foo", "out").data["total_matches"] == 1
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda _, path: "denied" not in path, str)
        for small in (WITH_RIPGREP, IN_PROCESS):
            listed = list_matching(ctx, ctx.resolve("."), parse_glob("*.log"), 100, Limits(small=small))
            assert (listed.data["files"], listed.data["ignored"]) == ([], 3)


@pytest.mark.parametrize("pattern", ["gen/", "**/gen/*", "sub/gen/*", "sub/gen/**", "sub/*\n!sub/gen/.keep"])
def test_FILE_05_an_ignored_folder_that_is_named_is_looked_into_however_it_is_ignored(
    tmp_path: Path, pattern: str
) -> None:
    grown(tmp_path, {".gitignore": pattern.encode(), "sub/gen/a.py": b"foo", "sub/gen/in/b.py": b"foo"})
    assert files_of(both(tmp_path, "foo")) == []
    assert files_of(both(tmp_path, "foo", "sub/gen")) == ["sub/gen/a.py", "sub/gen/in/b.py"]


@pytest.fixture
def persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a person's git settings; all other settings of git are ignored."""
    without_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    return tmp_path / "none"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_FILE_05_the_lists_outside_the_tree_count_as_git_counts_them(
    tmp_path: Path, persons: Path, mark: bytes
) -> None:
    persons.write_text("[core]\n\texcludesFile = ~/mine\n")
    (tmp_path / "mine").symlink_to(tmp_path / "dotfile")
    (tmp_path / "dotfile").write_bytes(mark + b"*.log\n/own/\nkept\n")
    shop = repository(tmp_path / "shop")
    grown(shop, {".git/info/exclude": mark + b"scratch/\n!b.log\n", "sub/.gitignore": b"!kept\n"})
    names = ("a.py", "a.log", "b.log", "own/x", "kept", "scratch/x", "sub/kept", "sub/a.log", "sub/own/x")
    grown(shop, dict.fromkeys((*names, "sub/deep/x.log"), b"foo"))
    known = git(shop, "ls-files", "--others", "--exclude-standard").split()
    assert known == ["a.py", "b.log", "sub/.gitignore", "sub/kept", "sub/own/x"]
    assert files_of(both(shop, "foo")) == ["a.py", "b.log", "sub/kept", "sub/own/x"]
    assert files_of(both(shop, "foo", "sub")) == ["sub/kept", "sub/own/x"]
    assert files_of(both(shop, "foo", "sub/deep")) == []
    assert files_of(both(shop, "foo", "scratch")) == ["scratch/x"]


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.usefixtures("persons")
def test_FILE_05_the_case_of_letters_counts_in_ignore_files_as_the_repository_has_it(
    tmp_path: Path, folds: bool
) -> None:
    shop = repository(tmp_path / "shop")
    git(shop, "config", "core.ignoreCase", str(folds).lower())
    grown(
        shop,
        {".gitignore": b"*.LOG\n/Build/\n", "sub/.gitignore": b"!Kept.log\n[A-C].py\n", ".git/info/exclude": b"MINE\n"},
    )
    names = ("a.log", "A.LOG", "build/x", "Build/x", "mine", "sub/kept.LOG", "sub/b.py", "sub/d.py", "sub/build/x")
    grown(shop, dict.fromkeys((*names, "build/in/y", "\u00c4.py"), b"foo") | {"build/in/.gitignore": b"Y\n"})
    known = git(shop, "-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard").split()
    found = files_of(both(shop, "foo"))
    assert sorted(found) == sorted(name for name in known if not name.endswith(".gitignore"))
    assert ("a.log" in found, "build/x" in found) == (not folds, not folds)
    assert files_of(both(shop, "foo", "build")) == (["build/x"] if folds else ["build/in/y", "build/x"])


def test_thr_paths_a_list_that_only_the_repository_names_is_not_read_outside(tmp_path: Path, persons: Path) -> None:
    """THR: the set of ignored names would reveal what a file of the person's contains."""
    (tmp_path / "secret").write_text("guess\n")
    shop = repository(tmp_path / "shop")
    grown(shop, {"guess": b"foo", "other": b"foo", "lists/own": b"other"})
    (shop / "lists" / "link").symlink_to(tmp_path / "secret")
    both_files = ["guess", "other"]
    for name, found in (("../secret", both_files), ("lists/own", ["guess"]), ("lists/link", both_files)):
        git(shop, "config", "core.excludesFile", name)
        assert files_of(both(shop, "foo")) == found
    assert not persons.exists()


def test_links_are_not_followed_and_strange_files_and_names_do_no_harm(tmp_path: Path) -> None:
    grown(tmp_path, {"outside": b"foo", "shop/a.py": b"foo", "shop/new\nline": b"foo", "shop/-e": b"foo"})
    root = tmp_path / "shop"
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"\xff")).write_bytes(b"foo")
    (root / "large").write_bytes(b"foo\n" + b"x" * 3_000_000)
    assert files_of(both(root, "foo")) == ["-e", "a.py"]


def test_FILE_05_a_look_for_what_is_ignored_that_did_not_end_is_said() -> None:
    assert describe_ignored(Ignored()) == []
    assert len(describe_ignored(Ignored(all_seen=False))) == 1
    assert "and maybe more" in describe_ignored(Ignored(("a.log",), all_seen=False))[0]


@pytest.mark.parametrize("list_of", [b"#" * 300_000 + b"\n*.log\n", b"#\n" * 3_000 + b"*.log\n"])
@pytest.mark.parametrize("small", [IN_PROCESS, WITH_RIPGREP])
def test_FILE_05_an_ignore_file_that_is_read_in_part_is_said_to_be(tmp_path: Path, list_of: bytes, small: int) -> None:
    grown(tmp_path, {".gitignore": b"*.bin\n" + list_of, "a.py": b"foo", "a.log": b"foo", "b.bin": b"foo"})
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, lambda text: text)
        query = Query(parse_pattern("foo"), ctx.resolve("."))
        said = [search(ctx, query, Limits(small=small)).text]
        said.append(list_matching(ctx, ctx.resolve("."), parse_glob("*.py"), 100, Limits(small=small)).text)
    assert all("ignore patterns were read only in part: 1 ignore file" in text for text in said)


@pytest.mark.parametrize("small", [IN_PROCESS, WITH_RIPGREP])
def test_FILE_05_a_long_line_of_an_ignore_file_further_down_is_said(tmp_path: Path, small: int) -> None:
    grown(tmp_path, {"sub/.gitignore": b"x" * 2_000 + b"\n", "sub/a.py": b"foo"})
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, lambda text: text)
        limits = Limits(small=small)
        list_matching(ctx, ctx.resolve("."), parse_glob("*.py"), 100, limits)
    assert limits.cut == {"sub/.gitignore"}


def test_what_is_not_searched_is_said_by_either_way(tmp_path: Path) -> None:
    """A file that may be read and may have a match is never left out silently."""
    long = b"x" * 2_500_000
    grown(tmp_path, {"a.py": b"foo", "b.log": long, "denied/c": long, "d/e": long, "f.bin": b"foo\0", "g.bin": b"\0"})
    grown(tmp_path, {"denied/h.bin": b"foo\0", "ignored": long, ".gitignore": b"ignored", "i": long, "j": long})
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"foo")
    (tmp_path / os.fsdecode(b"\xfe")).write_bytes(b"bar")
    found = both(tmp_path, "foo")
    assert files_of(found) == ["a.py"]
    assert "; not searched: 4 files over 2 MB (b.log, d/e, i, …), 1 binary file (f.bin); name a large" in found.summary
    assert found.summary.endswith("; 1 more file matches, with names that cannot be shown")
    assert "denied" not in found.text
    assert "ignored" not in found.text


@pytest.mark.slow
def test_thousands_of_ignored_files_do_not_hide_one_that_is_too_large(tmp_path: Path) -> None:
    grown(tmp_path, {".gitignore": b"*.log", "z/large": b"foo\n" * 600_000, "z/a": b"foo"})
    (tmp_path / "logs").mkdir()
    for number in range(8_000):
        (tmp_path / "logs" / f"{number}.log").touch()
    found = both(tmp_path, "foo")
    assert (files_of(found), found.data["truncated"]) == (["z/a"], False)
    assert "1 file over 2 MB (z/large)" in found.summary


def test_a_folder_that_cannot_be_read_is_said_by_either_way(tmp_path: Path) -> None:
    def work(root: Path) -> None:
        grown(root, {"a.py": b"foo", "locked/b.py": b"foo", "shut.py": b"foo", "denied/c": b"foo"})
        for name in ("locked", "shut.py", "denied"):
            (root / name).chmod(0)
        found = both(root, "foo")
        assert files_of(found) == ["a.py"]
        said = "1 file that cannot be read (shut.py), 1 folder that cannot be read (locked)"
        assert found.summary.endswith(f"; not searched: {said}")
        with Workspace(root) as workspace:
            ctx = ToolContext(workspace, NoDocuments(), {}, lambda _, path: path != "denied", str)
            for small in (WITH_RIPGREP, IN_PROCESS):
                listed = list_matching(ctx, ctx.resolve("."), parse_glob("*"), 100, Limits(small=small))
                assert listed.data["files"] == ["a.py", "shut.py"]
                assert listed.summary.endswith("; left out: 1 folder that cannot be read (locked)")
        for name in ("locked", "denied"):
            (root / name).chmod(0o755)

    both(tmp_path, "foo")  # do all late imports here
    as_somebody_else(work)


def test_a_configuration_of_ripgrep_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ripgrep must not run a program: `--pre` in a configuration file, or in a pattern that looks like an option."""
    ran, hook, config = tmp_path / "ran", tmp_path / "hook", tmp_path / "config"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    config.write_text(f"--pre={hook}\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    grown(tmp_path / "shop", {"a.py": b"foo --pre", ".ignore": b"*", ".ripgreprc": config.read_bytes()})
    assert "a.py" in files_of(both(tmp_path / "shop", "foo"))
    assert files_of(both(tmp_path / "shop", f"--pre={hook}|foo"))
    assert not ran.exists()


def test_ripgrep_of_the_project_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "rg"
    grown(tmp_path, {"bin/rg": b"#!/bin/sh\ntouch ../ran\n"})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:bin:{os.environ['PATH']}")
    with Workspace(tmp_path) as workspace:
        assert find_ripgrep(workspace) != str(program)


def test_a_search_whose_time_is_over_says_so(tmp_path: Path) -> None:
    grown(tmp_path, {"a.py": b"foo"})
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        query = Query(parse_pattern("foo"), ctx.resolve("."))
        found = search(ctx, query, Limits(seconds=0, small=WITH_RIPGREP))
    assert found.data["truncated"] is True


@pytest.mark.parametrize(
    ("lines", "kept", "gone"),
    [
        (b"[[:upper:]]*", "a.py", "UP.py"),
        (b"a{b}c", "abc", "a{b}c"),
        (b"*.{py,c}", "a.py", "x.{py,c}"),
        (b"[a\\-c]*", "b.py", "-x"),
        (b"*.p*\n!\n", "x.c", "a.py"),
        (b"sub[/]deep", "sub/deep/x", "sub[/]deep"),
        (b"[[:upper:]]*\n![a\\-c]*", "b.py", "UP.py"),
        (b"a.py\x0b", "a.py", "a.py\x0b"),
    ],
)
@pytest.mark.parametrize("name", [".gitignore", "sub/.gitignore", ".git/info/exclude"])
@pytest.mark.usefixtures("persons")
def test_FILE_05_what_ripgrep_reads_otherwise_in_an_ignore_file_counts_as_git_reads_it(
    tmp_path: Path, lines: bytes, kept: str, gone: str, name: str
) -> None:
    shop = repository(tmp_path / "shop")
    below = name.removesuffix(".gitignore") if name.startswith("sub") else ""
    grown(shop, {below + kept: b"foo", below + gone: b"foo", name: lines})
    ignored = git(shop, "check-ignore", "-z", below + kept, below + gone, check=False).split("\0")[:-1]
    assert ignored in ([below + gone], [])
    matched = files_of(both(shop, "foo"))
    assert below + kept in matched
    assert [path for path in ignored if path in matched] == []
    with Workspace(shop) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        found, walked = (
            list_matching(ctx, ctx.resolve("."), parse_glob("**"), 100, Limits(small=small)).data["files"]
            for small in (WITH_RIPGREP, IN_PROCESS)
        )
    assert found == walked
