"""A read that fails is tried once more, refusals and writes are not; output that is too long is cut as the tool
says."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from messages import SAYS
from threat_bench import LAX, own

from remit_governance.audit.record import AuditKind
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.table import TOOLS
from remit_server.workspace.content.open_files import TRANSIENT, retry_read


def failing(*errors: BaseException) -> tuple[list[int], Callable[[], Any]]:
    """Returns a list of its attempts, and a read that raises these errors one by one and then returns 7."""
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

    monkeypatch.setattr("remit_server.harness.stages.write.write_atomically", stumble)
    edit = call("edit_file", path="a.py", old_text="total", new_text="x", replace_all=True)
    bench = await make_bench({"calls": [intent("CODE"), edit]}, {"text": "ok"})
    await bench.ask("go")
    assert tried == ["written"]
    (result,) = bench.of("tool_result")
    assert (result.error.code, result.error.retryable) == ("read_only", True)
    assert result.output.endswith("retryable: the system failed for a moment")
    assert not retries(bench)


class Stumble:
    """A disk that fails `times` times at one path: when it reads or lists it or, for `pipe`, when a process starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, call: str, path: Path, times: int = 1) -> None:
        self.left, self.path, self.real = times, str(path), getattr(os, call)
        monkeypatch.setattr(os, call, self)

    def __call__(self, *given: Any, **more: Any) -> Any:
        here = not given or (
            isinstance(given[0], int) and str(Path(f"/proc/self/fd/{given[0]}").readlink()) == self.path
        )
        if here and self.left:
            self.left -= 1
            raise OSError(errno.EIO, "input/output error")
        return self.real(*given, **more)


PLACE = {"path": "a.py", "line": 1, "symbol": "total"}
READS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "read_file": ("read", "a.py", {"path": "a.py"}),
    "list_files": ("scandir", "sub", {"pattern": "*.txt"}),
    "search_files": ("read", "a.py", {"path": "a.py", "pattern": "total"}),
    "repo_map": ("read", "a.py", {}),
    "get_symbols": ("read", "a.py", {"path": "a.py"}),
    "get_definition": ("read", "a.py", PLACE),
    "get_references": ("read", "a.py", PLACE),
    "git_status": ("pipe", "", {}),
    "git_diff": ("pipe", "", {}),
}
"""For each tool that reads: the system call that fails, where, and the arguments. `get_diagnostics` is missing, because
a language server reads for it, in a sandbox that starts as git's does; so are tools that read only memory."""


def retries(bench: Any) -> list[Any]:
    return [record.event for record in bench.all_audit() if record.event.kind is AuditKind.RETRY]


def test_TOOL_11_every_tool_that_reads_has_a_row() -> None:
    reads = {name for name, tool in TOOLS.items() if tool.effect is Effect.READ}
    assert READS.keys() | {"get_diagnostics", "list_processes", "read_process"} == reads


@pytest.mark.parametrize("tool", READS)
async def test_TOOL_11_a_read_that_stumbles_once_is_made_again_and_audited(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    stumbles, where, arguments = READS[tool]
    if stumbles == "pipe" and (shutil.which("bwrap") is None or shutil.which("git") is None):
        pytest.skip("there is no bwrap, or no git")
    bench = await make_bench()
    (bench.workspace / "sub").mkdir()
    (bench.workspace / "sub" / "a.txt").write_text("x")
    if stumbles == "pipe":
        subprocess.run(["git", "init", "-q"], cwd=bench.workspace, check=True)
        await bench.ask(own("git_status"))  # from now on the server knows which sandbox it uses
    before = len(bench.of("tool_result"))
    disk = Stumble(monkeypatch, stumbles, bench.workspace / where)
    await bench.ask(own(tool, **arguments))
    monkeypatch.undo()
    result = bench.of("tool_result")[before]
    assert disk.left == 0, "nothing stumbled"
    assert "nput/output error" in "".join(event.metadata["why"] for event in retries(bench))
    assert len(retries(bench)) == 1
    assert result.error is None or SAYS.no_language_server in str(result.error)


async def test_TOOL_11_an_edit_reads_once_more_before_it_writes(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await make_bench(policy=LAX)
    disk = Stumble(monkeypatch, "read", bench.workspace / "a.py")
    await bench.ask(own("edit_file", path="a.py", old_text="total", new_text="x", replace_all=True))
    assert (disk.left, len(retries(bench))) == (0, 1)
    assert bench.of("tool_result")[0].error is None
    assert "total" not in (bench.workspace / "a.py").read_text()


async def test_TOOL_11_an_error_that_lasts_may_be_tried_again(make_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await make_bench()
    disk = Stumble(monkeypatch, "read", bench.workspace / "a.py", times=100)
    await bench.ask(own("read_file", path="a.py"))
    (result,) = bench.of("tool_result")
    assert (disk.left, len(retries(bench))) == (98, 1)
    assert result.error.retryable
    assert "retryable" in result.output


async def test_a_result_is_cut_at_the_limit_of_its_tool_and_says_so(make_bench: Any) -> None:
    long = f"{'x' * 252}.py"
    bench = await make_bench({"calls": [intent("ANALYZE"), call("get_symbols", path=long)]}, {"text": "ok"})
    (bench.workspace / long).write_text("".join(f"def f{n}(): ...\n" for n in range(100)))
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert len(result.output) == TOOLS["get_symbols"].most_chars
    assert SAYS.characters_left_out in result.output


async def test_a_tool_that_this_run_leaves_out_is_told_with_what_there_is(make_bench: Any) -> None:
    calls = [intent("ANALYZE"), call("search_files", pattern="x"), intent("PLAN"), call("plan_complete")]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    await bench.ask("go", policy={"allow_tools": ["read_file", "list_files"]})
    left_out, missing = bench.of("tool_result")
    assert (left_out.error.code, left_out.error.why) == ("tool_unavailable", SAYS.this_run_was_started_without)
    assert left_out.data["tool_name"] == left_out.tool
    assert "current_state" not in left_out.data, "it is not the workflow that leaves it out"
    assert left_out.data["available_tools"]
    assert all(f"{name}" in left_out.error.fix for name in left_out.data["available_tools"])
    assert left_out.error.fix == "use one of: read_file, list_files"
    assert (missing.error.code, missing.error.why) == ("tool_unavailable", SAYS.this_run_was_started_without)
    assert missing.error.fix == SAYS.select_another_intent_this_one


async def test_TOOL_11_a_file_whose_other_names_cannot_be_told_is_not_read_for_that(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Policy denies `.env`, and `a.py` is another name of it; if that cannot be looked up, nothing is read."""
    bench = await make_bench(policy=LAX)
    (bench.workspace / ".env").hardlink_to(bench.workspace / "a.py")
    real, left = os.lstat, [1]

    def stumble(path: Any, *given: Any, **more: Any) -> os.stat_result:
        if left[0] and str(path) == str(bench.workspace / "a.py"):
            left[0] -= 1
            raise OSError(errno.EIO, "input/output error")
        return real(path, *given, **more)

    monkeypatch.setattr(os, "lstat", stumble)
    await bench.ask(own("read_file", path="a.py"))
    (result,) = bench.of("tool_result")
    assert (left, len(retries(bench))) == ([0], 1)
    assert result.error.code == "denied"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
async def test_TOOL_11_what_a_command_may_not_see_is_looked_for_once_more(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that cannot be listed may hold another name of the hidden file, so the command sees neither name."""
    bench = await make_bench(policy=LAX)
    (bench.workspace / ".env").write_text("key")
    (bench.workspace / "name").hardlink_to(bench.workspace / ".env")
    await bench.ask(own("run_command", command="true"))  # from now on the server knows which sandbox it uses
    real, left = os.scandir, [1]

    def stumble(path: Any = ".") -> Any:
        if left[0] and path == bench.workspace:
            left[0] -= 1
            raise OSError(errno.EIO, "input/output error")
        return real(path)

    monkeypatch.setattr(os, "scandir", stumble)
    await bench.ask(own("run_command", command="cat name .env"))
    monkeypatch.undo()
    result = bench.of("tool_result")[1]
    assert (left, len(retries(bench))) == ([0], 1)
    assert "key" not in result.output
