"""A read that leaves something out says so, and how to see it: no file, line or name is left out silently (BOX-06)."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from messages import SAYS

from remit_server.errors import ToolError
from remit_server.tools.files.list_files import LIST_FILES, list_matching
from remit_server.tools.files.long_files import MAX_LINE_BYTES, PIECE_BYTES
from remit_server.tools.files.read_file import READ_FILE, read_lines
from remit_server.tools.search.file_search import MAX_SEARCHED_BYTES, Query
from remit_server.tools.search.line_matches import parse_pattern
from remit_server.tools.search.search_files import SEARCH_FILES, search
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.content.files import read_bytes
from remit_server.workspace.content.open_files import read_in_folder
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.ports import NoDocuments
from remit_server.workspace.trees.path_globs import parse_glob
from remit_server.workspace.trees.walk import Limits

pytestmark = pytest.mark.slow

KEY = "-----BEGIN PRIVATE KEY-----\nneedle\n-----END PRIVATE KEY-----"


def context(workspace: Workspace) -> ToolContext:
    """A context in which `hush` and a key are secrets."""

    def redact(text: str) -> str:
        return text.replace("hush", "[redacted]").replace(KEY, "[redacted]\n\n")

    return ToolContext(workspace, NoDocuments(), {}, lambda _, path: "denied" not in path, redact)


def searched(root: Path, pattern: str, path: str = ".", glob: str | None = None, most: int = 50) -> Outcome:
    with Workspace(root) as workspace:
        ctx = context(workspace)
        query = Query(parse_pattern(pattern), ctx.resolve(path), (glob and parse_glob(glob)) or None, 1, most)
        return search(ctx, query, Limits(seconds=60))


def listed(root: Path, glob: str, most: int = 1_000) -> Outcome:
    with Workspace(root) as workspace:
        ctx = context(workspace)
        return list_matching(ctx, ctx.resolve("."), parse_glob(glob), most, Limits())


def read(root: Path, path: str, offset: int = 1, limit: int = 500) -> Outcome:
    with Workspace(root) as workspace:
        ctx = context(workspace)
        return read_lines(ctx.resolve(path), ctx, offset, limit)


def matches(outcome: Outcome) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(json.dumps(outcome.data["matches"]))
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_that_is_named_is_searched_however_long_it_is(encoding: str, end: str, tmp_path: Path) -> None:
    """With the right lines and context, also where two pieces of the file meet."""
    lines = [f"{'ä' * 60} {number}" for number in range(120_000)]
    with (tmp_path / "m").open("w", encoding=encoding, newline="") as file:
        file.write("".join(line + end for line in lines))
    assert (tmp_path / "m").stat().st_size > PIECE_BYTES
    found = searched(tmp_path, r" \d*[05]0000$", "m")
    assert [match["line"] for match in matches(found)] == [50_001, 100_001]
    assert [match["content"] for match in matches(found)] == [lines[50_000], lines[100_000]]
    assert matches(found)[1]["context_after"] == [lines[100_001]]
    assert found.summary.startswith("2 matches for ")
    assert searched(tmp_path, "ä 7", "m").data["total_matches"] == 11_111 or encoding.startswith("utf-16")


@pytest.mark.parametrize("shift", range(-62, 8, 10))
def test_a_secret_where_two_pieces_of_a_long_file_meet_is_not_found(shift: int, tmp_path: Path) -> None:
    line = "x" * 99 + "\n"
    before = (line * (PIECE_BYTES // 100 + 1))[: PIECE_BYTES + shift - 1] + "\n"
    (tmp_path / "m").write_text(before + KEY + "\nneedle\n" + line * (PIECE_BYTES // 100))
    found = searched(tmp_path, "needle", "m")
    assert [match["line"] for match in matches(found)] == [before.count("\n") + 4]


def test_the_end_of_a_long_file_is_searched_and_what_is_no_text_is_said(tmp_path: Path) -> None:
    for ending in ("", "\n"):
        (tmp_path / "m.txt").write_text("x\n" * 1_100_000 + "NEEDLE" + ending)
        (match,) = matches(searched(tmp_path, "NEEDLE", "m.txt"))
        assert (match["line"], match["context_before"], match["context_after"]) == (1_100_001, ["x"], [])
    (tmp_path / "m.bin").write_bytes(b"x\n" * 3_000_000 + b"NEEDLE\0")
    assert searched(tmp_path, "NEEDLE", "m.bin").summary.endswith("not searched: 1 binary file (m.bin)")
    (tmp_path / "one-line").write_bytes(b"x" * (MAX_LINE_BYTES + MAX_SEARCHED_BYTES))
    with pytest.raises(ToolError, match="a line of more than 16 MB"):
        searched(tmp_path, "NEEDLE", "one-line")


def test_a_binary_file_without_a_match_is_not_told_of(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"NEEDLE\0")
    assert "not searched" in searched(tmp_path, "NEEDLE", "m.bin").summary
    assert "not searched" not in searched(tmp_path, "THREAD", "m.bin").summary


def test_a_binary_file_tells_nothing_of_the_secrets_in_it(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"hush\0")
    assert "binary" not in searched(tmp_path, "hus").summary
    assert "binary" not in searched(tmp_path, "hus", "m.bin").summary


def test_long_lines_are_searched_and_shown_around_the_match(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("y" * 20_000 + "NEEDLE" + "z" * 20_000 + "\n")
    for pattern in ("NEEDLE", "NEE+DLE"):
        (match,) = matches(searched(tmp_path, pattern))
        assert match["content"] == f"(19900 characters) …{'y' * 100}NEEDLE{'z' * 194}… (19806 more characters)"
    (tmp_path / "a.txt").write_text("y" * 1_000_000 + "NEEDLE")
    assert searched(tmp_path, "N[E]{2}DLE").data["total_matches"] == 1


def test_what_is_listed_and_found_fits_in_whole_lines(tmp_path: Path) -> None:
    for number in range(900):
        (tmp_path / f"{number:03}{'x' * 100}.py").write_text("needle " + "n" * 250 + "\n")
    listing = listed(tmp_path, "*.py")
    assert len(listing.text) <= LIST_FILES.most_chars - 900
    names = listing.text.splitlines()[1:]
    assert names == sorted(file.name for file in tmp_path.iterdir())[: len(names)]
    assert listing.summary.startswith(f"first {len(names)} of 900 files")
    assert listing.summary.endswith("narrow the pattern or the path to see others")
    found = searched(tmp_path, "needle", most=500)
    assert len(found.text) <= SEARCH_FILES.most_chars - 900
    shown = [line for line in found.text.splitlines() if line.startswith("1:")]
    assert {len(line) for line in shown} == {259}
    assert f"; the first {len(shown)} are shown, more do not fit: narrow" in found.summary
    assert len(matches(found)) == len(shown) > 50
    assert searched(tmp_path, "needle", most=2).summary.endswith("; the first 2 are shown")


def test_the_head_of_a_read_says_what_is_shown(tmp_path: Path) -> None:
    lines = [f"{number}{'w' * 180}" for number in range(500)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    seen: list[str] = []
    while len(seen) < len(lines):
        page = read(tmp_path, "a.txt", len(seen) + 1)
        assert len(page.text) <= READ_FILE.most_chars - 900
        head, *shown = page.text.splitlines()
        begun, seen = len(seen) + 1, seen + [line.partition("|")[2] for line in shown]
        more = "" if len(seen) == 500 else f"; more with offset {len(seen) + 1}"
        assert head == f"a.txt (lines {begun}-{len(seen)} of 500{more})"
    assert seen == lines


async def test_what_a_tool_fits_into_its_limit_is_not_cut_again(make_bench: Any) -> None:
    looks = [call("read_file", path="a.txt"), call("list_files", pattern="*", max_results=1_000)]
    looks += [call("search_files", pattern="w", max_results=500)]
    bench = await make_bench({"calls": [intent("ANALYZE"), *looks]}, {"text": "ok"})
    (bench.workspace / "a.txt").write_text(f"{'w' * 187}\n" * 500)
    for number in range(500):
        (bench.workspace / f"{'f' * 50}{number}").touch()
    await bench.ask("go")
    results = bench.of("tool_result")
    assert len(results) == 3
    for result in results:
        assert result.ok
        assert "left out …]" not in result.output


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("grün\n".encode("cp1252"), "; not UTF-8, read as cp1252, which is a guess)"),
        (b"one\nb\xc3\xa4d \xff byte\n", "which is a guess)"),
        ("これは".encode("cp932"), "which is a guess)"),
        ("grün\n".encode("utf-16"), "; in utf-16-le)"),
        ("grün\n".encode(), "of 1)"),
        ("grün\n".encode("utf-8-sig"), "of 1)"),
    ],
)
def test_a_read_names_the_encoding_that_was_taken(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert read(tmp_path, "a.txt").text.splitlines()[0].endswith(said)


def test_names_that_cannot_be_shown_are_counted(tmp_path: Path) -> None:
    for name in (b"f\xff.py", b"g\n.py", b"h.py", b"denied\xff.py", b"other\xff"):
        (tmp_path / os.fsdecode(name)).write_text("needle\n")
    (tmp_path / os.fsdecode(b"folder\xff")).mkdir()
    (tmp_path / os.fsdecode(b"folder\xff/i.py")).write_text("needle\n")
    (tmp_path / ".gitignore").write_text("*\N{REPLACEMENT CHARACTER}*x\n")
    listing = listed(tmp_path, "*.py")
    assert listing.text == "1 file match `*.py` in .; 3 more files match, with names that cannot be shown\nh.py"
    found = searched(tmp_path, "needle")
    assert [match["file"] for match in matches(found)] == ["h.py"]
    assert found.summary.endswith("; 4 more files match, with names that cannot be shown")
    assert found.text.isprintable() or found.text.replace("\n", "").isprintable()


@pytest.mark.parametrize("glob", ["[a", "{a,b", "src/[a/b]", "x[!", "../*", "src/../*.py"])
def test_a_glob_that_can_match_nothing_is_an_error(glob: str) -> None:
    with pytest.raises(ToolError, match="cannot use the pattern"):
        parse_glob(glob)


@pytest.mark.parametrize(
    ("glob", "name"), [("[[]id].tsx", "[id].tsx"), ("[{]a", "{a"), ("[]a]", "]"), ("{a,b}.py", "b.py"), ("a}", "a}")]
)
def test_a_glob_with_brackets_that_are_closed_is_none(glob: str, name: str) -> None:
    assert parse_glob(glob).matches(name)


def test_where_nothing_can_match_the_reason_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    (tmp_path / "denied.md").write_text("one\n")
    for pattern in ("one\ntwo", r"one\ntwo", r"one\\\ntwo"):
        assert SAYS.a_line_end_in_the in searched(tmp_path, pattern).summary
    for pattern in (r"one\\ntwo", "three"):
        assert "line end" not in searched(tmp_path, pattern).summary
    for glob in ("*.rb", "*.md", f"{tmp_path}/*.py"):
        assert f"no file below . matches the file_pattern `{glob}`" in searched(tmp_path, "one", glob=glob).summary
    assert "file_pattern" not in searched(tmp_path, "three", glob="*.py").summary
    assert SAYS.at_its_beginning_stands_for in searched(tmp_path, "one", glob="/tmp/*.py").summary
    assert SAYS.at_its_beginning_stands_for in listed(tmp_path, f"{tmp_path}/*.py").summary


def test_a_file_that_the_system_failed_for_a_moment_is_tried_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("needle\n")
    tried = list[str]()

    def stumble(folder: int, path: str, *others: Any) -> bytes | None:
        tried.append(path)
        if path != "c.py":
            raise OSError(errno.EIO, "stumbled")
        return read_in_folder(folder, path, *others)

    def stay_away(workspace: Workspace, path: WorkspacePath, most: int) -> bytes:
        tried.append(path.relative)
        if path.relative == "b.py":
            raise OSError(errno.EIO, "stumbled again")
        return read_bytes(workspace, path, most)

    monkeypatch.setattr("remit_server.tools.search.file_search.read_in_folder", stumble)
    monkeypatch.setattr("remit_server.tools.search.file_search.read_bytes", stay_away)
    found = searched(tmp_path, "needle")
    assert tried == ["a.py", "b.py", "c.py", "a.py", "b.py"]
    assert [match["file"] for match in matches(found)] == ["a.py", "c.py"]
    assert found.summary.endswith("; not searched: 1 file that cannot be read (b.py)")
