"""`read_file` shows any lines of a file of any length (TOOL-03)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from remit_server.errors import ToolError
from remit_server.tools.files.long_files import PIECE_BYTES
from remit_server.tools.files.read_file import read_lines
from remit_server.tools.spec import Outcome, ToolContext
from remit_server.workspace.content.files import MAX_FILE_BYTES
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments


def read(root: Path, offset: int, limit: int = 3) -> Outcome:
    with Workspace(root) as workspace:
        ctx = ToolContext(
            workspace, NoDocuments(), {}, lambda *_: True, lambda text: text.replace("hush", "[redacted]")
        )
        return read_lines(ctx.resolve("x"), ctx, offset, limit)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_TOOL_03_a_slice_of_a_file_that_is_too_long_to_be_edited(encoding: str, tmp_path: Path) -> None:
    count = MAX_FILE_BYTES // 40
    lines = [f"é line {number:07} of a very long file, hush" for number in range(1, count + 1)]
    data = "\r\n".join(lines).encode(encoding)
    (tmp_path / "x").write_bytes(data)
    assert len(data) > MAX_FILE_BYTES
    for offset in (1, 2, PIECE_BYTES // 47, count // 2, count - 2):
        expected = [f"{n}|é line {n:07} of a very long file, [redacted]" for n in range(offset, offset + 3)]
        assert read(tmp_path, offset).text.split("\n")[1:] == expected
    # A range of lines that goes beyond the end of a piece.
    whole = read(tmp_path, 80_000, 5_000)
    assert whole.data["last_line"] == 80_000 + len(whole.text.split("\n")) - 2
    assert whole.data["total_lines"] == count
    assert whole.data["digest"] == "sha256:" + hashlib.sha256(data).hexdigest()
    with pytest.raises(ToolError, match=f"it has {count} lines"):
        read(tmp_path, count + 1)


def test_TOOL_03_a_long_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"text\n" * (MAX_FILE_BYTES // 5) + b"\0" * 100)
    with pytest.raises(ToolError, match="it is a binary file"):
        read(tmp_path, 1)
