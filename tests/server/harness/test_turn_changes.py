"""The end of a turn reports what the turn changed, however the changes were made (AGT-15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.contract import FileOutcome
from remit_server.harness.turn_changes import TurnChanges
from remit_server.runtime.turns.ended_calls import changed_files, changed_in_all
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import FileImage, digest_of
from remit_server.workspace.history import PastChange
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

PATHS = ("a", "b", "c")


def at(root: Workspace, path: str) -> WorkspacePath:
    return root.resolve(path)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace"))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(PATHS), st.sampled_from(PATHS), st.sampled_from([None, b"", b"1\n", b"1\n2\n", b"2\n", b"\xff"])
    ),
    max_size=8,
)


@given(STEPS, st.dictionaries(st.sampled_from(PATHS), st.sampled_from([b"1\n", b"2\n3\n"])))
@settings(max_examples=examples(300), deadline=None)
def test_AGT_15_it_is_the_difference_of_before_and_after(root: Workspace, steps: Any, before: dict[str, bytes]) -> None:
    """Whatever was written, moved and removed meanwhile: exactly the files that differ are named."""
    changes, now = TurnChanges(), dict(before)
    for path, other, data in steps:
        image = None if path not in now else FileImage(now[path], digest_of(now[path]))
        if image is not None and other != path and other not in now:
            changes.note(FileChange(at(root, other), image, image.data, moved_from=at(root, path)))
            now[other] = now.pop(path)
        else:
            changes.note(FileChange(at(root, path), image, data))
            now.pop(path, None)
            now |= {} if data is None else {path: data}
    named = changes.summary()
    left = [each.moved_from for each in named if each.moved_from]
    assert {each.path for each in named} | {*left} == {path for path in PATHS if before.get(path) != now.get(path)} | {
        *left
    }
    for each in named:
        old, new = before.get(each.moved_from or each.path, b""), now.get(each.path, b"")
        if each.added is not None and each.removed is not None:
            assert each.added - each.removed == new.count(b"\n") - old.count(b"\n")
        assert (each.how == "created") == (each.path not in before and each.moved_from is None)
        assert (each.how == "deleted") == (each.path not in now)


@given(STEPS)
@settings(max_examples=examples(100), deadline=None)
def test_AGT_15_what_a_session_kept_of_changes_sums_up_to_the_same(root: Workspace, steps: Any) -> None:
    """A process that goes on knows digests and kept contents only (TRN-33); what is as before was not changed."""
    noted, past, now, kept = TurnChanges(), TurnChanges(), dict[str, bytes](), dict[str, bytes]()
    for path, other, data in steps:
        old = now.get(path)
        kept |= {digest_of(each): each for each in (old, data) if each is not None}
        image = None if old is None else FileImage(old, digest_of(old))
        before, after = (None if each is None else digest_of(each) for each in (old, data))
        if old is not None and other != path and other not in now:
            noted.note(FileChange(at(root, other), image, old, moved_from=at(root, path)))
            past.note_past(PastChange(other, before, before, moved_from=path), kept.get)
            now[other] = now.pop(path)
        else:
            noted.note(FileChange(at(root, path), image, data))
            past.note_past(PastChange(path, before, after), kept.get)
            now = {name: each for name, each in now.items() if name != path} | ({} if data is None else {path: data})
    assert past.summary() == noted.summary()
    past.forget_unchanged(dict.fromkeys(PATHS))
    assert past.summary() == ()


async def test_AGT_15_a_turn_ends_with_its_files(make_bench: Any) -> None:
    first = call("write_file", path="new/b.py", content="1\n2\n")
    again = call("edit_file", path="new/b.py", old_text="2", new_text="3")
    bench = await make_bench(
        {"calls": [intent("CODE"), first]},
        {"calls": [intent("CODE"), again]},
        {"calls": [intent("CODE"), call("edit_file", path="a.py", old_text="for n", new_text="for m")]},
        {"text": "ok"},
    )
    result = await bench.ask("go")
    assert result.changes == (
        FileOutcome(path="a.py", how="changed", added=1, removed=1),
        FileOutcome(path="new/b.py", how="created", added=2, removed=0),
    )
    assert result.taken_back_by == "undo"
    assert [*changed_files(result.changes)] == ["a.py +1 −1", "new/b.py +2 −0 (new)"]
    assert changed_in_all(result.changes) == "2 files changed, +3 −1"


async def test_AGT_15_what_a_command_wrote_is_told_and_that_it_failed(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="echo 1 > made.txt; exit 3")]},
        {"text": "All is well."},
    )
    result = await bench.ask("go")
    assert result.changes == (FileOutcome(path="made.txt", how="created", added=1, removed=0),)
    assert (result.status, "exit code 3" in (result.reason or "")) == ("completed", True)


async def test_AGT_15_a_command_that_went_well_at_last_did_not_fail(make_bench: Any) -> None:
    run = call("run_command", command="test -e .once || { touch .once; exit 1; }")
    bench = await make_bench({"calls": [intent("EXECUTE"), run]}, {"calls": [intent("EXECUTE"), run]}, {"text": "ok"})
    assert (await bench.ask("go")).reason is None


async def test_AGT_15_nothing_is_said_of_what_was_taken_back(make_bench: Any) -> None:
    there = call("edit_file", path="a.py", old_text="for n", new_text="for m")
    back = call("edit_file", path="a.py", old_text="for m", new_text="for n")
    bench = await make_bench({"calls": [intent("CODE"), there]}, {"calls": [intent("CODE"), back]}, {"text": "ok"})
    assert (await bench.ask("go")).changes == ()


def test_many_files_are_counted(tmp_path: Path) -> None:
    del tmp_path
    many = [FileOutcome(path=f"{number}", how="changed") for number in range(30)]
    assert [*changed_files(many)][-1] == "and 10 files more"
    assert changed_in_all(many) == "30 files changed"
