"""Code that has other tests run than those that failed, which then pass: a locked test counts as its file has it (FLW-04)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from messages import SAYS
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

WRONG = "def total(items):\n    return sum(items)\n"
RIGHT = "def total(items):\n    return sum(items) if items else None\n"
ZERO = "import cart\n\n\ndef test_zero():\n    assert cart.total([]) is None\n"
CASE = (
    "import unittest\n\nimport cart\n\n\nclass Zero(unittest.TestCase):\n"
    "    def test_zero(self):\n        self.assertIsNone(cart.total([]))\n"
)


@dataclass(frozen=True)
class Work:
    """What is written before the failing run, then the source, and files beside it."""

    source: str
    test: str = ZERO
    runner: str = "pytest"
    path: str = "tests/test_zero.py"
    before: dict[str, str] = field(default_factory=dict[str, str])
    beside: dict[str, str] = field(default_factory=dict[str, str])
    there: dict[str, str] = field(default_factory=dict[str, str])


async def work(make_bench: Any, task: Work) -> Any:
    """A session that writes a failing test, then the source, and runs all tests."""
    project = PROJECTS[task.runner]
    project = replace(project, files={**project.files, ".gitignore": "__pycache__/\nignored/\n", **task.there})
    old = [project.source, *(name for name in task.there if name in {*task.before, *task.beside})]
    steps = [
        *(write(name, text) for name, text in task.before.items()),
        write(task.path, task.test),
        RUN,
        write(project.source, task.source),
        *(write(name, text) for name, text in task.beside.items()),
    ]
    bench = await begin(make_bench, project, read(*old), PLAN, *steps, RUN, DONE)
    await bench.ask("Say what the total of nothing is")
    return bench


HERE = "import os\nfile = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tests', 'test_zero.py')\n"
PASS = "'def test_zero():\\n    pass\\n'"
FORGED_BYTECODE = f"""
import importlib.util, marshal, struct
from _pytest.assertion.rewrite import PYC_TAIL
found = os.stat(file)
head = importlib.util.MAGIC_NUMBER + bytes(4)
head += struct.pack('<LL', int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF)
folder = os.path.join(os.path.dirname(file), '__pycache__')
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, 'test_zero' + PYC_TAIL), 'wb') as out:
    out.write(head + marshal.dumps(compile({PASS}, file, 'exec')))
"""

REWRITTEN = {
    "the test is rewritten": HERE + f"open(file, 'w').write({PASS})\n",
    "the test is rewritten and put back": HERE
    + f"import atexit\nold = open(file).read()\nopen(file, 'w').write({PASS})\n"
    + "atexit.register(lambda: open(file, 'w').write(old))\n",
    "the test is another file": HERE
    + f"open(file + '.new', 'w').write({PASS})\nos.replace(file + '.new', file)\nos.utime(file, (1, 1))\n",
    "a conftest is made": HERE
    + "open(os.path.join(os.path.dirname(file), 'conftest.py'), 'w').write('def pytest_itemcollected(item): pass\\n')\n",
    "bytecode of the test is made": HERE + FORGED_BYTECODE,
}


@pytest.mark.parametrize("way", REWRITTEN)
async def test_THR_workflow_a_run_that_writes_its_own_tests_is_not_believed(make_bench: Any, way: str) -> None:
    bench = await work(make_bench, Work(WRONG + REWRITTEN[way]))
    said = bench.of("tool_result")[-1].output
    assert SAYS.this_is_no_passing_run in said
    assert SAYS.test_files_changed_while in said
    assert state(bench) == "code_writing"
    assert (bench.workspace / "tests/test_zero.py").read_text() == ZERO


LEFT = {
    "results that version control ignores": Work(
        RIGHT, ZERO + "    import pathlib\n    pathlib.Path('tests/ignored').mkdir(exist_ok=True)\n"
        "    pathlib.Path('tests/ignored/out.txt').write_text('x')\n"
    ),
    "a database that is opened for writing": Work(
        RIGHT,
        ZERO + "    open('tests/data.db', 'r+b').close()\n    open('result.txt', 'w').close()\n",
        before={},
        there={"tests/data.db": "SQLite format 3\x00"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", LEFT)
async def test_FLW_04_a_run_may_write_what_no_test_is(make_bench: Any, way: str) -> None:
    bench = await work(make_bench, LEFT[way])
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output


STOPS = "import unittest.case\n\n\ndef total(items):\n    if not items:\n        raise unittest.case._ShouldStop\n    return 3\n"


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
async def test_THR_workflow_a_test_that_stops_without_a_result_has_not_passed(make_bench: Any, runner: str) -> None:
    path = "tests/test_zero.py" if runner == "pytest" else "test_zero.py"
    bench = await work(make_bench, Work(STOPS, CASE, runner, path))
    assert SAYS.these_have_to_pass_and in bench.of("tool_result")[-1].output
    assert state(bench) == "code_writing"


async def test_FLW_04_a_test_case_under_pytest_passes(make_bench: Any) -> None:
    case = CASE + (
        "\n    def test_parts(self):\n        for part in (1, 2):\n            with self.subTest(part=part):\n"
        "                self.assertTrue(part)\n\n    @unittest.expectedFailure\n    def test_later(self):\n"
        "        with self.subTest():\n            self.assertTrue(0)\n"
    )
    bench = await work(make_bench, Work(RIGHT, case))
    assert state(bench) == "reviewing", bench.of("tool_result")[-1].output
