"""`remit demo --scenario tdd`: error handling for a parser, tests first, by a model that follows a script (FLW-06).

Server, policy, workflow, sandbox, runner, git and audit are real; only the model's answers come from a script.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from remit_governance.workflow.states import Mode
from remit_server.chat.session_commands import mode_call
from remit_server.cli.commands.turns.demo import Story
from remit_server.transports.lsp.editor import OWN_SERVER, Editor

REQUEST = "Add error handling to parse_config"
MESSAGE = "Name the line that parse_config cannot read"
TEST_FILE, CODE_FILE = "test_config.py", "config.py"
NEW_TEST = """
    def test_a_line_that_is_none_is_named(self):
        try:
            parse_config("a=1\\nb")
            said = ""
        except ValueError as error:
            said = str(error)
        self.assertEqual(said, "line 2 is no key=value: b")
"""
CODE = '''"""Reads a configuration of `key=value` lines."""


def parse_config(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, sign, value = line.partition("=")
        if not sign:
            raise ValueError(f"line {number} is no key=value: {line}")
        found[key] = value
    return found
'''
STATES: Mapping[Mode, tuple[str, ...]] = MappingProxyType(
    {
        Mode.STRICT: ("planning", "test_writing", "code_writing", "validating", "reviewing", "committing", "idle"),
        **dict.fromkeys(
            (Mode.EXPLORE, Mode.DEBUG),
            ("planning", "exploring", "validating", "exploring", "validating", "reviewing", "committing", "idle"),
        ),
    }
)
"""The states that the scenario passes through, by mode."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of the scenario: the states that it passed through, and the rules that refused something."""

    states: tuple[str, ...]
    refused: tuple[str, ...]
    verified: bool
    status: str


def script_of(mode: Mode) -> list[dict[str, Any]]:
    """Returns what the model answers. In strict mode it first tries to write the code at once."""
    test = (files("remit_server.demo") / "tdd" / TEST_FILE).read_text(encoding="utf-8") + NEW_TEST
    read = _step("ANALYZE", *(("read_file", {"path": path}) for path in (CODE_FILE, TEST_FILE)))
    plan = _step("PLAN", ("plan_complete", {"plan": "1. a test that fails 2. the code 3. all tests 4. commit"}))
    write_test = _step("WRITE_FILE", ("write_file", {"path": TEST_FILE, "content": test}))
    write_code = _step("WRITE_FILE", ("write_file", {"path": CODE_FILE, "content": CODE}))
    run = _step("EXECUTE", ("run_tests", {}))
    commit = _step("EXECUTE", ("git_commit", {"message": MESSAGE}))
    hasty = [write_code] if mode is Mode.STRICT else []
    done = {"text": "parse_config names the line that it cannot read; a test holds it to that."}
    return [read, *hasty, plan, write_test, run, write_code, run, commit, done]


def _step(intent: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    declared = {"name": "select_active_intent", "arguments": {"intent": intent}}
    return {"calls": [declared, *({"name": name, "arguments": arguments} for name, arguments in calls)]}


def make_repository(workspace: Path) -> None:
    """Makes the copied sample a repository with one commit."""
    from dulwich import porcelain

    (workspace / "gitignore").rename(workspace / ".gitignore")
    with porcelain.init(str(workspace)) as repository:
        config = repository.get_config()
        for name, value in (("name", "Demo"), ("email", "demo@localhost")):
            config.set("user", name, value)
        config.write_to_path()
        porcelain.add(repository, [str(path) for path in workspace.iterdir() if path.is_file()])
        porcelain.commit(repository, message="A parser of configuration lines")


def tell(ended: Ended, mode: Mode, story_tell: Callable[[str], None]) -> bool:
    """Tells how it went; returns whether all of it went as it should."""
    story_tell(f"\n{mode} mode: {' → '.join(('idle', *ended.states))}")
    if ended.refused:
        story_tell(f"calls refused by: {', '.join(ended.refused)}")
    as_it_should = ended.states == STATES[mode] and ended.verified and ended.status == "completed"
    story_tell("the audit log is intact" if ended.verified else "the audit log is not intact")
    return as_it_should


async def run_scenario(workspace: Path, mode: Mode, make_story: Callable[[Editor], Story]) -> Ended:
    """Runs the scenario through a language server; a story shows its events and answers its questions."""
    script = workspace.parent / "tdd-model.json"
    script.write_text(json.dumps(script_of(mode)), encoding="utf-8")
    environment = {
        **os.environ,
        "REMIT_CONFIG_DIR": str(workspace.parent / "no-configuration"),
        "REMIT_MODEL": f"script:{script}",
        "REMIT_MODE": Mode.EXPLORE.value,
    }
    editor = await Editor.start(OWN_SERVER, workspace, environment)
    story = make_story(editor)
    states: list[str] = []
    refused: list[str] = []

    def take(event: dict[str, Any]) -> None:
        if event["kind"] == "state_changed" and event["mode"] == mode:
            states.append(event["state"])
        if event["kind"] == "tool_result" and not event["ok"]:
            refused.extend(event["rules"] or [event["error"]["code"]])
        story.take(event)

    try:
        await editor.initialize({"approvals": "stream"})
        parts = [*([] if mode is Mode.EXPLORE else [mode_call(mode).model_dump(mode="json")])]
        asked = [*parts, {"type": "text", "text": REQUEST}]
        request = {"session_id": f"demo-{uuid.uuid4().hex[:8]}", "turn_id": "1", "input": asked}
        result = await editor.run(request, take)
        await story.finish()
        audit = await editor.request("workspace/executeCommand", {"command": "remit.audit.verify", "arguments": []})
    finally:
        await editor.shutdown()
    passed = tuple(states[1:] if states[:1] == ["idle"] else states)
    return Ended(passed, tuple(refused), bool(audit["ok"]), str(result["status"]))
