"""The two-stage intent gate: five rules and the whole matrix (INT-02)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_governance.intents import (
    ALIASES,
    INTENT_TOOLS,
    NO_INTENT,
    SELECT_INTENT,
    IntentRow,
    allowed_tools,
    gate,
    select,
)
from remit_governance.values import Effect, Intent

READING = [
    "read_file",
    "list_files",
    "search_files",
    "repo_map",
    "get_diagnostics",
    "get_symbols",
    "get_definition",
    "get_references",
    "git_status",
    "git_diff",
]
# Written from the table in the specification, not from the code.
MATRIX = {
    Intent.PLAN: ["plan_complete", "workflow_request_exemption", "revise_tests", "delegate"],
    Intent.ANALYZE: READING,
    Intent.DEBUG: READING,
    Intent.READ_FILE: ["read_file"],
    Intent.CODE: ["write_file", "edit_file", "replace_lines", "apply_diff", "delete_file", "move_file"],
    Intent.WRITE_FILE: ["write_file"],
    Intent.EXECUTE: [
        *("run_command", "run_tests", "git_commit"),
        *("start_process", "read_process", "stop_process", "list_processes"),
    ],
}
TOOLS = sorted({tool for tools in MATRIX.values() for tool in tools})


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("intent", list(Intent))
def test_matrix(intent: Intent, tool: str) -> None:
    refusal = gate(select(NO_INTENT, intent), tool)
    assert (refusal is None) == (tool in MATRIX[intent])
    assert (tool in allowed_tools(intent)) == (tool in MATRIX[intent])


@rows("tool", TOOLS)
def test_gate_rule_1_mandatory(tool: str) -> None:
    refusal = gate(NO_INTENT, tool)
    assert refusal is not None
    assert refusal.code == "intent_required"
    assert refusal.allowed == (SELECT_INTENT,)
    assert refusal.openers == tuple(intent for intent in Intent if tool in MATRIX[intent])


def test_gate_rule_2_capture() -> None:
    assert gate(NO_INTENT, SELECT_INTENT) is None
    assert select(NO_INTENT, Intent.CODE).active is Intent.CODE


def test_gate_rule_3_compatibility_lists_what_is_allowed() -> None:
    refusal = gate(select(NO_INTENT, Intent.READ_FILE), "write_file")
    assert refusal is not None
    assert refusal.code == "tool_not_allowed_for_intent"
    assert refusal.allowed == (SELECT_INTENT, "read_file")
    assert "read_file" in refusal.message
    assert "CODE" in refusal.fix
    assert "WRITE_FILE" in refusal.fix


def test_gate_rule_4_chaining_replaces() -> None:
    state = select(select(NO_INTENT, Intent.READ_FILE), Intent.CODE)
    assert gate(state, "write_file") is None
    assert gate(state, "read_file") is not None
    assert gate(state, SELECT_INTENT) is None


@pytest.mark.parametrize("intent", list(Intent))
@pytest.mark.parametrize("effect", [None, Effect.WRITE, Effect.NETWORK, Effect.CONTROL])
def test_gate_rule_5_fail_closed(intent: Intent, effect: Effect | None) -> None:
    refusal = gate(select(NO_INTENT, intent), "somebodys_plugin", known_effect=effect)
    assert refusal is not None
    assert refusal.code == "tool_not_allowed_for_intent"
    assert SAYS.no_intent_allows in refusal.fix


def test_external_tools_enter_by_their_declared_effect() -> None:
    external = {"weather": Effect.READ, "deploy": Effect.EXECUTE, "fetch": Effect.NETWORK}
    assert "weather" in allowed_tools(Intent.ANALYZE, external=external)
    assert allowed_tools(Intent.EXECUTE, external=external)[-1] == "deploy"
    assert all("fetch" not in allowed_tools(i, external=external) for i in Intent)
    assert gate(select(NO_INTENT, Intent.DEBUG), "weather", known_effect=Effect.READ) is None


def test_a_declaration_moves_no_built_in_tool() -> None:
    """THR-model-effect-claim: `write_file` stays a tool of its own intents, even if it claims that it only reads."""
    assert gate(select(NO_INTENT, Intent.ANALYZE), "write_file", known_effect=Effect.READ) is not None


@pytest.mark.parametrize(("alias", "tool"), ALIASES.items())
def test_aliases_are_judged_as_what_they_stand_for(alias: str, tool: str) -> None:
    for intent in Intent:
        state = select(NO_INTENT, intent)
        assert (gate(state, alias) is None) == (gate(state, tool) is None)


def test_an_intent_without_a_row_allows_nothing() -> None:
    matrix = {Intent.CODE: IntentRow(tools=("write_file",))}
    assert allowed_tools(Intent.DEBUG, matrix) == ()
    assert gate(select(NO_INTENT, Intent.DEBUG), "read_file", matrix) is not None


CALLS = st.lists(st.one_of(st.sampled_from(list(Intent)), st.sampled_from([*TOOLS, *ALIASES, "unknown"])), max_size=30)


@given(CALLS)
def test_no_sequence_lets_a_tool_through_outside_the_last_intent(calls: list[Intent | str]) -> None:
    state, last = NO_INTENT, None
    for call in calls:
        if isinstance(call, Intent):
            assert gate(state, SELECT_INTENT) is None
            state, last = select(state, call), call
        else:
            through = gate(state, call) is None
            assert through == (last is not None and ALIASES.get(call, call) in MATRIX[last])


def test_the_default_matrix_gives_network_tools_no_intent() -> None:
    assert all(Effect.NETWORK not in row.external for row in INTENT_TOOLS.values())
