"""The choke point, through the runtime: gate, policy, approval, merge, audit, redaction (invariants 1-6)."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, call, intent
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_governance.intents import INTENT_TOOLS, allowed_tools
from remit_governance.policy.decision.recorded import recorded_actions, recorded_reasons
from remit_governance.values import Intent
from remit_governance.workflow.states import Mode
from remit_server.tools.git.git_commit import GitCommitArguments

EDIT = call("edit_file", path="a.py", old_text="total", new_text="subtotal", replace_all=True, whole_word=True)
RENAMED = SHOP.replace("total", "subtotal")


async def test_004_rename_end_to_end_declares_an_intent_in_every_step(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]},
        {"calls": [intent("CODE"), EDIT]},
        {"text": "Renamed."},
    )
    result = await bench.ask("rename total to subtotal in a.py")
    assert result.status == "completed"
    assert result.final_output == "Renamed."
    assert (bench.workspace / "a.py").read_text() == RENAMED
    assert [e.seq for e in bench.events] == list(range(1, len(bench.events) + 1))
    assert bench.kinds()[0] == "run_started"
    assert bench.kinds().count("run_completed") == 1
    assert bench.kinds()[-1] == "run_completed"
    for step in (1, 2):
        assert next(e.kind for e in bench.events if e.step == step and e.kind not in {"usage", "token_delta"}) == (
            "intent_selected"
        )
    assert [t.decision for t in result.tool_trace] == ["allowed", "review_required"]


@pytest.mark.parametrize(
    ("path", "rule", "built_in"),
    [
        (".git/config", "builtin.git-internals", True),
        (".vscode/settings.json", "builtin.editor-settings", True),
        ("kept.txt", "kept", False),
    ],
)
async def test_TOOL_02_the_fix_of_a_denied_call_follows_from_where_its_rule_comes_from(
    path: str, rule: str, built_in: bool, make_bench: Any
) -> None:
    policy = "version: 1\ncapabilities:\n  - { name: kept, match: { path_glob: kept.txt }, action: deny }\n"
    bench = await make_bench(
        {"calls": [intent("CODE"), call("write_file", path=path, content="x")]}, {"text": "ok"}, policy=policy
    )
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert (refused.error.code, *refused.rules) == ("denied", rule)
    assert (SAYS.no_policy_can_allow_this in refused.error.fix) is built_in


@pytest.mark.parametrize("handed", ["model", "person"])
async def test_TOOL_02_a_fix_is_worded_for_who_reads_it(handed: str, make_bench: Any) -> None:
    calls = [call("write_file", path=".git/config", content="x"), call("write_file", path="b.py", content="x")]
    bench = await make_bench({"calls": [intent("CODE"), *calls]}, {"text": "ok"})
    await bench.ask("go", asker=Answering("deny"))
    denied, refused = bench.of("tool_result")
    read = [each.error.fix if handed == "person" else each.output.partition("\nfix: ")[2] for each in (denied, refused)]
    assert ["a person" in each for each in read] == [handed == "model", False]
    assert [bool(each) for each in read] == [True, handed == "model"]


async def test_each_call_is_recorded_with_the_actions_that_policy_judged(make_bench: Any) -> None:
    """POL-13: the actions are kept for a replay, of denied calls too; a call refused before policy has none."""
    bench = await make_bench(
        {"calls": [call("read_file", path="a.py"), intent("READ_FILE"), call("read_file", path="a.py")]},
        {"calls": [intent("READ_FILE"), call("read_file", path=".env")]},
        {"calls": [intent("CODE"), EDIT]},
        {"text": "ok"},
    )
    await bench.ask("go")
    announced = [record.event for record in bench.audit() if record.event.kind == "tool_intent"]
    judged = [[(a.syscall, a.path, a.tool, a.intent) for a in recorded_actions(event)] for event in announced]
    assert judged == [
        [],
        [("fs.read", "a.py", "read_file", "READ_FILE")],
        [("fs.read", ".env", "read_file", "READ_FILE")],
        [("fs.read", "a.py", "edit_file", "CODE"), ("fs.write", "a.py", "edit_file", "CODE")],
    ]
    sized = recorded_actions(announced[3])[1]
    assert (sized.size, sized.caller_tags) == (
        len((bench.workspace / "a.py").read_bytes()),
        {"model", "core_plugin", "trusted_write"},
    )
    assert [reason["rule"] for reason in recorded_reasons(announced[2])] == ["no-secrets", "read-workspace"]
    others = [record.event for record in bench.audit() if record.event.kind != "tool_intent"]
    assert all(event.actions is None and event.reasons is None for event in others)


async def test_rule_1_mandatory_a_call_before_any_intent_is_refused(make_bench: Any) -> None:
    bench = await make_bench({"calls": [call("read_file", path="a.py")]}, {"text": "ok"})
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "intent_required"
    assert refused.output.startswith("error intent_required")


async def test_rule_1_intent_is_cleared_at_the_start_of_every_step(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py")]},
        {"calls": [call("read_file", path="a.py")]},
        {"text": "ok"},
    )
    await bench.ask("go")
    assert [r.ok for r in bench.of("tool_result")] == [True, False]
    assert bench.of("tool_result")[1].error.code == "intent_required"


@pytest.mark.parametrize(
    ("mode", "named"),
    [
        (Mode.EXPLORE, {"delegate"}),
        (Mode.STRICT, {"plan_complete", "workflow_request_exemption", "revise_tests", "delegate"}),
    ],
)
async def test_INT_04_a_refusal_of_the_gate_names_only_tools_that_the_caller_has(
    make_bench: Any, mode: Mode, named: set[str]
) -> None:
    own = {"calls": [intent("ANALYZE"), call("set_mode", mode="explore")]}
    bench = await make_bench(
        {"calls": [intent("PLAN"), call("read_file", path="a.py")]}, own, {"text": "ok"}, mode=mode
    )
    await bench.ask("go")
    refused, owned = (event.error for event in bench.of("tool_result"))
    assert {name for name in INTENT_TOOLS[Intent.PLAN].tools if name in refused.message} == named
    assert owned.code == "tool_not_allowed_for_intent"
    assert "PLAN" not in owned.fix


async def test_rule_3_compatibility_a_tool_outside_the_intent_is_refused_and_changes_nothing(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("READ_FILE"), EDIT]}, {"text": "ok"})
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "tool_not_allowed_for_intent"
    assert "read_file" in refused.error.message
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_rule_4_chaining_each_switch_is_shown_and_audited(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("READ_FILE"), call("read_file", path="a.py"), intent("CODE"), EDIT]}, {"text": "ok"}
    )
    await bench.ask("go")
    assert [(e.previous, e.intent) for e in bench.of("intent_selected")] == [
        (None, Intent.READ_FILE),
        (Intent.READ_FILE, Intent.CODE),
    ]
    selected = [r.event for r in bench.audit() if r.event.kind is AuditKind.INTENT_SELECTED]
    assert [e.intent for e in selected] == [Intent.READ_FILE, Intent.CODE]
    assert (bench.workspace / "a.py").read_text() == RENAMED


async def test_rule_5_an_unknown_tool_runs_under_no_intent(make_bench: Any) -> None:
    bench = await make_bench(*[{"calls": [intent(i.value), call("launch_missiles")]} for i in Intent], {"text": "ok"})
    await bench.ask("go")
    assert {r.error.code for r in bench.of("tool_result")} == {"tool_not_allowed_for_intent"}


@pytest.mark.parametrize("bad", ["READ", "", "code", "CODE "])
async def test_rule_2_a_made_up_intent_opens_nothing(make_bench: Any, bad: str) -> None:
    bench = await make_bench({"calls": [intent(bad), call("read_file", path="a.py")]}, {"text": "ok"})
    await bench.ask("go")
    assert bench.of("intent_selected") == []
    assert [r.error.code for r in bench.of("tool_result")] == ["invalid_arguments", "intent_required"]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([*Intent, "read_file", "edit_file", "list_files", "run_command", "nonsense"]), max_size=8)
)
async def test_no_sequence_of_calls_runs_a_tool_outside_the_last_intent(make_bench: Any, words: list[Any]) -> None:
    calls = [intent(w.value) if isinstance(w, Intent) else call(w, path="a.py") for w in words]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    await bench.ask("go", session=f"s{id(calls)}")
    active: Intent | None = None
    for event in bench.events:
        if event.kind == "intent_selected":
            active = event.intent
        if event.kind == "tool_result" and event.ok:
            assert active is not None
            assert event.tool in allowed_tools(active, INTENT_TOOLS)
    await bench.runtime.close()


async def test_invariant_6_every_call_leaves_two_records_and_the_chain_holds(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [call("read_file", path="a.py"), intent("CODE"), EDIT, call("edit_file", nonsense=1)]},
        {"calls": [intent("READ_FILE"), call("read_file", path="../x"), call("read_file", path="missing")]},
        {"text": "ok"},
    )
    await bench.ask("go")
    records = [r.event for r in bench.audit()]
    ids = {e.tool_call_id for e in bench.of("tool_call")}
    assert len(ids) == 5
    for call_id in ids:
        kinds = [e.kind for e in records if e.tool_call_id == call_id]
        assert kinds[0] is AuditKind.TOOL_INTENT or AuditKind.APPROVAL_REQUIRED in kinds
        assert kinds.count(AuditKind.TOOL_INTENT) == 1
        assert kinds.count(AuditKind.TOOL_OUTCOME) == 1
        assert kinds[-1] is AuditKind.TOOL_OUTCOME
    assert isinstance(verify(bench.settings.audit_database), Verified)


async def test_denied_by_default_policy_names_no_rule_and_denied_by_rule_names_it(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("WRITE_FILE"), call("write_file", path=".git/hooks/pre-commit", content="evil")]},
        {"text": "ok"},
    )
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "denied"
    assert refused.rules == ("builtin.git-internals",)
    assert bench.of("approval_required") == []
    assert not (bench.workspace / ".git").exists()


async def test_THR_approvals_rewrite_while_pending(make_bench: Any) -> None:
    """If a file is rewritten while its approval is pending, the person is asked again about the new content."""
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    path = bench.workspace / "a.py"
    asker = Answering(before=lambda: path.write_text("total = 'rewritten'\n"), later="deny")
    await bench.ask("go", asker=asker)
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "approval_denied"
    first, second = asker.asked
    assert "'rewritten'" not in first.diffs[0].diff
    assert "'rewritten'" in second.diffs[0].diff
    assert first.digest != second.digest
    assert path.read_text() == "total = 'rewritten'\n"


async def test_THR_approvals_a_file_that_never_rests_is_left_alone(make_bench: Any) -> None:
    """The file is rewritten before each answer; after the third question the call is refused."""
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    path = bench.workspace / "a.py"
    asker = Answering(before=lambda: path.write_text(f"total = {len(asker.asked)}\n") and None)
    await bench.ask("go", asker=asker)
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "stale"
    assert len(asker.asked) == 3
    assert path.read_text() == "total = 3\n"


async def test_THR_approvals_script_rewritten_while_pending(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("EXECUTE"), call("run_command", command="sh run.sh")]}, {"text": "ok"})
    script = bench.workspace / "run.sh"
    script.write_text("echo good\n")
    asker = Answering(before=lambda: script.write_text("echo evil\n"))
    await bench.ask("go", asker=asker)
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "stale"


async def test_a_denied_approval_changes_nothing_and_the_model_reads_why(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "I stopped."})
    result = await bench.ask("go", asker=Answering("deny"))
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "approval_denied"
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert result.final_output == "I stopped."
    assert [e.decision for e in bench.of("approval_resolved")] == ["deny"]


async def test_THR_approvals_headless_asking_is_denied_at_once(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "never said"})
    result = await bench.ask("go", asker=Answering(style="never"))
    assert result.status == "denied"
    assert result.error is not None
    assert result.error.code == "approval_unavailable"
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_THR_approvals_no_answer_in_time_is_a_deny(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"}, approval_timeout_s=0.05)
    await bench.ask("go", asker=Answering(style="stream"))
    assert [e.by for e in bench.of("approval_resolved")] == ["deadline"]
    assert bench.of("tool_result")[0].error.code == "approval_expired"
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_an_answer_for_the_session_covers_exactly_what_was_shown(make_bench: Any) -> None:
    other = call("edit_file", path="b.py", old_text="x", new_text="y")
    bench = await make_bench(
        {"calls": [intent("CODE"), EDIT]},
        {"calls": [intent("CODE"), call("edit_file", path="a.py", old_text="for n", new_text="for m")]},
        {"calls": [intent("CODE"), other]},
        {"text": "ok"},
    )
    (bench.workspace / "b.py").write_text("x\n")
    asker = Answering(scope="session")
    await bench.ask("go", asker=asker)
    assert [q.title for q in asker.asked] == ["change a.py", "change b.py"]
    assert asker.asked[0].session_rule is not None
    assert "a.py" in asker.asked[0].session_rule


async def test_redaction_covers_results_events_and_audit(make_bench: Any) -> None:
    secret = "ghp_" + "a1B2" * 9
    bench = await make_bench({"calls": [intent("READ_FILE"), call("read_file", path="conf.py")]}, {"text": "ok"})
    (bench.workspace / "conf.py").write_text(f"TOKEN = '{secret}'\n")
    await bench.ask("go")
    assert all(secret not in e.model_dump_json() for e in bench.events)
    assert secret not in str([r.json() for r in bench.audit()])


async def test_bidi_and_control_characters_are_visible_in_the_question(make_bench: Any) -> None:
    sneaky = call("write_file", path="b.py", content="ok = 1 \u202e# evil\r\n")
    bench = await make_bench({"calls": [intent("WRITE_FILE"), sneaky]}, {"text": "ok"})
    asker = Answering("deny")
    await bench.ask("go", asker=asker)
    assert "\u202e" not in asker.asked[0].diffs[0].diff
    assert "202E" in asker.asked[0].diffs[0].diff


async def test_a_call_of_the_persons_own_passes_the_same_gate(make_bench: Any) -> None:
    bench = await make_bench()
    own = {"type": "call", "tool": "read_file", "arguments": {"path": "a.py"}}
    await bench.ask({**own, "intent": "READ_FILE"}, {**own, "intent": "CODE"}, own)
    assert [r.error.code if r.error else "ok" for r in bench.of("tool_result")] == [
        "ok",
        "tool_not_allowed_for_intent",
        "intent_required",
    ]


async def test_run_policy_only_tightens_the_tools(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    await bench.ask("go", policy={"allow_tools": ["read_file"]})
    assert bench.of("tool_result")[0].error.code == "tool_unavailable"
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_an_audit_that_cannot_be_written_stops_the_call(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    bench.runtime.dispatcher.parts.audit.close()
    result = await bench.ask("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "audit_broken"
    assert (bench.workspace / "a.py").read_text() == SHOP


@pytest.mark.slow
async def test_THR_model_ten_thousand_calls_are_cut_off(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("READ_FILE")] + [call("read_file", path="a.py")] * 10_000})
    result = await bench.ask("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "limit_reached"
    assert len(bench.of("tool_result")) <= 32


async def test_THR_model_the_same_refused_call_over_and_over_ends_the_turn(make_bench: Any) -> None:
    bench = await make_bench(*[{"calls": [call("read_file", path="a.py")]}] * 25)
    result = await bench.ask("go")
    assert result.error is not None
    assert result.error.code == "limit_reached"
    assert len(bench.of("tool_result")) == 4
    (warned,) = bench.of("warning")
    assert "made the same call with the same result, 3 times" in warned.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write where the mode says nobody may")
async def test_a_read_only_workspace_gives_a_clear_error(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    bench.workspace.chmod(0o500)
    try:
        await bench.ask("go")
    finally:
        bench.workspace.chmod(0o700)
    assert bench.of("tool_result")[0].error.code == "read_only"


async def test_cancel_while_a_question_is_open_denies_it(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    running = asyncio.create_task(bench.ask("go", asker=Answering(style="stream")))
    await bench.until("approval_required")
    assert bench.runtime.cancel() == 1
    result = await running
    assert result.status == "cancelled"
    assert [e.by for e in bench.of("approval_resolved")] == ["cancelled"]
    assert bench.kinds()[-1] == "run_completed"
    assert (bench.workspace / "a.py").read_text() == SHOP
    records = [r.event.kind for r in bench.audit()]
    assert records[-1] is AuditKind.TOOL_OUTCOME


@pytest.mark.parametrize(
    ("tool", "arguments", "names"),
    [
        ("git_commit", {"message": "one\r\ntwo\rthree"}, ("U+000D", "9")),
        ("git_commit", {"message": "one\r\n\x1b[2J"}, ("U+001B", "6")),
        ("run_tests", {"filter": "-k"}, ("`-`", "1")),
    ],
)
async def test_TOOL_02_of_a_text_that_is_not_taken_the_first_character_is_named(
    make_bench: Any, tool: str, arguments: dict[str, str], names: tuple[str, str]
) -> None:
    bench = await make_bench({"calls": [intent("EXECUTE"), call(tool, **arguments)]}, {"text": "ok"})
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "invalid_arguments"
    for name in names:
        assert name in refused.error.why


@pytest.mark.parametrize("message", ["one\r\n\r\ntwo", "one\ttwo", "\u2028 and \u202e"])
def test_TOOL_02_a_commits_message_has_the_line_ends_of_any_editor(message: str) -> None:
    assert GitCommitArguments.model_validate({"message": message}).message == message


async def test_TOOL_02_an_unknown_arguments_name_of_any_length_is_told_by_its_length(make_bench: Any) -> None:
    """The name is the model's own, and a part of it may be half of a secret."""
    calls = [intent("ANALYZE"), call("read_file", path="a.py", **{"ghp_a1B2" * 2_000: 1})]
    bench = await make_bench({"calls": calls}, {"text": "ok"})
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "invalid_arguments"
    assert "16,000" in refused.error.why
    told = refused.error.model_dump_json() + refused.output
    assert len(told) < 2_000
    assert "ghp_a1B2" not in told
