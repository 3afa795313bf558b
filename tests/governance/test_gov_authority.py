"""The authority of a sub-agent: never more than that of the agent that hands it work (AGT-16)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec
from rows import rows

from remit_governance.authority import EVERYTHING, Authority, Beyond, Wanted, beyond_authority, roots_of
from remit_governance.policy.decision.evaluate import AUTHORITY, BEYOND_AUTHORITY, evaluate
from remit_governance.policy.decision.recorded import record_judgement
from remit_governance.policy.language.action_form import form_of, parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Intent, Verdict

FOLDERS = ("src", "src/a", "docs", "tests", "Src")
FILES = ("x.py", "y.md", "x", "secret.env")
GLOBS = (
    "src/**",
    "src/a/**",
    "/docs/",
    "*.py",
    "**/*.md",
    "**",
    "src/*/x.py",
    "src/a/x.py",
    "!src/a/**",
    "!*.env",
    "tests",
)
HOSTS = ("example.com", "pypi.org", "127.0.0.1:8000")
SYSCALLS = ("fs.read", "fs.list", "fs.write", "process.exec", "process.read", "net.connect", "git.commit")
ALLOWS = compile_policy([Source("p.yaml", "capabilities: [{name: all, match: {}, action: allow}]")])

paths = st.one_of(
    st.sampled_from((".", *FOLDERS, "..", "../src/x.py", "/etc/passwd")),
    st.builds("{}/{}".format, st.sampled_from(FOLDERS), st.sampled_from(FILES)),
    st.sampled_from(FILES),
)
wanted = st.builds(
    Wanted,
    intents=st.none() | st.frozensets(st.sampled_from(Intent)),
    paths=st.none() | st.lists(st.sampled_from(GLOBS), min_size=1, max_size=3).map(tuple),
    hosts=st.none() | st.frozensets(st.sampled_from(HOSTS)),
    steps=st.none() | st.integers(1, 50),
    tokens=st.none() | st.integers(1, 1000),
)
authorities = st.lists(wanted, max_size=2).map(lambda each: met(EVERYTHING, *each))
actions = st.builds(
    Action,
    st.sampled_from(SYSCALLS),
    path=st.none() | paths,
    host=st.none() | st.sampled_from(HOSTS),
    intent=st.sampled_from(Intent),
)


def met(authority: Authority, *asked: Wanted) -> Authority:
    for each in asked:
        authority = authority.meet(each)
    return authority


def may(authority: Authority, action: Action) -> bool:
    """Returns whether gate and policy allow the action, under a policy that allows everything."""
    asked = replace(action, within=authority.within, reaches=authority.hosts)
    return action.intent in authority.intents and evaluate(ALLOWS, asked).verdict is Verdict.ALLOW


def obviously_may(asked: tuple[Wanted, ...], action: Action) -> bool:
    """Returns the same, computed from each request in turn with git's own globs."""
    return all(_leaves(each, action) for each in asked) and evaluate(ALLOWS, action).verdict is Verdict.ALLOW


def _leaves(asked: Wanted, action: Action) -> bool:
    if asked.intents is not None and action.intent not in asked.intents:
        return False
    if asked.hosts is not None and action.host is not None and action.host not in asked.hosts:
        return False
    if asked.paths is None:
        return True
    if action.syscall in {"process.exec", "process.read"}:
        return False
    return action.path is None or _inside(asked.paths, action.syscall, action.path)


def _inside(globs: tuple[str, ...], syscall: str, path: str) -> bool:
    named = [glob for glob in globs if not glob.startswith("!")]
    taken = [glob[1:] for glob in globs if glob.startswith("!")]
    if path == "." or path.startswith(("..", "/")):
        inside = path == "." and "**" in named  # all of the workspace is also the workspace itself
    else:
        low = path.lower()
        inside = GitIgnoreSpec.from_lines(named).match_file(path) and not any(
            GitIgnoreSpec.from_lines([spelled]).match_file(way)
            for glob in taken
            for spelled, way in ((glob, path), (glob.lower(), low))
        )
    if inside or syscall not in {"fs.read", "fs.list"}:
        return inside
    # A folder on the way to such a path may be listed, because each entry of the list is judged by its own path.
    anchored = [glob.strip("/") for glob in named if "/" in glob.rstrip("/")]
    before = [glob.partition("*")[0].rpartition("/")[0] if "*" in glob else glob for glob in anchored]
    return bool(named) and (path == "." or any(root == path or root.startswith(f"{path}/") for root in before))


@pytest.mark.slow
@settings(max_examples=examples(10_000))
@given(parent=authorities, asked=wanted, action=actions)
@example(EVERYTHING.meet(Wanted(paths=("src/a/**",))), Wanted(paths=("**",)), Action("fs.write", "docs/y.md"))
def test_AGT_16_a_sub_agent_can_do_nothing_that_its_parent_cannot(
    parent: Authority, asked: Wanted, action: Action
) -> None:
    child = parent.attenuate(asked)
    if isinstance(child, Beyond):
        assert not (asked.intents or frozenset()) <= parent.intents or (
            parent.hosts is not None and not (asked.hosts or frozenset()) <= parent.hosts
        )
        child = parent.meet(asked)
    if may(child, action):
        assert may(parent, action)
    assert child.intents <= parent.intents
    assert child.within >= parent.within
    assert parent.hosts is None or (child.hosts is not None and child.hosts <= parent.hosts)
    assert parent.steps is None or (child.steps is not None and child.steps <= parent.steps)
    assert parent.tokens is None or (child.tokens is not None and child.tokens <= parent.tokens)


@settings(max_examples=examples(300))
@given(asked=st.lists(wanted, max_size=3).map(tuple), action=actions)
@example((Wanted(paths=("**",)),), Action("fs.write", ".", intent=Intent.PLAN))
def test_AGT_16_what_is_left_agrees_with_what_was_asked_for_one_by_one(
    asked: tuple[Wanted, ...], action: Action
) -> None:
    action = replace(action, intent=Intent.CODE) if action.intent is None else action
    assert may(met(EVERYTHING, *asked), action) == obviously_may(asked, action)


@settings(max_examples=examples(100))
@given(first=wanted, second=wanted, third=wanted)
def test_AGT_16_narrowing_twice_is_narrowing_once_in_any_order(first: Wanted, second: Wanted, third: Wanted) -> None:
    assert met(EVERYTHING, first, first) == met(EVERYTHING, first)
    assert met(EVERYTHING, first, second) == met(EVERYTHING, second, first)
    assert met(EVERYTHING, first, second, third) == met(EVERYTHING, third, first, second)
    child = EVERYTHING.attenuate(first)
    assert isinstance(child, Authority)
    assert child.attenuate(first) == child


@settings(max_examples=examples(100))
@given(globs=st.lists(st.sampled_from(GLOBS), min_size=1, max_size=4).map(tuple), path=paths)
def test_AGT_19_the_roots_hold_all_that_globs_leave(globs: tuple[str, ...], path: str) -> None:
    if beyond_authority(Action("fs.write", path, within=frozenset({globs}))) is None:
        assert any(root == "." or path == root or path.startswith(f"{root}/") for root in roots_of(globs))


@rows(
    "action",
    [
        Action("fs.read", "docs/x.md"),
        Action("fs.write", "src/../docs/x.md"),
        Action("fs.read", "../src/x.py"),
        Action("fs.read", "Src/x.py"),
        Action("process.exec", command=("ls",), script="ls"),
        Action("process.read"),
        Action("process.end"),
        Action("net.connect", host="evil.example"),
    ],
)
def test_AGT_16_no_rule_gives_back_what_was_not_left(action: Action) -> None:
    decision = evaluate(ALLOWS, replace(action, within=frozenset({("src/**",)}), reaches=frozenset({"example.com"})))
    assert decision.verdict is Verdict.DENY
    assert (decision.deciding.code, decision.deciding.layer) == (BEYOND_AUTHORITY, AUTHORITY)


def test_AGT_17_what_was_left_is_recorded_with_an_action_and_judged_again_with_it() -> None:
    action = Action("fs.write", "a.py", within=frozenset({("src/**",), ("*.py",)}), reaches=frozenset({"pypi.org"}))
    assert parse_action(form_of(action)) == action
    kept = record_judgement([action], evaluate(ALLOWS, action), str)
    assert kept.actions is not None
    assert "src/**" in kept.actions
