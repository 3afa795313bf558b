"""The built-in model edits only the file that was named, and reports only what happened."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from bench_runtime import Answering, Bench, project
from messages import SAYS

from remit_server.agent.offer import MOST_PATHS
from remit_server.contract import ApprovalAnswer, ApprovalRequired, LeftOut

pytestmark = pytest.mark.slow

CODE = "def old_name():\n    return old_name\n"
RENAMED = CODE.replace("old_name", "new_name")
SHARED = ("util.py", "src/a/util.py", "src/b/util.py")


def built_in(folder: Path, *files: str) -> AbstractAsyncContextManager[Bench]:
    """A runtime with the built-in model, in a workspace in which each of `files` has the same code."""
    return project(folder, dict.fromkeys(files, CODE))


def changed(bench: Bench) -> dict[str, str]:
    """Returns the files that have changed, with their text."""
    files = (file for file in bench.workspace.rglob("*") if file.is_file())
    return {file.relative_to(bench.workspace).as_posix(): text for file in files if (text := file.read_text()) != CODE}


@pytest.mark.parametrize("path", SHARED)
@pytest.mark.parametrize(
    "request_", ["Use `new_name` instead of `old_name` throughout {}", "rename old_name to new_name in {}"]
)
async def test_THR_model_of_files_that_share_a_name_the_one_that_is_named_is_edited(
    tmp_path: Path, request_: str, path: str
) -> None:
    async with built_in(tmp_path, *SHARED) as bench:
        result = await bench.ask(request_.format(path))
        assert (result.status, result.final_output) == ("completed", SAYS.renamed_every_occurrence)
        assert changed(bench) == {path: RENAMED}


@pytest.mark.parametrize(
    "place",
    [
        "Makefile",
        "util.py",
        "a/util.py",
        "util",
        "src/a",
        "all of it",
        "src/c/util.py",
    ],
)
async def test_THR_model_a_file_that_is_not_named_is_not_edited(tmp_path: Path, place: str) -> None:
    """If no file has that name, or several files do, the model edits no other one and does nothing else instead."""
    async with built_in(tmp_path, "src/a/util.py", "src/b/util.py") as bench:
        result = await bench.ask(f"Use `new_name` instead of `old_name` throughout {place}", asker=Answering())
        assert changed(bench) == {}
        assert result.status == "declined"
        assert result.final_output is not None
        assert result.final_output.startswith(("I stopped: ", "Which file"))
        assert "run_command" not in {event.tool for event in bench.of("tool_call")}
        assert result.reason


@pytest.mark.parametrize(
    "sentence",
    ["Use `new_name` instead of `old_name` throughout {}", "rename old_name to new_name in {}"],
)
async def test_MOD_23_of_two_files_that_are_named_each_is_edited(tmp_path: Path, sentence: str) -> None:
    async with built_in(tmp_path, "src/a/util.py", "src/b/util.py", "src/c/util.py") as bench:
        result = await bench.ask(sentence.format("src/a/util.py and src/b/util.py"))
        assert result.status == "completed"
        assert changed(bench) == {"src/a/util.py": RENAMED, "src/b/util.py": RENAMED}


async def test_THR_model_in_a_tree_too_large_to_list_several_named_files_are_no_guess_either(tmp_path: Path) -> None:
    async with built_in(tmp_path, "src/a/util.py", "src/b/util.py") as bench:
        (bench.workspace / "many").mkdir()
        for number in range(MOST_PATHS):
            (bench.workspace / "many" / f"f{number}").touch()
        result = await bench.ask("rename old_name to new_name in util.py")
        assert result.status == "declined"
        assert all((bench.workspace / path).read_text() == CODE for path in ("src/a/util.py", "src/b/util.py"))
        result = await bench.ask("rename old_name to new_name in src/b/util.py")
        assert (result.status, (bench.workspace / "src/b/util.py").read_text()) == ("completed", RENAMED)
        result = await bench.ask('create a file hi.txt with the content "hi"')
        assert (result.status, (bench.workspace / "hi.txt").read_text()) == ("completed", "hi\n")


@pytest.mark.parametrize(
    "asked",
    [
        "set LIMIT to 5",
        "delete the function old_name",
        "add a docstring to old_name",
        "replace old_name with new_name",
        "make old_name better",
        "swap old_name for new_name everywhere",
    ],
)
async def test_B6_naming_a_place_is_no_answer_to_a_change(tmp_path: Path, asked: str) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        result = await bench.ask(asked, asker=Answering("deny"))
        assert result.status in {"declined", "denied"}
        assert changed(bench) == {}
        assert "It is defined" not in (result.final_output or "")


async def test_B6_without_any_tool_it_declines(tmp_path: Path) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        result = await bench.ask("rename old_name to new_name in util.py", policy={"allow_tools": []})
        assert (result.status, changed(bench)) == ("declined", {})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("explain old_name in util.py", "I stopped: I follow fixed patterns, and none answers"),
        ("rename not_there to new_name in util.py", "I stopped: nothing was changed."),
    ],
)
async def test_B6_a_turn_that_did_nothing_is_declined(tmp_path: Path, asked: str, said: str) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        result = await bench.ask(asked)
        assert (result.status, result.error) == ("declined", None)
        assert result.final_output is not None
        assert result.final_output.startswith(said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [("where is old_name defined", "It is defined in util.py, line 1."), ("where is no_name defined", "I stopped: no")],
)
async def test_B6_a_question_that_was_answered_is_completed(tmp_path: Path, asked: str, said: str) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        result = await bench.ask(asked)
        assert result.status == "completed"
        assert result.final_output is not None
        assert result.final_output.startswith(said)


async def test_B6_a_no_to_the_only_change_is_denied(tmp_path: Path) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        result = await bench.ask("rename old_name to new_name in util.py", asker=Answering("deny"))
        assert (result.status, changed(bench)) == ("denied", {})
        assert result.reason == "you said no"
        assert result.final_output is not None
        assert result.final_output.startswith(SAYS.i_stopped_nothing_was_changed)


class TakesTheFirst(Answering):
    """An asker that takes the first hunk of each change, and leaves out the others."""

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        (diff,) = question.diffs
        left_out = tuple(LeftOut(path=diff.path, hunk=number) for number in range(1, diff.hunks))
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow", left_out=left_out)


LONG = CODE + "\n" * 20 + CODE


async def test_AGT_01_what_was_taken_in_part_is_told_as_a_part(tmp_path: Path) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        (bench.workspace / "util.py").write_text(LONG)
        result = await bench.ask("rename old_name to new_name in util.py", asker=TakesTheFirst())
        assert (bench.workspace / "util.py").read_text() == RENAMED + "\n" * 20 + CODE
        assert (result.status, result.final_output) == ("completed", "Changed in part: you took 1 of 2 changes.")
        assert bench.of("tool_result")[-1].summary == "changed util.py in part: 1 of 2 changes"


async def test_AGT_01_of_several_files_a_part_is_told_too(tmp_path: Path) -> None:
    async with built_in(tmp_path, "a.py", "b.py") as bench:
        (bench.workspace / "a.py").write_text(LONG)
        result = await bench.ask("rename old_name to new_name everywhere", asker=TakesTheFirst())
        assert result.final_output == "Changed in part: you left out some of the changes. In 2 files: a.py, b.py."
    async with built_in(tmp_path / "no", "a.py", "b.py") as bench:
        result = await bench.ask("rename old_name to new_name everywhere", asker=Answering(later="deny"))
        assert changed(bench) == {"a.py": RENAMED}
        said = "I stopped at b.py: You said no. Changed before that: a.py."
        assert (result.status, result.final_output) == ("completed", said)


async def test_AGT_01_what_waits_for_its_review_is_not_told_as_done(tmp_path: Path) -> None:
    async with built_in(tmp_path, "util.py") as bench:
        bench.runtime.edits("s", "turn")
        result = await bench.ask("rename old_name to new_name in util.py", asker=Answering("deny"))
        assert (result.status, changed(bench)) == ("denied", {})
        assert result.final_output == "Proposed. Your review decides what is written."


@pytest.mark.parametrize(
    ("path", "code"), [(".env", "denied"), ("conf/.env.local", "denied"), ("gone.py", "not_found")], ids=str
)
@pytest.mark.parametrize("request_", ["show me {}", "set LIMIT to 80 in {}", "replace 'a' with 'b' in {}"])
async def test_A3_why_a_named_file_cannot_be_opened_is_what_the_call_says(
    tmp_path: Path, request_: str, path: str, code: str
) -> None:
    async with built_in(tmp_path, "util.py", ".env", "conf/.env.local") as bench:
        result = await bench.ask(request_.format(path))
        assert result.status == ("denied" if code == "denied" else "declined")
        (call,) = bench.of("tool_result")
        assert call.error.code == code
        assert call.error.why.rstrip(".") in str(result.final_output) or call.error.what in str(result.final_output)
        assert changed(bench) == {}


@pytest.mark.parametrize("path", ["~/util.py", "/util.py", "/etc/passwd.txt", "../util.py", "C:/util.py"])
@pytest.mark.parametrize("request_", ["show me {}", "delete {}", "set LIMIT to 80 in {}"])
async def test_THR_model_a_path_from_elsewhere_names_no_file_of_the_workspace(
    tmp_path: Path, request_: str, path: str
) -> None:
    """Even if a file with that name exists in the workspace, but is not among the known files."""
    async with built_in(tmp_path, "src/other.py") as bench:
        (bench.workspace / ".gitignore").write_text("util.py\n")
        (bench.workspace / "util.py").write_text(CODE)
        await bench.ask(request_.format(path))
        named = [event.arguments["path"] for event in bench.of("tool_call") if "path" in event.arguments]
        assert named in ([], [path])
        assert (bench.workspace / "util.py").read_text() == CODE
