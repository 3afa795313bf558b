"""The seed's cases of the policy engine, one data file each, through one check (003 §Policy Engine Test Specifications)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from remit_governance.policy.action import parse_asked
from remit_governance.policy.compile import Source, compile_policy
from remit_governance.policy.evaluate import evaluate
from remit_governance.policy.rules import Policy

CASES = sorted((Path(__file__).parents[1] / "cases" / "policy").glob("POL-*.yaml"))


def check(case: dict[str, Any]) -> None:
    """Compile the case's policy, judge its action, and compare what it expects."""
    policy = compile_policy([Source("policy.yaml", case["policy"])])
    if case.get("builtin") is False:
        policy = Policy(policy.version, policy.layers[1:])
    action, claim = parse_asked(case["action"], policy)
    decision = evaluate(policy, action, claim)
    expected = case["expect"]
    found = {
        "verdict": decision.verdict.word,
        "rules": list(decision.rules),
        "codes": [reason.code for reason in decision.reasons],
        "messages": [reason.message for reason in decision.reasons],
        "warnings": [f"{w.line}:{w.column} {w.message}" for w in policy.warnings],
    }
    assert {key: found[key] for key in expected} == expected
    if "warnings" not in expected:
        assert found["warnings"] == []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_seed_case(path: Path) -> None:
    check(yaml.safe_load(path.read_text()))


def test_every_case_the_spine_can_say_is_there() -> None:
    """Cases about extension rules (5, 11, 17, 20) come with that subsystem."""
    numbers = {int(path.stem.removeprefix("POL-")) for path in CASES}
    assert numbers == set(range(1, 27)) - {5, 11, 17, 20}
