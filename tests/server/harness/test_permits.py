"""A call runs under a token of its own, and under the policy that judged it (INT-01)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent

from remit_governance.permissions.permissions import PermissionConfig
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.rulebook import Rulebook

EDIT = call("edit_file", path="a.py", old_text="total", new_text="subtotal", replace_all=True, whole_word=True)
READ = call("read_file", path="a.py")
LAX = "capabilities: [{ name: all, match: { syscall: [fs.read, fs.write] }, action: allow }]"
STRICT = compile_policy([Source("p", "capabilities: [{ name: no, match: { syscall: fs.write }, action: deny }]")])


def rulebook_of(bench: Bench) -> Rulebook:
    return bench.runtime.dispatcher.parts.rulebook


async def test_003_every_call_runs_under_a_token_that_ends_with_it(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("READ_FILE"), READ]}, {"calls": [intent("CODE"), EDIT]}, policy=LAX)
    await bench.ask("go")
    records = [r.event for r in bench.audit() if r.event.tool_name is not None]
    assert [r.capability_id for r in records] == ["1", "1", "2", "2"]
    assert not rulebook_of(bench).tokens._tokens


async def test_thr_approvals_policy_changed_while_a_question_is_pending(make_bench: Any) -> None:
    """THR-approvals-policy-change: an approval that was given under one policy is not used under the next."""
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"})
    asker = Answering(before=lambda: rulebook_of(bench).replace(STRICT, PermissionConfig()) and None)
    await bench.ask("go", asker=asker)
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "stale"
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_a_policy_changed_between_judging_and_running_stops_the_call(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await make_bench({"calls": [intent("CODE"), EDIT]}, {"text": "ok"}, policy=LAX)
    rulebook = rulebook_of(bench)
    mint = type(rulebook.tokens).mint

    def mint_then_change(*arguments: Any, **more: Any) -> Any:
        token = mint(*arguments, **more)
        rulebook.replace(STRICT, PermissionConfig())
        return token

    monkeypatch.setattr(type(rulebook.tokens), "mint", mint_then_change)
    await bench.ask("go")
    (refused,) = bench.of("tool_result")
    assert refused.error.code == "stale"
    assert (bench.workspace / "a.py").read_text() == SHOP
