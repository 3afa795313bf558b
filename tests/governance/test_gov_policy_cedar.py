"""The evaluator, compared with Cedar's on policies that both languages can express: an independent engine is the oracle
(POL-02).
"""

from __future__ import annotations

import json
from typing import Any

import cedar
import pytest
from cedarpy import PolicySet, is_authorized_batch
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy

VALUES: dict[str, list[str]] = {
    "syscall": ["fs.read", "fs.write", "process.exec"],
    "path_glob": ["src/**", "src/a.py", "src/deep/**", "docs/index.md", "src/deep/er/c.py", "docs/**"],
    "caller_tag": ["model", "human", "third_party"],
    "intent": ["CODE", "READ_FILE"],
    "tool": ["write_file", "read_file"],
    "mode": ["strict", "debug"],
    "state": ["idle", "test_writing"],
}
PATHS = ["src/a.py", "src/deep/er/c.py", "src/deep", "src", "docs/index.md", "docs/index.md/x", "srcs/a.py", "a.py"]


def _match() -> st.SearchStrategy[dict[str, list[str]]]:
    keys = st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=3)
    return keys.flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.lists(st.sampled_from(VALUES[name]), unique=True, min_size=1) for name in names}
        )
    )


RULES = st.lists(
    st.fixed_dictionaries(
        {"match": _match(), "action": st.sampled_from(["allow", "allow", "deny"])},
        optional={"except": st.lists(_match(), max_size=2)},
    ),
    max_size=8,
).map(lambda rules: [{"name": f"rule-{number}", **rule} for number, rule in enumerate(rules)])

ACTIONS = st.fixed_dictionaries(
    {"syscall": st.sampled_from([*VALUES["syscall"], "made.up"])},
    optional={
        "path": st.sampled_from(PATHS),
        "caller_tags": st.lists(st.sampled_from(VALUES["caller_tag"]), unique=True, max_size=2),
        **{name: st.sampled_from(VALUES[name]) for name in ("intent", "tool", "mode", "state")},
    },
)


PAIRS = {"rules": RULES, "actions": st.lists(ACTIONS, min_size=1, max_size=8)}


@given(**PAIRS)
@settings(max_examples=examples(100), deadline=None)
def test_agrees_with_cedar(rules: list[dict[str, Any]], actions: list[dict[str, Any]]) -> None:
    _agree(rules, actions)


@pytest.mark.slow
@given(**PAIRS)
@settings(max_examples=examples(2_000), deadline=None)
def test_agrees_with_cedar_over_many_rule_sets(rules: list[dict[str, Any]], actions: list[dict[str, Any]]) -> None:
    _agree(rules, actions)


def _agree(rules: list[dict[str, Any]], actions: list[dict[str, Any]]) -> None:
    """Asserts that both engines give the same verdict by the same rules."""
    policy = compile_policy([Source("p", json.dumps({"capabilities": rules}))])
    theirs = is_authorized_batch([*map(cedar.request, actions)], PolicySet.from_str(cedar.policies(rules)), "[]")
    for action, answer in zip(actions, theirs, strict=True):
        assert not answer.diagnostics.errors
        decision = evaluate(policy, parse_action(action))
        assert decision.allowed is answer.allowed, action
        assert set(decision.rules) == set(answer.diagnostics.id_annotations_by_reason.values()), action
