"""Generated edits of real source files give the expected bytes, with `edit_file` and with `apply_diff` (TOOL-04)."""

from __future__ import annotations

import difflib
import random
import re
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from remit_server.tools.edit.apply_diff import APPLY_DIFF, ApplyDiffArguments
from remit_server.tools.edit.edit_file import EDIT_FILE, EditFileArguments
from remit_server.tools.edit.patch.envelope import NO_NEWLINE
from remit_server.tools.spec import ToolContext, WritePlan
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

SOURCES = [path for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")) if path.stat().st_size < 60_000]
LATIN = "# na\xefve caf\xe9\n"

Encode = Callable[[str], bytes]
VARIANTS: Mapping[str, tuple[Callable[[str], str], Encode]] = {
    "as it is": (str, str.encode),
    "CRLF": (str, lambda text: text.replace("\n", "\r\n").encode()),
    "byte order mark": (str, lambda text: text.encode("utf-8-sig")),
    "UTF-16 with CRLF": (str, lambda text: text.replace("\n", "\r\n").encode("utf-16")),
    "Latin-1": (lambda text: LATIN + text.encode("ascii", "replace").decode(), lambda text: text.encode("latin-1")),
    "no final newline": (lambda text: text.rstrip("\n"), str.encode),
}


def lines_of(text: str) -> list[str]:
    r"""Returns the lines with their ends; only `\n` ends a line, because sources may contain form feeds."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def changed(lines: list[str], seeded: random.Random) -> tuple[int, int, list[str]]:
    """Returns a random change: the lines from the first number up to the second are replaced by the returned lines."""
    # Keep the first line, which makes the file Latin-1, and the last one, which has no line end.
    at = seeded.randrange(1, max(2, len(lines) - 1))
    end = min(at + seeded.randint(0, 4), max(at, len(lines) - 1))
    some = [f"    line {seeded.random()}\n", "\n", "\tx = 1  \n", seeded.choice(lines[:-1])]
    return at, end, seeded.choices(some, k=seeded.randint(0, 4))


def unique_part(lines: list[str], at: int, end: int) -> tuple[int, int]:
    """Widens the range from `at` to `end` until the text of its lines occurs only once."""
    content = "".join(lines)
    while (part := "".join(lines[at:end])) == "" or content.find(part) != content.rfind(part):
        at, end = max(0, at - 1), min(len(lines), end + 1)
    return at, end


async def planned(plan: object) -> bytes:
    assert isinstance(plan, WritePlan)
    (change,) = plan.changes
    assert change.after is not None
    return change.after


@pytest.mark.parametrize("edits", [48, pytest.param(500, marks=pytest.mark.slow)])
async def test_edits_of_real_files_come_out_byte_for_byte(edits: int, tmp_path: Path) -> None:
    seeded = random.Random(edits)
    target = tmp_path / "x.py"
    with Workspace(tmp_path) as workspace:
        for number in range(edits):
            made, encode = list(VARIANTS.values())[number % len(VARIANTS)]
            before = made(seeded.choice(SOURCES).read_text(encoding="utf-8", errors="replace"))
            lines = lines_of(before)
            target.write_bytes(encode(before))
            for _ in range(seeded.randint(2, 6)):
                at, end, new = changed(lines, seeded)
                if lines[at:end] == new:
                    continue
                first, last = unique_part(lines, at, end)
                old_text = "".join(lines[first:last])
                new_text = "".join([*lines[first:at], *new, *lines[end:last]])
                if old_text == new_text:
                    continue
                ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
                arguments = EditFileArguments(path="x.py", old_text=old_text, new_text=new_text)
                lines[at:end] = new
                done = await planned(await EDIT_FILE.prepare(arguments, ctx))
                assert done == encode("".join(lines))
                target.write_bytes(done)
            after = "".join(lines)
            if after == before:
                continue
            target.write_bytes(encode(before))
            diff = "".join(
                line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}\n"
                for line in difflib.unified_diff(lines_of(before), lines_of(after), "a/x.py", "b/x.py")
            )
            ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
            assert await planned(await APPLY_DIFF.prepare(ApplyDiffArguments(diff=diff), ctx)) == encode(after)
