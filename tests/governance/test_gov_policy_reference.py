"""The real evaluator against the reference, over generated rule sets and actions, in any order (003, order-independent)."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit_governance.policy.action import parse_action
from remit_governance.policy.compile import Source, compile_policy
from remit_governance.policy.evaluate import evaluate
from remit_governance.policy.explain import explain

_SPEC = importlib.util.spec_from_file_location("policy_reference", Path(__file__).with_name("reference.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
REFERENCE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(REFERENCE)

VALUES = {
    "syscall": ["fs.read", "fs.write", "process.exec"],
    "path_glob": ["**", "src/**", "docs/**", "a.py", "deep"],
    "caller_tag": ["model", "human", "third_party"],
    "state": ["idle", "test_writing"],
    "mode": ["strict", "debug"],
    "intent": ["CODE", "READ_FILE"],
    "tool": ["write_file", "read_file"],
    "command": ["pytest", "git status", "git"],
    "host": ["example.org", "localhost"],
}
PATHS = ["src/a.py", "src/deep/b.py", "docs/a.py", "c.py", "deep/src/x"]


def _match() -> st.SearchStrategy[dict[str, list[str]]]:
    keys = st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=3)
    return keys.flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.lists(st.sampled_from(VALUES[name]), unique=True, max_size=3) for name in names}
        )
    )


RULES = st.lists(
    st.fixed_dictionaries(
        {"match": _match(), "action": st.sampled_from(["allow", "deny", "pass", "require_review"])},
        optional={
            "except": st.lists(_match(), max_size=2),
            "constraints": st.fixed_dictionaries({"max_file_size": st.sampled_from([10, 100])}),
        },
    ),
    max_size=8,
).map(lambda rules: [{"name": f"rule-{i}", **rule} for i, rule in enumerate(rules)])

ACTIONS = st.fixed_dictionaries(
    {"syscall": st.sampled_from([*VALUES["syscall"], "made.up"])},
    optional={
        "path": st.sampled_from(PATHS),
        "caller_tags": st.lists(st.sampled_from(VALUES["caller_tag"]), unique=True, max_size=2),
        "state": st.sampled_from(VALUES["state"]),
        "mode": st.sampled_from(VALUES["mode"]),
        "intent": st.sampled_from(VALUES["intent"]),
        "tool": st.sampled_from(VALUES["tool"]),
        "command": st.sampled_from([["pytest", "-q"], ["git", "status"], ["git", "push"], ["rm"]]),
        "host": st.sampled_from(VALUES["host"]),
        "size": st.integers(0, 200),
    },
)


def _policy(rules: list[dict[str, Any]]) -> str:
    return json.dumps({"version": 1, "capabilities": rules}, indent="\t")


@given(rules=RULES, action=ACTIONS)
@settings(max_examples=500, deadline=None)
def test_agrees_with_the_reference(rules: list[dict[str, Any]], action: dict[str, Any]) -> None:
    decision = evaluate(compile_policy([Source("p", _policy(rules))]), parse_action(action))
    assert (decision.verdict.word, set(decision.rules)) == REFERENCE.reference(rules, action)


@given(rules=RULES, action=ACTIONS, seed=st.integers())
@settings(max_examples=150, deadline=None)
def test_order_never_matters(rules: list[dict[str, Any]], action: dict[str, Any], seed: int) -> None:
    shuffled = random.Random(seed).sample(rules, len(rules))
    judged = [explain(compile_policy([Source("p", _policy(each))]), parse_action(action)) for each in (rules, shuffled)]
    for answer in judged:
        for reason in answer["reasons"]:
            reason["line"] = None
    assert judged[0] == judged[1]


@given(rules=RULES, action=ACTIONS)
@settings(max_examples=150, deadline=None)
def test_a_project_policy_only_tightens(rules: list[dict[str, Any]], action: dict[str, Any]) -> None:
    """THR-config-project-policy: whatever a workspace's file says, no verdict becomes laxer."""
    own = [{"name": f"own-{i}", **{k: v for k, v in r.items() if k != "name"}} for i, r in enumerate(rules[::2])]
    project = [r for r in rules[1::2] if r["action"] != "allow"]
    alone = evaluate(compile_policy([Source("own", _policy(own))]), parse_action(action))
    both = evaluate(
        compile_policy([Source("own", _policy(own)), Source("project", _policy(project), project=True)]),
        parse_action(action),
    )
    assert both.verdict >= alone.verdict
