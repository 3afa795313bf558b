"""A script's writes that are held back are reviewed later; nothing else about its judgement changes (APP-01)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Verdict, strictest

WORDS = st.sampled_from(["allow", "deny", "require_review", "pass"])
PARTS = (
    "echo x",
    "cat b.txt",
    "rm c.txt",
    "> a.txt",
    ">> .envrc",
    "> ../out",
    "| tee b.txt",
    "; $X",
    "&& true",
    "> package.json",
)
SCRIPTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(lambda parts: "echo y " + " ".join(parts))


def _policy(runs: str, writes: str, reads: str) -> str:
    return f"""version: 1
capabilities:
  - {{ name: r, match: {{ syscall: process.exec }}, action: {runs} }}
  - {{ name: w, match: {{ syscall: fs.write }}, action: {writes} }}
  - {{ name: l, match: {{ syscall: fs.read }}, action: {reads} }}
"""


@given(SCRIPTS, WORDS, WORDS, WORDS)
def test_only_the_review_of_a_write_waits(script: str, runs: str, writes: str, reads: str) -> None:
    policy = compile_policy([Source("p.yaml", _policy(runs, writes, reads))])
    action = Action("process.exec", script=script, cwd=".")
    now, held = evaluate(policy, action), evaluate(policy, replace(action, held=True))
    assert held.verdict <= now.verdict
    assert (held.verdict is Verdict.DENY) == (now.verdict is Verdict.DENY)
    if held.verdict is not now.verdict:
        # Then only writes needed approval, and each of them is asked about when it is judged by itself.
        assert now.verdict is Verdict.REQUIRE_REVIEW
        assert runs == "allow"
        assert set(now.rules) <= {"w", "builtin.implicit-code"}


@given(st.sampled_from(["fs.write", "fs.read", "process.exec", "net.connect"]), WORDS)
def test_without_a_script_nothing_is_held(syscall: str, word: str) -> None:
    policy = compile_policy([Source("p.yaml", _policy(word, word, word))])
    action = Action(syscall, path="a.txt", command=("echo",))
    assert evaluate(policy, action) == evaluate(policy, replace(action, held=True))
    assert strictest([evaluate(policy, action)]) == evaluate(policy, action)
