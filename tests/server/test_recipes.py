"""The recipes in docs/recipes.md work: the test follows them in a copy of the packages, and uses the result
(DOC-06)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsp_pipe import PipeClient
from recipes import PAGE, ROOT, Copy, copy_packages, recipe

pytestmark = pytest.mark.slow

PLACES = {
    "A setting": 2,
    "A policy matcher": 2,
    "A tool": 3,
    "A custom method of the language server": 3,
    "A model provider": 2,
    "A transport": 3,
    "An audit kind": 2,
    "A command of the command line": 2,
}
"""For each recipe, the number of files and new folders that it changes. A row that a recipe adds to a page without
showing it is not counted."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of the packages, to which the other copies link."""
    return copy_packages(tmp_path_factory.mktemp("packages") / "copy").folder


@pytest.fixture
def copy(packages: Path, tmp_path: Path) -> Copy:
    return copy_packages(tmp_path / "copy", packages, link=True)


def test_DOC_06_each_recipe_that_shows_code_is_done_here_and_names_few_places() -> None:
    titles = re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {title for title in titles if recipe(title)} == PLACES.keys()
    for title, places in PLACES.items():
        new = {edit.file for edit in recipe(title) if edit.where is None}
        folders = {Path(file).parent for file in new if not (ROOT / file).parent.is_dir()}
        files = {edit.file for edit in recipe(title) if Path(edit.file).parent not in folders}
        assert len(files) + len(folders) == places, title


def test_DOC_06_all_recipes_together_are_as_the_project_is_written(copy: Copy) -> None:
    for title in PLACES:
        copy.cook(title)
    shutil.copy(ROOT / "pyproject.toml", copy.folder)
    files = sorted({edit.file for title in PLACES for edit in recipe(title) if edit.file.endswith(".py")})
    for words in (["check", "--no-cache"], ["format", "--no-cache", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, *files]
        done = subprocess.run(command, cwd=copy.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_DOC_06_a_setting_is_read_from_a_file_and_the_environment_shown_and_counts(copy: Copy) -> None:
    copy.cook("A setting")
    config = copy.folder / "home" / ".config" / "remit" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("log: { files: 3 }\n")
    shown = {row["key"]: row for row in copy.told("config", "show")}["log.files"]
    assert (shown["value"], shown["layer"], shown["where"]) == (3, "user", f"{config}:1")
    shown = {row["key"]: row for row in copy.told("config", "show", REMIT_LOG_FILES="7")}["log.files"]
    assert (shown["value"], shown["where"]) == (7, "REMIT_LOG_FILES")
    opened = (
        "from pathlib import Path; from remit_server.runtime.log_file import open_log_file as o;"
        "from remit_server.runtime.settings import Settings as S;"
        "s = S.from_environment(Path()); print(o(s.state, s.config.log, str).handler.backupCount)"
    )
    assert copy.python(opened) == "3\n"
    (copy.workspace / ".remit").mkdir()
    (copy.workspace / ".remit" / "config.yaml").write_text("log: { files: 1 }\n")
    refused = copy.remit("config", "check", "--json")
    assert refused.returncode == 1
    assert "log.files" in refused.stdout


POLICY = """\
version: 1
capabilities:
  - name: one-item
    match: { syscall: fs.write, work_item: INT-001 }
    action: allow
    examples: { match: [{ path: a.py, work_item: INT-001 }], not_match: [{ path: a.py, work_item: INT-002 }] }
"""


def test_DOC_06_a_matcher_is_checked_and_decides(copy: Copy) -> None:
    copy.cook("A policy matcher")
    (copy.workspace / "p.yaml").write_text(POLICY)
    assert copy.remit("policy", "check", "p.yaml").returncode == 0
    (copy.workspace / "p.yaml").write_text(POLICY.replace("INT-002", "INT-001"))
    assert copy.remit("policy", "check", "p.yaml").returncode == 1
    (copy.workspace / "p.yaml").write_text(POLICY.replace("work_item: INT-001 }", "work_itme: INT-001 }", 1))
    said = copy.remit("policy", "check", "p.yaml")
    assert "did you mean `work_item`" in said.stdout + said.stderr
    explained = copy.python(
        "from remit_governance.policy.editing.hover import sentence;"
        "from remit_governance.policy.language.policy_form import RuleForm;"
        "print(sentence(RuleForm(name='r', match={'work_item': 'x'}, action='deny')))"
    )
    assert "for the work item `x`" in explained


def test_DOC_06_a_tool_runs_under_an_intent_that_opens_it_and_no_other(copy: Copy) -> None:
    copy.cook("A tool")
    (copy.workspace / "b.txt").write_text("one\ntwo\n")
    ended = copy.told("run-tool", "count_lines", '{"path": "b.txt"}', "--intent", "ANALYZE")
    assert [event["data"] for event in ended if event["kind"] == "tool_result"] == [{"lines": 2}]
    refused = copy.remit("run-tool", "count_lines", '{"path": "b.txt"}', "--intent", "CODE", "--json")
    assert "tool_not_allowed_for_intent" in refused.stdout
    assert copy.remit("audit", "verify").returncode == 0


def test_DOC_06_a_custom_method_is_announced_and_answers_over_a_process(copy: Copy) -> None:
    copy.cook("A custom method of the language server")
    client = PipeClient.spawn(copy.command("serve"), copy.environment())
    try:
        params: dict[str, Any] = {"processId": None, "rootUri": copy.workspace.as_uri(), "capabilities": {}}
        answer = client.result(client.request("initialize", params))
        assert "remit/echo" in answer["capabilities"]["experimental"]["remit"]["methods"]
        client.notify("initialized", {})
        assert client.result(client.request("remit/echo", {"said": "x"})) == {"said": "x", "folders": 1}
    finally:
        client.hang_up()


def test_DOC_06_a_provider_answers_and_is_found_by_its_reference(copy: Copy) -> None:
    copy.cook("A model provider")
    done = copy.remit("ask", "--model", "echo:test", "hello there", "--json")
    assert done.returncode == 0, done.stderr
    assert "echo:test was told" in json.loads(done.stdout.splitlines()[-1])["result"]["final_output"]
    assert copy.told("model", "check", "echo:test")[-1]["ok"]


def test_DOC_06_a_transport_runs_turns_over_its_own_wire(copy: Copy) -> None:
    copy.cook("A transport")
    done = copy.remit("lines", said="which files are there?\nfind the definition of nothing\n")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "completed: a.py"
    assert second.split(":")[0] in {"completed", "failed"}


def test_DOC_06_an_audit_kind_is_recorded_and_verified(copy: Copy) -> None:
    copy.cook("An audit kind")
    assert copy.remit("ask", "which files are there?", REMIT_SPARE_MEMORY_MIB=str(1 << 20)).returncode == 1
    assert [row["kind"] for row in copy.told("audit", "log")].count("run_not_started") == 1
    assert copy.remit("audit", "verify").returncode == 0


def test_DOC_06_a_command_runs_is_listed_and_is_imported_only_when_it_runs(copy: Copy) -> None:
    copy.cook("A command of the command line")
    assert Path(copy.told("where")[0]["state"]).is_relative_to(copy.folder / "home")
    assert "where the state of a workspace lies" in copy.remit("--help").stdout
    listed = "import sys; from remit_server.cli.main import build_parser as b; b(''); print('remit_server.runtime' in sys.modules)"
    assert copy.python(listed) == "False\n"
