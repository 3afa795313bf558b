"""Reads that stumble are tried once more, refusals and writes are not; what is too long is cut as the tool says."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest
from bench_runtime import call, intent

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.retry import retry_read
from remit_server.tools.table import TOOLS
from remit_server.workspace.content.transient import TRANSIENT


def failing(*errors: BaseException) -> tuple[list[int], Callable[[], Any]]:
    """A read that fails so, one error after the other, and then gives 7; and the list of its attempts."""
    left, tried = list(errors), list[int]()

    async def read() -> int:
        tried.append(1)
        if left:
            raise left.pop(0)
        return 7

    return tried, read


def caused(code: int) -> ToolError:
    error = ToolError("cannot read it", "the system says so", "wait")
    error.__cause__ = OSError(code, os.strerror(code))
    return error


@pytest.mark.parametrize("code", sorted(TRANSIENT))
async def test_a_read_that_stumbled_is_tried_retry_read(code: int) -> None:
    for error in (OSError(code, "stumbled"), caused(code)):
        tried, read = failing(error)
        noted = list[str]()
        assert await retry_read(read, noted.append) == 7
        assert (len(tried), noted) == (2, [str(error)])


@pytest.mark.parametrize(
    "error", [ToolError("no", "denied", "leave it"), caused(errno.EACCES), OSError(errno.ENOENT, "")]
)
async def test_a_refusal_is_not_tried_again(error: BaseException) -> None:
    tried, read = failing(error)
    noted = list[str]()
    with pytest.raises(type(error)):
        await retry_read(read, noted.append)
    assert (len(tried), noted) == (1, [])


async def test_an_error_that_lasts_is_told_after_two_attempts() -> None:
    tried, read = failing(OSError(errno.EIO, "input/output error"), OSError(errno.EIO, "input/output error"))
    noted = list[str]()
    with pytest.raises(ToolError, match="input/output error, twice"):
        await retry_read(read, noted.append)
    assert len(tried) == 2
    assert len(noted) == 1


async def test_a_write_that_stumbled_is_not_tried_again(make_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    def stumble(*_: Any) -> None:
        tried.append("written")
        raise ToolError("cannot write it", "busy", "wait", code=ErrorCode.READ_ONLY) from OSError(errno.EBUSY, "busy")

    monkeypatch.setattr("remit_server.harness.writes.merger.write_atomically", stumble)
    edit = call("edit_file", path="a.py", old_text="total", new_text="x", replace_all=True)
    bench = await make_bench({"calls": [intent("CODE"), edit]}, {"text": "ok"})
    await bench.ask("go")
    assert tried == ["written"]
    assert bench.of("tool_result")[0].error.code == "read_only"


async def test_a_result_is_cut_at_the_limit_of_its_tool_and_says_so(make_bench: Any) -> None:
    long = f"{'x' * 252}.py"
    bench = await make_bench({"calls": [intent("ANALYZE"), call("get_symbols", path=long)]}, {"text": "ok"})
    (bench.workspace / long).write_text("".join(f"def f{n}(): ...\n" for n in range(100)))
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert len(result.output) == TOOLS["get_symbols"].most_chars
    assert "characters left out …]" in result.output


async def test_a_tool_that_this_run_leaves_out_is_told_with_what_there_is(make_bench: Any) -> None:
    calls = [intent("ANALYZE"), call("search_files", pattern="x"), intent("PLAN"), call("plan_complete")]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    await bench.ask("go", policy={"allow_tools": ["read_file", "list_files"]})
    left_out, missing = bench.of("tool_result")
    assert (left_out.error.code, left_out.error.why) == ("tool_unavailable", "this run was started without it")
    assert left_out.data["tool_name"] == left_out.tool
    assert "current_state" not in left_out.data, "it is not the workflow that leaves it out"
    assert left_out.data["available_tools"]
    assert all(f"{name}" in left_out.error.fix for name in left_out.data["available_tools"])
    assert left_out.error.fix == "use one of: read_file, list_files"
    assert (missing.error.code, missing.error.why) == ("tool_unavailable", "this run was started without it")
    assert missing.error.fix == "select another intent: this one opens no tool here"
