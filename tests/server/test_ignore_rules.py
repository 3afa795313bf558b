"""Ignore files are read as git reads them, whatever they contain (FILE-05)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from commits import environment
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit_server.workspace.trees.ignore import IgnoreRules, parse_ignore_file

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

NAMES = (
    *(b"a", b"b", b"ab", b"a.py", b"k.LOG", b" lead", b"trail ", b"a\\b", b"[x]", b"a{b}c", b"#a", b"!a", b"\xc3"),
    *("ü".encode(), b"1", b"-e", b"new\nline", b"a\tb", b"st*r"),
)
PATTERNS = (
    *(b"a", b"*.py", b"!*.py", b"a/", b"/a", b"a/b", b"**/b", b"a/**", b"a/**/b", b"/*", b"!/a", b"*/", b"?", b"[!a]*"),
    *(b" lead", b"trail ", b"trail\\ ", b"a\\", b"\\#a", b"\\!a", b"[[:alpha:]]", b"*.[[:upper:]]*", b"[[:none:]]"),
    *(
        b"[a\\-c]*",
        b"[z-a]",
        b"[abc",
        b"[]x]*",
        b"a**b",
        b"a**/b",
        b"***",
        b"a/***",
        b"**",
        b"/**",
        b"a{b}c",
        b"*.{py,b}",
    ),
    *(
        b"\xc3",
        b"\xc3*",
        b"a[/]b",
        b"!",
        b"/",
        b"",
        b"a//b",
        b"a\tb",
        b"a\t",
        b"#a",
        b"[x]",
        b"\\[x\\]",
        b"st\\*r",
        b"ab\x0c",
    ),
)
PATHS = [*NAMES[10:], *(folder + b"/" + name for folder in NAMES[:10] for name in NAMES), b"u/a/b/a.py", b"u/b/a/k.LOG"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True, env=environment(folder))
    for path in PATHS:
        where = folder / os.fsdecode(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.touch()
    return folder


def ignored(rules: IgnoreRules, path: str) -> bool:
    """Returns whether the path or one of the folders above it is ignored."""
    above = (path[: end + 1] for end, sign in enumerate(path) if sign == "/")
    return any(rules.ignores(each) for each in above) or bool(rules.ignores(path))


LISTS = st.builds(
    lambda mark, lines, end, last: mark + end.join(lines) + last,
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from(PATTERNS), max_size=5),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n"]),
)


@settings(max_examples=examples(100), deadline=None)
@given(LISTS, st.booleans())
@example(b"[[:alpha:]]", False)
@example(b" lead\n[a\\-c]*\n\xc3", False)
@example(b"a**/b", False)
@example(b"a/**\n!*.py", False)
@example(b"*.[[:upper:]]*\n[[:upper:]]", True)
def test_FILE_05_a_list_ignores_what_git_ignores_by_it(shop: Path, data: bytes, fold: bool) -> None:
    (shop / ".gitignore").write_bytes(data)
    asked = subprocess.run(
        ["git", "-c", f"core.ignoreCase={str(fold).lower()}", "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=shop,
        input=b"".join(b"./" + path + b"\0" for path in PATHS),
        capture_output=True,
        check=False,
        env=environment(shop),
    )
    assert asked.returncode in {0, 1}
    rules = parse_ignore_file(data, fold=fold)
    found = {path for path in PATHS if ignored(rules, os.fsdecode(path))}
    assert found == {path.removeprefix(b"./") for path in asked.stdout.split(b"\0") if path}


def test_FILE_05_a_line_that_is_too_long_is_told_of() -> None:
    rules = parse_ignore_file(b"a" * 1001 + b"\nb\n")
    assert (rules.cut, rules.ignores("b"), rules.ignores("a" * 1001)) == (True, True, None)
