"""The real evaluator, compared with the reference for generated rules and actions, in any order of rules (POL-02)."""

from __future__ import annotations

import importlib.util
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import explain
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy

_SPEC = importlib.util.spec_from_file_location("policy_reference", Path(__file__).with_name("reference.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
REFERENCE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(REFERENCE)

VALUES: dict[str, list[str]] = {
    "syscall": ["fs.read", "fs.write", "process.exec"],
    "path_glob": [
        "**",
        "src/**",
        "docs/**",
        "a.py",
        "deep",
        "*.py",
        "src/*.py",
        "src/**/b.py",
        "?.py",
        "d*",
        "!*.toml",
    ],
    "caller_tag": ["model", "human", "third_party"],
    "state": ["idle", "test_writing"],
    "mode": ["strict", "debug"],
    "intent": ["CODE", "READ_FILE"],
    "tool": ["write_file", "read_file"],
    "command": ["pytest", "git status", "git", "rm"],
    "host": ["example.org", "localhost"],
    "risk": ["low", "medium", "high"],
}
PATHS = ["src/a.py", "src/deep/b.py", "docs/a.py", "c.py", "deep/src/x", "poetry.lock", "src/poetry.lock", "docs"]
COMMANDS = [
    ["pytest", "-q"],
    ["git", "status"],
    ["git", "push"],
    ["git", "commit", "-m", "x"],
    ["rm", "x"],
    ["ls"],
    ["odd"],
]
CONSTRAINTS: list[dict[str, Any]] = [
    {"max_file_size": 10},
    {"max_file_size": 100},
    {"require_sandbox": "L2"},
    {"require_sandbox": "integration-test", "max_file_size": 100},
    {"require_capability_token": True},
]
ACTION_VALUES: dict[str, list[Any]] = {
    "path": PATHS,
    "caller_tags": [[], ["model"], ["human", "third_party"]],
    "command": COMMANDS,
    "size": [0, 10, 50, 101],
    "sandbox": ["none", "code-executor", "integration-test"],
    "permit": [True, False],
    **{name: list(VALUES[name]) for name in ("state", "mode", "intent", "tool", "host")},
}


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
            "constraints": st.sampled_from(CONSTRAINTS),
        },
    ),
    max_size=8,
).map(lambda rules: [{"name": f"rule-{i}", **rule} for i, rule in enumerate(rules)])

ACTIONS = st.fixed_dictionaries(
    {"syscall": st.sampled_from([*VALUES["syscall"], "fs.list", "made.up"])},
    optional={name: st.sampled_from(values) for name, values in ACTION_VALUES.items()},
)


def _policy(rules: list[dict[str, Any]]) -> str:
    return json.dumps({"version": 1, "capabilities": rules}, indent="\t")


@given(rules=RULES, action=ACTIONS)
@settings(max_examples=examples(200), deadline=None)
def test_agrees_with_the_reference(rules: list[dict[str, Any]], action: dict[str, Any]) -> None:
    decision = evaluate(compile_policy([Source("p", _policy(rules))]), parse_action(action))
    assert (decision.verdict.word, set(decision.rules)) == REFERENCE.reference(rules, action)


PAIRS = 100_000
EACH = 50
"""The number of actions judged by each policy."""


def _random_match(random: random.Random, most: int) -> dict[str, list[str]]:
    names = random.sample(sorted(VALUES), random.randint(0, most))
    return {name: random.sample(VALUES[name], random.randint(1, len(VALUES[name]))) for name in names}


def _random_rule(random: random.Random, number: int) -> dict[str, Any]:
    verdict = random.choices(["allow", "require_review", "deny", "pass"], [5, 2, 2, 1])[0]
    # Broad deny rules would leave no actions to the other rules.
    match = _random_match(random, 3) if verdict != "deny" else _random_match(random, 2) | {"tool": ["write_file"]}
    rule: dict[str, Any] = {"name": f"rule-{number}", "match": match, "action": verdict}
    if random.random() < 0.4:
        rule["except"] = [_random_match(random, 3) for _ in range(random.randint(1, 2))]
    if random.random() < 0.3:
        rule["constraints"] = random.choice(CONSTRAINTS)
    return rule


def _random_action(random: random.Random) -> dict[str, Any]:
    action = {name: random.choice(values) for name, values in ACTION_VALUES.items() if random.random() < 0.6}
    return {"syscall": random.choice([*VALUES["syscall"], "fs.list", "made.up"]), **action}


@pytest.mark.slow
def test_100_000_pairs_agree_with_the_reference_in_any_order(record_property: Callable[[str, object], None]) -> None:
    """The figures in the report (`-rP`, or JUnit) show that not all verdicts are denies."""
    seeded = random.Random(20260101)
    seen: Counter[str] = Counter()
    for _ in range(PAIRS // EACH):
        rules = [_random_rule(seeded, number) for number in range(seeded.randint(1, 8))]
        policy, turned = (compile_policy([Source("p", _policy(each))]) for each in (rules, rules[::-1]))
        for _ in range(EACH):
            action = _random_action(seeded)
            expected = REFERENCE.reference(rules, action)
            for each in (policy, turned):
                decision = evaluate(each, parse_action(action))
                assert (decision.verdict.word, set(decision.rules)) == expected, (rules, action)
            seen[expected[0] if expected[1] else "deny by default"] += 1
    for verdict, count in seen.items():
        record_property(verdict, count)
    print(dict(seen))
    assert seen.total() == PAIRS
    assert set(seen) == {"allow", "require_review", "deny", "deny by default"}
    assert min(seen.values()) > PAIRS // 20, seen


@given(rules=RULES, action=ACTIONS, seed=st.integers())
@settings(max_examples=examples(150), deadline=None)
def test_order_never_matters(rules: list[dict[str, Any]], action: dict[str, Any], seed: int) -> None:
    shuffled = random.Random(seed).sample(rules, len(rules))
    judged = [explain(compile_policy([Source("p", _policy(each))]), parse_action(action)) for each in (rules, shuffled)]
    for answer in judged:
        for reason in answer["reasons"]:
            reason["line"] = None
    assert judged[0] == judged[1]


@given(rules=RULES, action=ACTIONS)
@settings(max_examples=examples(150), deadline=None)
def test_a_project_policy_only_tightens(rules: list[dict[str, Any]], action: dict[str, Any]) -> None:
    """THR-config-project-policy: whatever the project's file says, no verdict becomes laxer."""
    own = [{"name": f"own-{i}", **{k: v for k, v in r.items() if k != "name"}} for i, r in enumerate(rules[::2])]
    project = [r for r in rules[1::2] if r["action"] != "allow"]
    alone = evaluate(compile_policy([Source("own", _policy(own))]), parse_action(action))
    both = evaluate(
        compile_policy([Source("own", _policy(own)), Source("project", _policy(project), project=True)]),
        parse_action(action),
    )
    assert both.verdict >= alone.verdict
