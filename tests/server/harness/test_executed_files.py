"""Which files a command's approval is bound to, and how many paths are looked at for that (APP-01, CMD-06)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent

from remit_server.errors import ToolError
from remit_server.harness.approval.executed_files import MAX_FOLDERS, MOST_TRIED, find_executed_files
from remit_server.sandbox.ports import CommandSpec
from remit_server.tools.spec import CommandPlan, Outcome
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

Bound = Callable[..., set[str]]


class Counting(Workspace):
    """Counts the paths that are resolved."""

    asked = 0

    def resolve(self, text: str) -> WorkspacePath:
        self.asked += 1
        return Workspace.resolve(self, text)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Counting]:
    with Counting(tmp_path) as opened:
        yield opened


@pytest.fixture
def bound(workspace: Counting) -> Bound:
    def find(line: str, cwd: str = ".") -> set[str]:
        spec = CommandSpec(("sh", "-c", line), workspace.root / cwd, workspace.root, {}, 1.0, writes=True)
        plan = CommandPlan(spec, line, lambda _: Outcome(""))
        return {each.path for each in find_executed_files(plan, workspace)}

    return find


def test_APP_01_a_file_is_bound_however_the_command_spells_its_path(tmp_path: Path, bound: Bound) -> None:
    (tmp_path / "src" / "tools").mkdir(parents=True)
    (tmp_path / "src" / "run.sh").write_text("1")
    (tmp_path / "src" / "tools" / "build.py").write_text("2")
    (tmp_path / "linked.sh").symlink_to("src/run.sh")
    (tmp_path / "out").symlink_to("/etc/passwd")
    for line in (
        "sh src/run.sh",
        "cd src && sh run.sh",
        f"sh {tmp_path}/src/run.sh",
        "sh ./src//run.sh",
        "x=src/../src/run.sh",
    ):
        assert bound(line) == {"src/run.sh"}, line
    assert bound("sh ../src/run.sh", "src") == {"src/run.sh"}
    assert bound("sh linked.sh; cat out /etc/passwd") == {"src/run.sh"}
    assert bound("cd src; python -m tools.build") == {"src/tools/build.py"}


def test_CMD_06_of_many_words_only_those_are_looked_for_that_are_there(
    tmp_path: Path, workspace: Counting, bound: Bound
) -> None:
    """Each of thousands of words used to be looked for in each folder that the text names."""
    folders = [f"d{n}" for n in range(MAX_FOLDERS)]
    for folder in folders:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.py").write_text("")
    found = bound(f"cat > notes <<E\n{' '.join(folders)} {' '.join(f'w{n}' for n in range(3_000))} run\nE")
    assert found == {f"{folder}/run.py" for folder in folders[: MAX_FOLDERS - 1]}
    assert workspace.asked < 4 * MAX_FOLDERS


def test_CMD_06_a_command_that_names_more_files_than_can_be_bound_is_refused(tmp_path: Path, bound: Bound) -> None:
    names = [f"f{n}" for n in range(MOST_TRIED + 1)]
    for name in names:
        os.close(os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY))
    assert len(bound(f"cat {' '.join(names[: MOST_TRIED - 1])}")) == MOST_TRIED - 1
    with pytest.raises(ToolError) as refused:
        bound(f"cat {' '.join(names)}")
    assert refused.value.code == "invalid_arguments"


async def test_CMD_06_a_refused_command_is_told_to_the_model_and_asks_nobody(make_bench: Any) -> None:
    line = f"cat {' '.join(f'/f{n}' for n in range(MOST_TRIED + 1))}"
    bench = await make_bench({"calls": [intent("EXECUTE"), call("run_command", command=line)]}, {"text": "ok"})
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "invalid_arguments"
    assert not bench.of("approval_required")
