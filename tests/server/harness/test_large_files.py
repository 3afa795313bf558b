"""A file that is too large to be read can be deleted and moved: bound by its digest, and shown as too large
(INT-01)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from messages import SAYS

from remit_server.errors import ToolError
from remit_server.tools.edit.delete_file import DELETE_FILE, DeleteFileArguments
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import MAX_FILE_BYTES, MAX_KNOWN_BYTES
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import OpenDocument

LARGE = b"0123456789abcde\n" * (MAX_FILE_BYTES // 16) + b"more\n"
CALLS = {"delete_file": {"path": "big"}, "move_file": {"path": "big", "new_path": "to/big"}}


async def with_large(make_bench: Any, tool: str, policy: str | None = None) -> Bench:
    steps = {"calls": [intent("CODE"), call(tool, **CALLS[tool])]}, {"text": "ok"}
    bench: Bench = await make_bench(*steps, policy=policy)
    (bench.workspace / "big").write_bytes(LARGE)
    (bench.workspace / "big").chmod(0o750)
    return bench


async def test_a_large_file_is_deleted_after_its_size_was_shown(make_bench: Any) -> None:
    bench = await with_large(make_bench, "delete_file")
    asker = Answering()
    await bench.ask("go", asker=asker)
    assert not (bench.workspace / "big").exists()
    (diff,) = asker.asked[0].diffs
    assert diff.diff == f"(too large to show: only its digest is shown, of {len(LARGE)} bytes)\n"
    assert f"deleted big, {len(LARGE)} bytes" in bench.of("tool_result")[0].output


async def test_a_large_file_is_moved_with_its_mode(make_bench: Any) -> None:
    bench = await with_large(make_bench, "move_file")
    asker = Answering()
    await bench.ask("go", asker=asker)
    moved = bench.workspace / "to/big"
    assert (moved.read_bytes() == LARGE, moved.stat().st_mode & 0o777) == (True, 0o750)
    assert not (bench.workspace / "big").exists()
    (diff,) = asker.asked[0].diffs
    assert diff.before_digest == diff.after_digest is not None


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("other", [LARGE[:-2] + b"E\n", LARGE + b"x", LARGE[:-1], b""])
async def test_thr_approvals_a_large_file_that_changed_while_the_question_was_open(
    make_bench: Any, tool: str, other: bytes
) -> None:
    """THR-approvals-swapped: only the file that was asked about is deleted or moved."""
    bench = await with_large(make_bench, tool)
    target = bench.workspace / "big"
    asker = Answering(before=lambda: target.write_bytes(other) and None, later="deny")
    await bench.ask("go", asker=asker)
    assert bench.of("tool_result")[0].error.code == "approval_denied"
    assert len({question.diffs[0].before_digest for question in asker.asked}) == 2
    assert target.read_bytes() == other


async def test_the_size_of_a_large_file_counts_where_it_is_moved_to(make_bench: Any) -> None:
    policy = (
        "capabilities:\n"
        "  - name: all\n    match: { syscall: [fs.read, fs.write] }\n    action: allow\n"
        f"    constraints: {{ max_file_size: {len(LARGE) - 1}B }}\n"
    )
    bench = await with_large(make_bench, "move_file", policy)
    await bench.ask("go")
    assert bench.of("tool_result")[0].error.code == "denied"
    assert (bench.workspace / "big").exists()


async def test_a_file_that_is_too_large_even_for_that_says_so(make_bench: Any) -> None:
    bench = await with_large(make_bench, "delete_file")
    with (bench.workspace / "big").open("r+b") as file:
        file.truncate(MAX_KNOWN_BYTES + 1)
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert result.error.code == "too_large"
    assert SAYS.ask_the_person_to_do in result.output
    assert (bench.workspace / "big").exists()


class OneOpen:
    """An editor that has the large file open."""

    def get(self, relative: str) -> OpenDocument | None:
        return OpenDocument(1, LARGE.decode()) if relative == "big" else None

    def paths(self) -> tuple[str, ...]:
        return ("big",)

    async def look(self, relatives: Sequence[str]) -> None:
        del relatives

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        raise AssertionError


async def test_a_large_file_that_is_open_in_the_editor_stays(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(LARGE)
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, OneOpen(), {}, lambda *_: True, str)
        with pytest.raises(ToolError) as refused:
            await DELETE_FILE.prepare(DeleteFileArguments(path="big"), ctx)
    assert refused.value.code == "stale"
