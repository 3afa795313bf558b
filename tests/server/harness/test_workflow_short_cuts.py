"""Attempts to avoid the workflow: no code is written before a test has failed, and each attempt leaves its reason."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from runner_projects import PROJECTS
from workflow_bench import DONE, PLAN, RUN, begin, read, state, write

from remit_governance.workflow.states import UNTOUCHED
from remit_server.harness.workflow.follow import UNPROVEN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
]

PROJECT = PROJECTS["unittest"]
CODE = write(PROJECT.source, PROJECT.new_source)
FIRST = "workflow.tests-come-first"
RUNNERS = "workflow.runners-are-locked"
PROGRAMS = "workflow.runner-programs-are-locked"


@dataclass(frozen=True, slots=True)
class ShortCut:
    """Steps that are tried in `test_writing`, and the reason in the audit log why they achieved nothing."""

    steps: tuple[Any, ...]
    why: str = FIRST
    prepare: Callable[[Path], None] = lambda _folder: None


def command(line: str) -> dict[str, Any]:
    return {"calls": [intent("EXECUTE"), call("run_command", command=line)]}


def run(**arguments: Any) -> dict[str, Any]:
    return {"calls": [intent("EXECUTE"), call("run_tests", **arguments)]}


def code(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [intent("CODE"), call(tool, **arguments)]}


def with_branch(folder: Path) -> None:
    """Makes a repository in which another branch has the code already."""
    source = folder / PROJECT.source
    for words in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "a@b.c"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "before"], cwd=folder, check=True)
    subprocess.run(["git", "checkout", "-q", "-b", "other"], cwd=folder, check=True)
    source.write_text(PROJECT.new_source)
    subprocess.run(["git", "commit", "-q", "-am", "after"], cwd=folder, check=True)
    subprocess.run(["git", "checkout", "-q", "-"], cwd=folder, check=True)


def ignoring_source(folder: Path) -> None:
    """Makes a repository in which git ignores the source."""
    with_branch(folder)
    (folder / ".gitignore").write_text(f"{PROJECT.source}\n")
    subprocess.run(["git", "rm", "-q", "--cached", PROJECT.source], cwd=folder, check=True)


WRITES_SOURCE = PROJECT.old_test + "\nopen('cart.py', 'w').write('total = lambda items: None')\n"
WRITES_ITSELF = PROJECT.new_test + "\nopen(__file__, 'a').write('# again')\n"
DIFF = "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n def total(items):\n-    return sum(items)\n+    return None\n"

SHORT_CUTS: dict[str, ShortCut] = {
    "a file of another branch": ShortCut((command("git checkout other -- cart.py"),), prepare=with_branch),
    "another branch": ShortCut((command("git checkout other"),), "", prepare=with_branch),
    "a patch": ShortCut((write("tests/a.patch", DIFF), command("git apply tests/a.patch")), prepare=with_branch),
    "a file that git ignores": ShortCut((command("echo 'x = 1' > cart.py"),), prepare=ignoring_source),
    "a link among the tests": ShortCut(
        (command("mkdir -p tests && ln -s ../cart.py tests/test_link.py"), write("tests/test_link.py", "x = 1\n")), ""
    ),
    "a hard link among the tests": ShortCut(
        (command("mkdir -p tests && ln cart.py tests/test_hard.py && echo x=1 > tests/test_hard.py"),)
    ),
    "a path through the tests": ShortCut((write("tests/../cart.py", "x = 1\n"),)),
    "a generator among the tests": ShortCut(
        (write("tests/gen.sh", "echo 'x = 1' > cart.py\n"), command("sh tests/gen.sh"))
    ),
    "a process that goes on": ShortCut((command("(sleep 0.2; echo 'x = 1' > cart.py) & wait"),)),
    "a test that writes the code": ShortCut((write(PROJECT.test, WRITES_SOURCE), RUN)),
    "a file of tests that is moved": ShortCut(
        (write("tests/new.py", "x = 1\n"), code("move_file", source="tests/new.py", destination="lib.py"))
    ),
    "a removal": ShortCut((code("delete_file", path="cart.py"),)),
    "a diff": ShortCut((code("apply_diff", diff=DIFF),)),
    "conftest": ShortCut((write("conftest.py", "def pytest_runtest_makereport(): ...\n"),), PROGRAMS),
    "sitecustomize": ShortCut((write("tests/sitecustomize.py", "import sys\n"),), PROGRAMS),
    "a file of paths": ShortCut((write("tests/x.pth", "import sys\n"),), PROGRAMS),
    "options of pytest": ShortCut((write("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'\n"),), FIRST),
    "options of pytest among the tests": ShortCut((write("tests/pytest.ini", "[pytest]\naddopts = --co\n"),), RUNNERS),
    "a script of package.json": ShortCut((write("tests/package.json", '{"scripts": {"test": "false"}}\n'),), RUNNERS),
    "another path of Python": ShortCut(
        (write("tests/cart.py", "total = len\n"), command("PYTHONPATH=tests python3 -m unittest"), CODE)
    ),
    "no test at all": ShortCut((run(filter="nothing"),), UNPROVEN),
    "a test that writes itself": ShortCut((write(PROJECT.test, WRITES_ITSELF), RUN), UNPROVEN),
    "a way back to the tests before any has failed": ShortCut(
        ({"calls": [intent("PLAN"), call("revise_tests", reason="x")]},), "the workflow is in state"
    ),
    "an exemption on the way": ShortCut(
        (
            write(PROJECT.test, PROJECT.new_test),
            {
                "calls": [
                    intent("PLAN"),
                    call("workflow_request_exemption", category="config_change", paths=["a.json"], reason="x"),
                ]
            },
        ),
        UNTOUCHED.needs,
    ),
}


def reasons(bench: Bench) -> str:
    events = [record.event for record in bench.audit()]
    return "\n".join(
        str(part) for event in events for part in (event.deny_reason, event.output_summary, dict(event.metadata))
    )


@pytest.mark.parametrize("name", SHORT_CUTS)
async def test_THR_workflow_no_short_cut_has_code_written_first(make_bench: Any, name: str) -> None:
    tried = SHORT_CUTS[name]
    bench = await begin(make_bench, PROJECT, read(PROJECT.source, PROJECT.test), PLAN, *tried.steps, CODE, DONE)
    tried.prepare(bench.workspace)
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == "test_writing"
    source = bench.workspace / PROJECT.source
    assert source.read_text() == PROJECT.old_source
    assert not source.is_symlink()
    assert not (bench.workspace / "lib.py").exists()
    assert not list(bench.workspace.rglob("conftest.py"))
    assert FIRST in reasons(bench), "the code itself is refused too"
    results = bench.of("tool_result")
    assert tried.why in reasons(bench), [each.output for each in results]


async def to_code(make_bench: Any, *steps: Any) -> Bench:
    """Opens a session whose test has failed, so that code may be written."""
    test = write(PROJECT.test, PROJECT.new_test)
    bench = await begin(make_bench, PROJECT, read(PROJECT.source, PROJECT.test), PLAN, test, RUN, DONE, *steps)
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == "code_writing"
    return bench


async def test_THR_workflow_what_one_session_proved_is_proven_anew_in_another(make_bench: Any) -> None:
    """The other session starts at the beginning, and a test that a session of the agent wrote does not count as
    failing."""
    bench = await to_code(make_bench, read(PROJECT.source), CODE, DONE)
    for _ in range(2):
        await bench.ask("go on", session="another")
    assert [event.state for event in bench.of("state_changed")][-2:] == ["planning", "test_writing"]
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source
    assert FIRST in reasons(bench)


async def test_THR_workflow_a_mode_that_is_left_and_taken_again_begins_anew(make_bench: Any) -> None:
    bench = await to_code(make_bench, read(PROJECT.source), CODE, DONE)
    modes = [
        {"type": "call", "tool": "set_mode", "arguments": {"mode": m}, "intent": "PLAN"} for m in ("explore", "strict")
    ]
    await bench.ask(*modes, "go on")
    assert state(bench) == "planning"
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source
    assert "workflow.nothing-is-written" in reasons(bench)


async def test_THR_workflow_a_run_that_asks_for_a_looser_mode_is_not_begun(make_bench: Any) -> None:
    bench = await begin(make_bench, PROJECT, CODE, DONE)
    for mode in ("explore", "debug"):
        assert (await bench.ask("go on", policy={"mode": mode})).status == "failed"
    assert (bench.workspace / PROJECT.source).read_text() == PROJECT.old_source


async def test_THR_workflow_no_exemption_opens_what_tests_compare_with(make_bench: Any) -> None:
    """Test data can look like configuration, a document or a picture; weaker data would make a failing test
    needless."""
    wanted = {
        "config_change": "tests/wanted.json",
        "documentation": "tests/said.txt",
        "asset_update": "tests/drawn.svg",
    }
    asked = [
        {"calls": [intent("PLAN"), call("workflow_request_exemption", category=category, paths=[path], reason="x")]}
        for category, path in wanted.items()
    ]
    weaker = [write(path, "{}\n") for path in wanted.values()]
    bench = await begin(make_bench, PROJECT, read(*wanted.values()), *asked, *weaker, DONE)
    for path in wanted.values():
        (bench.workspace / path).parent.mkdir(exist_ok=True)
        (bench.workspace / path).write_text('{"apple": 3}\n')
    await bench.ask("Say what the total of nothing is")
    assert state(bench) == "planning"
    assert all(f"`{path}` belongs to the tests" in reasons(bench) for path in wanted.values())
    assert all((bench.workspace / path).read_text() == '{"apple": 3}\n' for path in wanted.values())


def exempted(category: str, path: str, *steps: Any) -> tuple[Any, ...]:
    asked = {"calls": [intent("PLAN"), call("workflow_request_exemption", category=category, paths=[path], reason="x")]}
    return (read(path), asked, *steps, DONE)


EXAMPLE = "# Shop\n\n>>> total([1, 2])\n3\n"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg">\n<path d="M0 0"/>\n{}</svg>\n'


@pytest.mark.parametrize(
    ("configured", "text", "taken"),
    [
        ("--doctest-glob='*.md'", EXAMPLE.replace("3", "0"), False),
        ("--doctest-glob='*.md'", EXAMPLE.replace(">>> total([1, 2])\n3\n", ""), False),
        ("--doctest-glob='*.md'", EXAMPLE + "\n>>> total([])\n0\n", False),
        ("--doctest-glob='*.md'", EXAMPLE.replace("# Shop", "# The shop"), True),
        ("-q", EXAMPLE.replace("3", "0"), True),
    ],
)
async def test_THR_workflow_no_exemption_opens_examples_that_tests_run(
    make_bench: Any, configured: str, text: str, taken: bool
) -> None:
    bench = await begin(make_bench, PROJECT, *exempted("documentation", "README.md", write("README.md", text)))
    (bench.workspace / "README.md").write_text(EXAMPLE)
    (bench.workspace / "pytest.ini").write_text(f"[pytest]\naddopts = {configured}\n")
    await bench.ask("Say more of the shop")
    assert (bench.workspace / "README.md").read_text() == (text if taken else EXAMPLE)
    denied = [event.error.code for event in bench.of("tool_result") if event.error is not None]
    assert denied == ([] if taken else ["denied"])


MANUAL = """The shop
========

What it sums up:

.. testcode::

   print(total([1, 2]))

.. testoutput::

   3

```python
assert total([]) == 0
```

Prose.
"""


@pytest.mark.parametrize(
    ("file", "configured"),
    [
        ("docs/conf.py", "extensions = ['sphinx.ext.doctest']\n"),
        ("conftest.py", "from sybil import Sybil\n"),
        ("pytest.ini", "[pytest]\naddopts = --markdown-docs\n"),
        ("tests/test_docs.py", "from mktestdocs import check_md_file\n"),
        ("Makefile", "check:\n\tpython -m byexample README.md\n"),
    ],
)
@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (MANUAL.replace("   3", "   0"), False),
        (MANUAL.replace("== 0", "== 1"), False),
        (MANUAL.replace(".. testcode::", ".. testcode::\n   :hide:"), False),
        (MANUAL + "\n<!-- skip: next -->\n", False),
        (MANUAL.replace("Prose.", "More prose.\n\n- a list"), True),
    ],
)
async def test_THR_workflow_no_exemption_opens_code_of_a_document_that_a_program_runs(
    make_bench: Any, file: str, configured: str, text: str, taken: bool
) -> None:
    bench = await begin(make_bench, PROJECT, *exempted("documentation", "MANUAL.rst", write("MANUAL.rst", text)))
    (bench.workspace / "MANUAL.rst").write_text(MANUAL)
    (bench.workspace / file).parent.mkdir(exist_ok=True)
    (bench.workspace / file).write_text(configured)
    await bench.ask("Say more of the shop")
    assert (bench.workspace / "MANUAL.rst").read_text() == (text if taken else MANUAL)


async def test_FLW_09_code_of_a_document_that_nothing_runs_may_be_changed(make_bench: Any) -> None:
    text = MANUAL.replace("   3", "   0")
    bench = await begin(make_bench, PROJECT, *exempted("documentation", "MANUAL.rst", write("MANUAL.rst", text)))
    (bench.workspace / "MANUAL.rst").write_text(MANUAL)
    await bench.ask("Say more of the shop")
    assert (bench.workspace / "MANUAL.rst").read_text() == text


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ("<script>fetch('/')</script>\n", False),
        ("<svg:script href='x.js'/>\n", False),
        ("<rect onload = 'f()'/>\n", False),
        ("<a href='&#106;avascript:f()'/>\n", False),
        ("<foreignObject/>\n", False),
        ("<rect width='1'/>\n", True),
    ],
)
async def test_THR_workflow_no_exemption_opens_what_runs_in_a_picture(make_bench: Any, more: str, taken: bool) -> None:
    old, new = DRAWING.format(""), DRAWING.format(more)
    bench = await begin(make_bench, PROJECT, *exempted("asset_update", "logo.svg", write("logo.svg", new)))
    (bench.workspace / "logo.svg").write_text(old)
    await bench.ask("Draw more")
    assert (bench.workspace / "logo.svg").read_text() == (new if taken else old)


async def test_THR_workflow_no_command_writes_beyond_an_exemption(make_bench: Any) -> None:
    line = "printf '<svg onload=\"f()\"/>' > logo.svg"
    bench = await begin(make_bench, PROJECT, *exempted("asset_update", "logo.svg", command(line)))
    (bench.workspace / "logo.svg").write_text(DRAWING.format(""))
    await bench.ask("Draw more")
    assert (bench.workspace / "logo.svg").read_text() == DRAWING.format("")
