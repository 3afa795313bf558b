"""A file keeps its one byte order mark, whatever text a tool is given (INT-01)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Bench, call, intent

MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "m.txt", "content": "\ufefftwo\n"}),
        ("write_file", {"path": "m.txt", "content": "two\n"}),
        ("edit_file", {"path": "m.txt", "old_text": "one", "new_text": "\ufefftwo"}),
        ("apply_diff", {"diff": "--- a/m.txt\n+++ b/m.txt\n@@ -1 +1 @@\n-one\n+\ufefftwo\n"}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
async def test_a_mark_is_not_doubled(make_bench: Any, name: str, arguments: dict[str, str], encoding: str) -> None:
    bench: Bench = await make_bench({"calls": [intent("CODE"), call(name, **arguments)]}, {"text": "ok"})
    (bench.workspace / "m.txt").write_bytes("one\n".encode(encoding))
    await bench.ask("go")
    assert (bench.workspace / "m.txt").read_bytes() == "two\n".encode(encoding)


async def test_a_new_file_gets_the_mark_it_is_given(make_bench: Any) -> None:
    step = call("write_file", path="m.txt", content="\ufefftwo\n")
    bench: Bench = await make_bench({"calls": [intent("CODE"), step]}, {"text": "ok"})
    await bench.ask("go")
    assert (bench.workspace / "m.txt").read_bytes() == MARK + b"two\n"


async def test_a_mark_that_was_there_twice_stays_so(make_bench: Any) -> None:
    step = call("edit_file", path="m.txt", old_text="one", new_text="two")
    bench: Bench = await make_bench({"calls": [intent("CODE"), step]}, {"text": "ok"})
    (bench.workspace / "m.txt").write_bytes(MARK + MARK + b"one\n")
    await bench.ask("go")
    assert (bench.workspace / "m.txt").read_bytes() == MARK + MARK + b"two\n"
