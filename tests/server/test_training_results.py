"""What the generator writes as tool results is what the tools print, and its searches find what they are for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from training import languages, results
from training.world import TRAINED, UNSEEN, World

from remit_server.models.embedded.patterns import ASSIGNED, DEFINED, DOCUMENTED, IMPORT, fill_pattern
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.edit.edit_file import EDIT_FILE, EditFileArguments
from remit_server.tools.files.read_file import READ_FILE, ReadFileArguments
from remit_server.tools.run.run_command import render_output
from remit_server.tools.search.search_files import SEARCH_FILES, SearchFilesArguments
from remit_server.tools.spec import ReadPlan, ToolContext, WritePlan
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(Workspace(tmp_path), NoDocuments(), {}, lambda *_: True, str)


async def search(ctx: ToolContext, pattern: str, path: str = ".") -> str:
    arguments = SearchFilesArguments(pattern=pattern, path=path, context_lines=0, max_results=1)
    plan = await SEARCH_FILES.prepare(arguments, ctx)
    assert isinstance(plan, ReadPlan)
    return (await plan.run()).text


async def read(ctx: ToolContext, **arguments: int) -> str:
    plan = await READ_FILE.prepare(ReadFileArguments(path="a.py", **arguments), ctx)
    assert isinstance(plan, ReadPlan)
    return (await plan.run()).text


async def test_results_read_as_the_tools_print_them(ctx: ToolContext, tmp_path: Path) -> None:
    lines = ["import os", "", "  x = 1", "import re"]
    (tmp_path / "a.py").write_text("\n".join(lines))
    assert await read(ctx) == results.read("a.py", lines)
    assert await read(ctx, offset=3, limit=1) == results.read("a.py", ["  x = 1"], 3, 4)
    assert await read(ctx, offset=4, limit=1) == results.read("a.py", ["import re"], 4, 4)
    assert await search(ctx, "x =") == results.found("x =", ".", ("a.py", 3, "  x = 1"))
    assert await search(ctx, "import", "a.py") == results.found("import", "a.py", ("a.py", 1, "import os"), 2)
    assert await search(ctx, "nowhere") == results.found("nowhere", ".", None)
    for old, count in (("x", 1), ("import", 2)):
        arguments = EditFileArguments(path="a.py", old_text=old, new_text="y", replace_all=True)
        plan = await EDIT_FILE.prepare(arguments, ctx)
        assert isinstance(plan, WritePlan)
        assert plan.outcome.text == results.edited("a.py", count)


@pytest.mark.parametrize(
    ("code", "stdout", "stderr"), [(0, "", ""), (1, "a\nb", ""), (127, "", "not found"), (2, "a", "b")]
)
def test_the_end_of_a_command_reads_as_the_tool_prints_it(code: int, stdout: str, stderr: str) -> None:
    output = CommandOutput(code, stdout.encode(), stderr.encode())
    assert render_output(output, 60, str).text == results.ended(code, stdout, stderr)


@pytest.mark.parametrize("world", [TRAINED, UNSEEN], ids=["trained", "unseen"])
async def test_every_line_the_skills_look_for_is_found_in_every_language(
    world: World, ctx: ToolContext, tmp_path: Path
) -> None:
    rng = random.Random(1)
    name, text = "Name_1", ["# Name_1 is used below", "call(Name_1)", "if Name_1 == 3:"]
    looked_for: list[tuple[str, str]] = []
    for extension, language in world.languages.items():
        looked_for += [(fill_pattern(ASSIGNED, name), line) for line in _filled(language.assignments, name)]
        looked_for += [(fill_pattern(DEFINED, name), line) for line in _filled(language.definitions, name)]
        looked_for += [(IMPORT, line) for line in _filled(language.imports, name)]
        if extension == "py":
            looked_for += [(fill_pattern(DOCUMENTED, name), line) for line in _filled(language.definitions, name)]
    assert len(looked_for) > 60
    for pattern, line in looked_for:
        at = rng.randint(0, 3)
        (tmp_path / "a.py").write_text("\n".join([*text[:at], line, *text[at:]]))
        assert await search(ctx, pattern) == results.found(pattern, ".", ("a.py", at + 1, line)), line


def _filled(lines: languages.Lines, name: str) -> list[str]:
    return [line.format(a=name, b="Other", c="Third", v='"Name_1"', n=3) for line in lines]


@pytest.mark.parametrize(
    "line", ["from a import (", "import {", "import a, (", "imports = 3", "    import a", "used = 1"]
)
async def test_an_import_that_goes_on_or_is_none_is_not_found(line: str, ctx: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line)
    assert await search(ctx, IMPORT) == results.found(IMPORT, ".", None)
