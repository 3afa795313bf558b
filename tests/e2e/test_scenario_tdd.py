"""FLW-06: the scenario "add error handling to parse_config", step by step, in each mode.

Server, policy, sandbox, test runner, git and audit log are real; the model follows the script of
`remit demo --scenario tdd`. At every event the test looks at the state, both files and the number of commits; that is
exact, because the server waits for an answer before each write and run.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.command_line import CommandLine

from remit_governance.workflow.states import Mode
from remit_server.cli.commands.turns.demo import sample_workspace
from remit_server.cli.main import DONE
from remit_server.cli.tdd_scenario import CODE, CODE_FILE, MESSAGE, NEW_TEST, TEST_FILE, make_repository, run_scenario
from remit_server.transports.lsp.editor import Editor

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


class Moment(NamedTuple):
    """The situation when an event arrived; `files` are those that differ from the first commit."""

    event: str
    state: str
    files: str
    commits: int


def moments(*lines: str) -> list[Moment]:
    """Reads a table: event, state, changed files, commits."""
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [Moment(event, state, files, int(commits)) for event, state, files, commits in rows]


READING = ("ok read_file         | planning       |             | 1",) * 2
TESTS_FIRST = moments(
    "state                | planning       |             | 1",
    *READING,
    "denied write_file    | planning       |             | 1",
    "state                | test_writing   |             | 1",
    "ok plan_complete     | test_writing   |             | 1",
    "asked write_file     | test_writing   |             | 1",
    "ok write_file        | test_writing   | test        | 1",
    "asked run_tests      | test_writing   | test        | 1",
    "state                | code_writing   | test        | 1",
    "ok run_tests         | code_writing   | test        | 1",
    "asked write_file     | code_writing   | test        | 1",
    "ok write_file        | code_writing   | test code   | 1",
    "asked run_tests      | code_writing   | test code   | 1",
    "state                | validating     | test code   | 1",
    "state                | reviewing      | test code   | 1",
    "ok run_tests         | reviewing      | test code   | 1",
    "asked git_commit     | reviewing      | test code   | 1",
    "state                | committing     | test code   | 1",
    "state                | idle           | test code   | 2",
    "ok git_commit        | idle           | test code   | 2",
)
EXPLORED = moments(
    "state                | planning       |             | 1",
    *READING,
    "state                | exploring      |             | 1",
    "ok plan_complete     | exploring      |             | 1",
    "asked write_file     | exploring      |             | 1",
    "ok write_file        | exploring      | test        | 1",
    "asked run_tests      | exploring      | test        | 1",
    "state                | validating     | test        | 1",
    "state                | exploring      | test        | 1",
    "ok run_tests         | exploring      | test        | 1",
    "asked write_file     | exploring      | test        | 1",
    "ok write_file        | exploring      | test code   | 1",
    "asked run_tests      | exploring      | test code   | 1",
    "state                | validating     | test code   | 1",
    "state                | reviewing      | test code   | 1",
    "ok run_tests         | reviewing      | test code   | 1",
    "asked git_commit     | reviewing      | test code   | 1",
    "state                | committing     | test code   | 1",
    "state                | idle           | test code   | 2",
    "ok git_commit        | idle           | test code   | 2",
)
EXPECTED = {Mode.STRICT: TESTS_FIRST, Mode.EXPLORE: EXPLORED, Mode.DEBUG: EXPLORED}

# The audit records of a call in its own sandbox: the decision and its token, and the end.
DECIDED = ("approval_required", "approval_resolved", "capability_issued", "tool_intent", "capability_used")
ENDED = ("capability_ended", "tool_outcome")
SANDBOX = ("sandbox_created", "sandbox_destroyed")
RECORDS: dict[str, tuple[str, ...]] = {
    "read_file": ("tool_intent", "tool_outcome"),
    "denied": ("tool_intent", "tool_outcome"),
    "plan_complete": ("capability_issued", "tool_intent", "capability_used", "state_transition", *ENDED),
    "write_file": (*DECIDED, *ENDED),
    "first run_tests": (*DECIDED, *SANDBOX, "state_transition", *ENDED),
    "run_tests": (*DECIDED, "state_transition", *SANDBOX, "state_transition", *ENDED),
    "git_commit": (*DECIDED, "state_transition", "committed", "state_transition", *ENDED),
}


class Witness:
    """A story that looks at state and disk at each event, and allows every question."""

    def __init__(self, editor: Editor, workspace: Path, mode: Mode) -> None:
        self._editor, self._workspace, self._mode = editor, workspace, mode
        self._answers: list[asyncio.Task[Any]] = []
        self._state = "idle"
        self.seen: list[Moment] = []

    def take(self, event: dict[str, Any]) -> None:
        match event["kind"]:
            case "state_changed" if event["mode"] == self._mode:
                self._state = event["state"]
                self._note("state")
            case "approval_required":
                self._note(f"asked {event['tool']}")
                answer = {"approval_id": event["approval_id"], "decision": "allow", "scope": "once"}
                self._answers.append(asyncio.create_task(self._editor.request("remit/approval/respond", answer)))
            case "tool_result":
                self._note(f"{'ok' if event['ok'] else event['error']['code']} {event['tool']}")
            case _:
                pass

    async def finish(self) -> None:
        await asyncio.gather(*self._answers)

    def _note(self, event: str) -> None:
        test, code = (self._workspace / name for name in (TEST_FILE, CODE_FILE))
        changed = ["test"] if test.read_text().endswith(NEW_TEST) else []
        changed += ["code"] if code.read_text() == CODE else []
        reflog = (self._workspace / ".git" / "logs" / "HEAD").read_text()
        self.seen.append(Moment(event, self._state, " ".join(changed), len(reflog.splitlines())))


@pytest.fixture(scope="module", params=Mode)
def scenario(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mode, list[Moment], list[dict[str, Any]], CommandLine]:
    mode = request.param
    workspace = sample_workspace(tmp_path_factory.mktemp("shop") / "shop", "tdd")
    make_repository(workspace)
    remit = CommandLine.alone(workspace, tmp_path_factory.mktemp("own"))
    witnesses: list[Witness] = []

    def begin(editor: Editor) -> Witness:
        witnesses.append(Witness(editor, workspace, mode))
        return witnesses[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE_DIR", str(remit.state))
        ended = asyncio.run(run_scenario(workspace, mode, begin))  # type: ignore[arg-type]
    assert (ended.status, ended.verified) == ("completed", True)
    logged = remit("audit", "log", "--json", "--limit", "500")
    assert logged.code == DONE, logged.err
    return mode, witnesses[0].seen, [json.loads(line) for line in logged.out.splitlines()], remit


def test_FLW_06_state_and_disk_are_right_at_every_step(scenario: Any) -> None:
    mode, seen, _, _ = scenario
    begun = next(number for number, moment in enumerate(seen) if moment.state == "planning")
    assert seen[begun:] == EXPECTED[mode]


def test_FLW_06_every_call_is_recorded_from_the_decision_to_its_end_in_the_state_it_was_made_in(scenario: Any) -> None:
    mode, _, records, _ = scenario
    steps: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        if record["caller"] == "model" and record["kind"] not in {"intent_selected", "checkpoint"}:
            steps.setdefault(record["step"], []).append(record)
    kinds = [tuple(record["kind"] for record in steps[step]) for step in sorted(steps)]
    first = "first run_tests" if mode is Mode.STRICT else "run_tests"
    begin = ("state_transition",)
    assert [kind for kind in kinds if kind != begin] == [
        RECORDS["read_file"] * 2 if kinds[0] == begin else begin + RECORDS["read_file"] * 2,
        *([RECORDS["denied"]] if mode is Mode.STRICT else []),
        *(RECORDS[name] for name in ("plan_complete", "write_file", first, "write_file", "run_tests", "git_commit")),
    ]
    for record in records:
        if record["kind"] == "tool_intent":
            assert record["policy_decision"] in {"allowed", "denied", "review_required"}
            assert record["policy_rule_name"]
        if record["kind"] == "sandbox_created":
            assert (record["tool_name"], record["metadata"]["template"]) == ("run_tests", "code-executor")


def test_FLW_06_the_states_that_the_audit_holds_are_those_that_were_shown(scenario: Any) -> None:
    _, seen, records, _ = scenario
    shown = [moment.state for moment in seen if moment.event == "state"]
    held = [record["state_machine_state"] for record in records if record["kind"] == "state_transition"]
    assert held == shown[shown.index("planning") :]


def test_FLW_03_the_hasty_write_is_audited_with_its_rule(scenario: Any) -> None:
    mode, _, records, _ = scenario
    denied = [record for record in records if record.get("policy_decision") == "denied"]
    rules = {record["policy_rule_name"] for record in denied}
    assert rules == ({"workflow.nothing-is-written"} if mode is Mode.STRICT else set())


def test_AUD_01_the_commit_is_what_was_approved_and_the_chain_holds(scenario: Any) -> None:
    _, _, records, remit = scenario
    (committed,) = [record for record in records if record["kind"] == "committed"]
    reflog = (remit.workspace / ".git" / "logs" / "HEAD").read_text().splitlines()
    assert reflog[-1].split()[:2] == [committed["metadata"]["parent"], committed["metadata"]["commit"]]
    assert reflog[-1].endswith(f"commit: {MESSAGE}")
    verified = remit("audit", "verify")
    assert verified.code == DONE, verified.out


def test_DOC_04_the_page_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """Except for folders, identities and times, which differ from run to run (DOC-04)."""
    page = (ROOT / "docs" / "workflow-run.md").read_text(encoding="utf-8")
    shown = page.partition("```text\n")[2].partition("```")[0]
    done = CommandLine.alone(tmp_path, tmp_path)("demo", "--scenario", "tdd")
    assert done.code == DONE, done.out + done.err
    assert plain(shown) == plain(done.out)


def plain(output: str) -> list[str]:
    """Returns the lines with placeholders for what differs from run to run: folders, identities, times."""
    for pattern, instead in (
        (r"\S*/remit/demo/shop|\S*/state/demo/shop", "SHOP"),
        (r"\(\S*/workflow\.yaml", "(workflow.yaml"),
        (r"workspace_id: w[0-9a-f]{16}", "workspace_id: ID"),
        (r"to master [0-9a-f]{12}", "to master COMMIT"),
        (r"\b[0-9.]+ m?s\b", "TIME"),
    ):
        output = re.sub(pattern, instead, output)
    return [line.rstrip() for line in output.strip().splitlines()]
