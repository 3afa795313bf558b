"""The built-in rules hold against every spelling of a path (POL-04)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.policy.decision.builtin import BUILTIN
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Verdict

ALLOW_ALL = compile_policy(
    [Source("p", "capabilities: [{ name: everything, match: { path_glob: ['**'] }, action: allow }]")]
)
NOTHING = compile_policy([Source("p", "")])

DENIED = [
    ".remit/policy.yaml",
    ".remit",
    ".remit.json",
    "sub/.remit/policy.yaml",
    "audit.sqlite3",
    "audit.sqlite3-wal",
    ".git/hooks/pre-commit",
    ".git",
    "vendor/lib/.git/config",
    ".gitconfig",
    ".hg/hgrc",
    ".vscode/tasks.json",
    "project.code-workspace",
    ".idea/workspace.xml",
    ".mcp.json",
    ".bashrc",
    "home/.zshrc",
    ".envrc",
    ".config/fish/config.fish",
    ".ssh/authorized_keys",
    ".aws/credentials",
    ".gnupg/x",
    "x/id_rsa",
    ".config/gh/hosts.yml",
]
REVIEWED = [
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".husky/pre-push",
    "tests/conftest.py",
    "sitecustomize.py",
    "lib/evil.pth",
    ".env",
    "app/.env.local",
    ".gitattributes",
    ".npmrc",
]
FREE = [
    "src/git.py",
    "docs/.github-notes.md",
    "environment.py",
    "my.remit/x",
    "policy.yaml",
    "gitignore",
    ".gitignore",
    "a.path",
]


@rows("path", DENIED)
def test_protected_paths_are_denied_whatever_allows_them(path: str) -> None:
    """THR-config-own-policy, THR-config-git-hooks, THR-config-vscode."""
    for syscall in ("fs.write", "fs.delete", "fs.move"):
        decision = evaluate(ALLOW_ALL, Action(syscall, path=path))
        assert decision.verdict is Verdict.DENY
        assert decision.deciding.layer == "builtin"
        assert decision.deciding.file is None


@rows("path", REVIEWED)
def test_files_that_take_effect_by_themselves_are_reviewed(path: str) -> None:
    """THR-config-ci-and-conftest; the review only tightens an allow, and does not replace one."""
    decision = evaluate(ALLOW_ALL, Action("fs.write", path=path))
    assert decision.verdict is Verdict.REQUIRE_REVIEW
    assert decision.deciding.code == "rule_review_each_time"
    assert evaluate(NOTHING, Action("fs.write", path=path)).verdict is Verdict.DENY


@rows("path", FREE)
def test_harmless_paths_are_left_alone(path: str) -> None:
    assert evaluate(ALLOW_ALL, Action("fs.write", path=path)).verdict is Verdict.ALLOW


@rows("path", [*DENIED, *REVIEWED])
def test_reading_is_the_policys_business(path: str) -> None:
    assert evaluate(ALLOW_ALL, Action("fs.read", path=path)).verdict is Verdict.ALLOW


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """Draws a protected path with other case, slashes and dots."""
    parts: list[str] = []
    for part in draw(st.sampled_from(DENIED)).split("/"):
        parts += draw(st.lists(st.sampled_from([".", "", "x/.."]), max_size=2))
        upper = draw(st.lists(st.booleans(), min_size=len(part), max_size=len(part)))
        parts.append("".join(c.upper() if u else c for c, u in zip(part, upper, strict=True)))
    parts += draw(st.lists(st.sampled_from([".", ""]), max_size=2))
    return "./" + "/".join(parts)


@given(spellings())
def test_no_spelling_gets_around(path: str) -> None:
    """THR-paths-spelling."""
    assert evaluate(ALLOW_ALL, Action("fs.write", path=path)).verdict is Verdict.DENY


@rows(
    "path",
    [
        ".g\u200dit/config",
        ".\u017f\u017fh/authorized_keys",
        ".\uff27\uff29\uff34/config",
        ".\ufeffremit/policy.yaml",
        ".G\u0131T/../.GIT/x",
    ],
)
def test_unicode_forms_do_not_get_around(path: str) -> None:
    """THR-paths-unicode: names that some file systems take for protected ones."""
    assert evaluate(ALLOW_ALL, Action("fs.write", path=path)).verdict is Verdict.DENY


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "..", "//etc", "a/../../../x", "a\0b"])
@pytest.mark.parametrize("syscall", ["fs.read", "fs.write", "fs.list", "made.up"])
def test_outside_the_workspace_is_denied(path: str, syscall: str) -> None:
    """THR-paths-outside."""
    decision = evaluate(ALLOW_ALL, Action(syscall, path=path))
    assert decision.rules == ("builtin.outside-workspace",)


def test_policy_updates_are_always_reviewed() -> None:
    for policy in (NOTHING, ALLOW_ALL):
        decision = evaluate(policy, Action("policy.update", path="anything"))
        assert decision.verdict is Verdict.REQUIRE_REVIEW


def test_there_are_at_most_ten() -> None:
    assert len(BUILTIN.rules) <= 10
    assert all(rule.name.startswith("builtin.") for rule in BUILTIN.rules)


def test_case_is_folded_for_rules_where_the_file_system_does() -> None:
    text = "capabilities: [{ name: secrets, match: { path_glob: [Secret.TXT, 'docs/**'] }, action: require_review }]"
    for path in ("SECRET.txt", "Docs/a"):
        action = Action("fs.read", path=path)
        assert evaluate(compile_policy([Source("p", text)], fold_case=True), action).verdict is Verdict.REQUIRE_REVIEW
        assert evaluate(compile_policy([Source("p", text)]), action).verdict is Verdict.DENY
