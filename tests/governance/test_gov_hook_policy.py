"""HOK-03: the packaged policy for another agent's calls, compared with the packaged default."""

from __future__ import annotations

import yaml

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.load import default_source, hook_default_source, load_policy
from remit_governance.values import Action, Verdict


def rules(text: str) -> dict[str, object]:
    return {rule["name"]: rule for rule in yaml.safe_load(text)["capabilities"]}


def test_HOK_03_what_is_read_and_written_is_as_in_the_packaged_default() -> None:
    hooks, default = rules(hook_default_source().text), rules(default_source().text)
    same = ("read-workspace", "no-secrets", "write-workspace", "commit")
    assert {name: hooks[name] for name in same} == {name: default[name] for name in same}


def test_HOK_03_only_reading_is_allowed_and_what_is_doubted_is_not() -> None:
    policy = load_policy(hooks=True)
    allowed = {rule.name for layer in policy.layers for rule in layer.rules if rule.verdict is Verdict.ALLOW}
    assert {name for name in allowed if not name.startswith(("workflow.", "processes."))} == {
        *("read-workspace", "look-around", "hook.agents-own"),
    }
    look = Action("process.exec", command=("ls",), script="ls")
    doubted = Action("process.exec", command=("ls",), script="ls", doubts=("who knows",))
    assert [evaluate(policy, action).verdict for action in (look, doubted)] == [Verdict.ALLOW, Verdict.REQUIRE_REVIEW]
    read = Action("fs.read", "a.py", doubts=("who knows",))
    assert evaluate(policy, read).verdict is Verdict.REQUIRE_REVIEW
