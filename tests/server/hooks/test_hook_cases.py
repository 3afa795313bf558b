"""HOK: recorded events of each agent are given to the hook as the agent does it; the answer is in the agent's own
form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hooked import CASES, Hooked, cases, word_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.formats.events import Unconcerned, parse_event
from remit_server.hooks.formats.tool_rows import ToolRows

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "agent", [name if name == "codex" else pytest.param(name, marks=pytest.mark.slow) for name in AGENTS]
)
def test_HOK_01_recorded_events_are_answered_in_the_agents_own_words(agent: str, tmp_path: Path) -> None:
    hooked = Hooked.made(tmp_path)

    wrong: list[str] = []
    for case in cases(agent):
        named = ("--event", case["named"]) if "named" in case else ()
        done = hooked(agent, case["event"], *named)
        right = done.code == 0 and word_of(agent, done) == case["word"]
        if case["rule"] is not None and case["word"] != "allow":
            right = right and f"Remit: {case['rule']}: " in done.out
        wrong += [] if right else [f"{json.dumps(case)[-260:]} -> {done}"]
    assert wrong == []


@pytest.mark.parametrize("agent", AGENTS)
def test_HOK_02_every_tool_that_is_known_has_a_recorded_event(agent: str) -> None:
    known: ToolRows = AGENTS[agent].tools
    recorded = {case["event"].get("tool_name") or case["event"].get("toolName") for case in cases(agent)}
    assert set(known) - recorded == set()
    assert json.loads((CASES / f"{agent}.json").read_text("utf-8"))["source"]


@pytest.mark.slow
def test_HOK_01_an_event_that_is_not_understood_stops_the_call(tmp_path: Path) -> None:
    hooked = Hooked.made(tmp_path)
    for text in (
        "",
        "x",
        "[]",
        "{}",
        '{"hook_event_name":"Unheard"}',
        '{"hook_event_name":"PreToolUse"}',
        "[" * 90_000,
    ):
        for agent, row in AGENTS.items():
            done = hooked(agent, text)
            assert (done.code, word_of(agent, done)) == (row.failed, "deny"), (agent, text[:40], done)
            assert "fix: " in done.err


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    agent=st.sampled_from(sorted(AGENTS)),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=10,
    ),
    tool=st.text(max_size=30) | st.just("Bash"),
)
def test_HOK_01_any_json_gets_a_valid_answer_and_no_unknown_tool_is_allowed(
    agent: str, value: object, tool: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    row = AGENTS[agent]
    hooked = SHARED.setdefault("here", Hooked.made(tmp_path_factory.mktemp("hooked")))
    name = next(name for name, each in row.events.items() if each.kind == "before" and each.tool is None)
    event = {"session_id": "s", "cwd": "{ROOT}", "hook_event_name": name, "tool_name": tool, "tool_input": value}
    done = hooked(agent, event)
    word = word_of(agent, done)
    if tool not in row.tools:
        assert word in {"ask", "deny"}, done
    assert done.code in {0, row.failed}


SHARED: dict[str, Hooked] = {}


def test_HOK_01_events_that_decide_nothing_are_let_pass() -> None:
    for agent in AGENTS.values():
        for name, row in agent.events.items():
            if row.kind == "other":
                assert parse_event(agent, json.dumps({"hook_event_name": name}).encode()) == Unconcerned(name)
