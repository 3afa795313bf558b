"""invariant 5: a file that a command moved to a forbidden place stays where it was, and no content is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS

from remit_server.harness.commands.classify_changes import Dropped, find_held_back
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import image_of_text
from remit_server.workspace.paths.workspace_path import WorkspacePath

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")

OWN = "one\ntwo\nthree\nfour\n"
POLICY = """capabilities:
  - { name: run, match: { syscall: process.exec }, action: allow }
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: built, match: { syscall: fs.write, path_glob: ["dist/**"] }, action: require_review }
  - { name: docs, match: { syscall: fs.write, path_glob: ["docs/**"] }, action: require_review }
  - { name: logs, match: { syscall: fs.write, path_glob: ["*.log"] }, action: require_review }
  - { name: kept, match: { syscall: fs.write, path_glob: ["kept/**"] }, action: deny }
  - { name: w, match: { syscall: fs.write, path_glob: ["**"] }, action: allow }
"""


async def after(make_bench: Any, command: str, *files: str, decision: str = "deny") -> Bench:
    """Runs a command with each question answered by `decision`, and returns the bench."""
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="make -s it")]}, {"text": "ok"}, policy=POLICY
    )
    for name in ("own.txt", *files):
        (bench.workspace / name).parent.mkdir(exist_ok=True)
        (bench.workspace / name).write_text(OWN)
    (bench.workspace / ".gitignore").write_text("dist/\n*.log\n")
    (bench.workspace / "Makefile").write_text("it:\n\tsh work.sh\n")
    (bench.workspace / "work.sh").write_text(command)
    await bench.ask("go", asker=Answering(decision=decision))
    return bench


@needs_bwrap
@pytest.mark.parametrize(
    "command",
    [
        "mv own.txt t && mkdir own.txt && mv t own.txt/inner",
        "mv own.txt \"$(printf 'caf\\351')\"",
        "mv own.txt \"$(printf 'two\\nlines')\"",
        "mkdir kept; mv own.txt kept/",
        "mkdir kept; mv own.txt kept/; echo more >> kept/own.txt",
        "mkdir dist; mv own.txt dist/; echo more >> dist/own.txt",
        "mkdir docs; mv own.txt docs/",
        "mv own.txt it.log; touch own.txt",
        "mkdir kept; mv own.txt kept/; echo other > own.txt",
        "rm own.txt; mkdir own.txt; echo in > own.txt/f",
        "mkdir -p $(seq -s / 200); mv own.txt $(seq -s / 200)/",
        "cp own.txt big; truncate -s 70M big; rm own.txt",
    ],
)
async def test_what_was_moved_to_where_it_may_not_be_stays(make_bench: Any, command: str) -> None:
    bench = await after(make_bench, command)
    assert (bench.workspace / "own.txt").read_text() == OWN
    assert SAYS.not_taken_over in bench.of("tool_result")[0].output


@needs_bwrap
async def test_a_folder_stays_where_a_file_took_its_place(make_bench: Any) -> None:
    bench = await after(make_bench, "rm -rf sub; echo f > sub", "sub/a", "sub/b")
    assert [(bench.workspace / f"sub/{name}").read_text() for name in "ab"] == [OWN, OWN]


@needs_bwrap
@pytest.mark.parametrize(
    ("command", "decision", "text"),
    [
        ("mkdir docs; mv own.txt docs/", "allow", None),
        ("mv own.txt moved.txt", "deny", None),
        ("rm own.txt; mkdir dist; echo built > dist/b", "deny", None),
        ("rm own.txt; ln -s Makefile link", "deny", None),
        ("cp own.txt own.log; sed -i s/two/2/ own.txt", "deny", OWN.replace("two", "2")),
        ("mkdir kept; echo x > kept/x; echo new > own.txt", "deny", "new\n"),
    ],
)
async def test_what_was_only_removed_or_edited_goes_through(
    make_bench: Any, command: str, decision: str, text: str | None
) -> None:
    bench = await after(make_bench, command, decision=decision)
    own = bench.workspace / "own.txt"
    assert (own.read_text() if own.exists() else None) == text


CONTENTS = st.lists(st.sampled_from(["a", "b", "c", "d", "  a", ""]), max_size=6).map("\n".join)


def removal(path: str, text: str) -> FileChange:
    return FileChange(WorkspacePath(path, Path("/w")), image_of_text(text), None)


@given(st.dictionaries(st.sampled_from("xyz"), CONTENTS), st.lists(CONTENTS, max_size=3), st.booleans())
def test_no_content_that_is_nowhere_else_goes(own: dict[str, str], vanished: list[str], unread: bool) -> None:
    gone = [Dropped(f"new/{number}", text.encode()) for number, text in enumerate(vanished)]
    more = [Dropped("new/more", None)] if unread else []
    held = find_held_back([removal(*each) for each in own.items()], [*gone, *more])
    for path, text in own.items():
        if text and (unread or text in vanished):
            assert path in held
    assert not find_held_back([removal(*each) for each in own.items()], [])
