"""Whose change a commit's bytes are (FLW-10): the session's, if its changes lead from the last commit to these
bytes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remit_server.harness.stages.commit_review import foreign_paths
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import FileImage, digest_of
from remit_server.workspace.history import PastChange, PastTurn
from remit_server.workspace.paths.workspace_path import WorkspacePath

TEXTS = st.sampled_from([None, b"", b"a", b"b", b"c"])
EDITS = st.lists(st.tuples(st.booleans(), TEXTS), max_size=8)


def digest(data: bytes | None) -> str | None:
    return None if data is None else digest_of(data)


@given(TEXTS, EDITS)
def test_FLW_10_a_file_is_the_sessions_where_nobody_else_changed_it_since_it_was_as_committed(
    committed: bytes | None, edits: list[tuple[bool, bytes | None]]
) -> None:
    """Compared with a simpler rule: nobody else has edited the file since it was last as committed."""
    now, turns, others = committed, [], False
    for by_session, text in edits:
        if text == now:
            continue
        if by_session:
            turns.append(PastTurn("t", (PastChange("f", digest(now), digest(text)),)))
        others = text != committed and (others or not by_session)
        now = text
    if now == committed:
        return
    before = None if committed is None else FileImage(committed, digest_of(committed))
    change = FileChange(WorkspacePath("f", Path("/w")), before, now)
    # Another's edit with the same result as the session's own cannot be told from it, so `<=` and not `==`.
    assert bool(foreign_paths([change], turns)) <= others
    if not turns:
        assert foreign_paths([change], turns) == ("f",)


def test_FLW_10_a_file_that_was_moved_is_the_sessions_at_both_ends() -> None:
    turn = PastTurn("t", (PastChange("new", digest(b"a"), digest(b"a"), moved_from="old"),))
    image = FileImage(b"a", digest_of(b"a"))
    root = Path("/w")
    gone, made = FileChange(WorkspacePath("old", root), image, None), FileChange(WorkspacePath("new", root), None, b"a")
    assert foreign_paths([gone, made], [turn]) == ()
    assert foreign_paths([FileChange(WorkspacePath("new", root), None, b"b")], [turn]) == ("new",)
