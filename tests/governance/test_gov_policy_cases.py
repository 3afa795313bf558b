"""The seed's cases of the policy engine, one data file each, all run by one check (POL-02).

In a case, `extension` is a rule that is a program and runs in its real sandbox, and `asked` is how often it is asked.
`builtin` replaces the built-in layer, and `then` is an action that follows.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from rows import rows
from rule_programs import Counted, need_sandbox, rule

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.extension import with_extension
from remit_governance.policy.language.action_form import parse_question
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.rules import Layer, Policy

CASES = sorted((Path(__file__).parents[1] / "cases" / "policy").glob("POL-*.yaml"))


def check(case: dict[str, Any]) -> None:
    """Compiles the case's policy, judges its action, and compares the decision with the expected one."""
    policy = compile_policy([Source("policy.yaml", case["policy"])])
    builtin = case.get("builtin")
    if builtin is False:
        policy = replace(policy, layers=policy.layers[1:])
    elif builtin is not None:
        rules = compile_policy([Source("builtin.yaml", builtin)]).layers[1].rules
        policy = replace(policy, layers=(Layer.of("builtin", rules), *policy.layers[1:]))
    if "extension" not in case:
        decided(policy, case)
        return
    need_sandbox()
    program = rule(case["extension"])
    with closing(Counted([program])) as running:
        policy = with_extension(policy, [program], running.ask)
        decided(policy, case)
        if "then" in case:
            decided(policy, case["then"])
        assert len(running.asked) == case["asked"]


def decided(policy: Policy, case: dict[str, Any]) -> None:
    action, claim = parse_question(case["action"], policy)
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


@rows("path", CASES, ids=lambda path: path.stem)
def test_seed_case(path: Path) -> None:
    check(yaml.safe_load(path.read_text()))


def test_every_case_of_the_seed_is_there() -> None:
    assert {int(path.stem.removeprefix("POL-")) for path in CASES} == set(range(1, 27))
