"""The rules nobody can switch off: hard-coded, at most ten, always asked first (POL-04; APP-08).

They protect files that could change the rules, start programs by themselves, or give access elsewhere. Paths are
matched folded (case, Unicode form, invisible characters), at any depth, on every file system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from remit_governance.policy.decision.implicit import IMPLICIT_FILES
from remit_governance.policy.matching.index import OUTSIDE, keys_of_globs
from remit_governance.policy.matching.paths import compile_globs, escape_glob, fold, outside
from remit_governance.policy.rules import Condition, Layer, Rule, Subject
from remit_governance.values import Verdict

AUDIT_DATABASE = "audit.sqlite3"

POLICY_FILES = "builtin.policy-files"

GIT_INTERNALS = "builtin.git-internals"

GIT_NAMES = frozenset(
    {
        *(
            "head",
            "config",
            "config.worktree",
            "objects",
            "refs",
            "hooks",
            "info",
            "commondir",
            "gitdir",
            "packed-refs",
        ),
        *("index", "modules", "worktrees", "logs", "branches", "remotes", "shallow", "fetch_head", "orig_head"),
    }
)
"""Names in a repository's own folder, folded."""

READING = frozenset({"fs.read", "fs.list"})
"""File syscalls that change nothing; every other `fs.…` counts as a write."""

DENIED: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        POLICY_FILES: (
            "Remit's own policy, configuration and program can only be changed through Remit",
            (
                ".remit",
                ".remit.json",
                ".remit.yaml",
                ".remit.yml",
                ".orchestration",
                "**/.config/remit/**",
                "**/.local/state/remit/**",
                "**/Library/Application Support/remit/**",
                "**/site-packages/remit_*/**",
            ),
        ),
        "builtin.audit-log": (
            "only Remit writes the audit log",
            (f"{AUDIT_DATABASE}*",),
        ),
        GIT_INTERNALS: (
            "version control's own files contain hooks and settings that start programs",
            (".git", ".gitconfig", "**/.config/git/**", ".hg", ".svn", ".jj"),
        ),
        "builtin.editor-settings": (
            "editor and agent settings can start programs",
            (
                ".vscode",
                "*.code-workspace",
                ".idea",
                ".zed",
                ".cursor",
                ".claude",
                ".codex",
                ".gemini",
                ".copilot",
                "**/.github/hooks/**",
                ".windsurf",
                ".continue",
                ".roo",
                ".aider*",
                ".mcp.json",
                "**/.config/nvim/**",
                "**/.config/Code/**",
                "**/.config/zed/**",
                ".exrc",
                ".nvimrc",
                ".nvim.lua",
                ".vimrc",
                ".dir-locals.el",
                ".dir-locals-2.el",
            ),
        ),
        "builtin.shell-startup": (
            "shell start-up files run by themselves",
            (
                ".bashrc",
                ".bash_profile",
                ".bash_login",
                ".bash_logout",
                ".bash_aliases",
                ".profile",
                ".zshrc",
                ".zshenv",
                ".zprofile",
                ".zlogin",
                ".zlogout",
                ".kshrc",
                ".cshrc",
                ".tcshrc",
                ".inputrc",
                ".config/fish",
                "**/.config/fish/**",
                ".envrc",
                ".pam_environment",
                ".xprofile",
                ".xinitrc",
                "**/.config/autostart/**",
                "**/.config/systemd/**",
                "**/Library/LaunchAgents/**",
            ),
        ),
        "builtin.credentials": (
            "credentials give access beyond this workspace",
            (
                ".ssh",
                ".aws",
                ".azure",
                ".gnupg",
                ".kube",
                ".docker",
                "**/.config/gcloud/**",
                "**/.config/gh/**",
                ".netrc",
                ".pypirc",
                ".git-credentials",
                "id_rsa*",
                "id_dsa*",
                "id_ecdsa*",
                "id_ed25519*",
            ),
        ),
    }
)
"""Rule → its reason, and the globs of files whose writes are denied for everybody."""

REVIEWED: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "builtin.ci-definitions": (
            "pipeline definitions run elsewhere, with other rights",
            (
                "**/.github/workflows/**",
                "**/.github/actions/**",
                ".gitlab-ci.yml",
                "**/.gitlab/**",
                ".circleci",
                ".buildkite",
                ".woodpecker*",
                ".drone.yml",
                ".travis.yml",
                "azure-pipelines.yml",
                "bitbucket-pipelines.yml",
                "jenkinsfile",
                ".pre-commit-config.yaml",
                ".husky",
                ".devcontainer*",
            ),
        ),
        "builtin.implicit-code": (
            "this file takes effect without anybody running it",
            (
                "conftest.py",
                "sitecustomize.py",
                "usercustomize.py",
                "*.pth",
                ".env*",
                ".npmrc",
                ".yarnrc*",
                ".pnpmfile.cjs",
                ".gitattributes",
                ".gitmodules",
                ".githooks",
                ".cargo",
                ".mvn",
                ".gdbinit",
                ".lldbinit",
                ".Rprofile",
                "package.json",
                "composer.json",
                "setup.py",
                "binding.gyp",
                *(glob for row in IMPLICIT_FILES for glob in row.globs),
            ),
        ),
    }
)
"""Rule → its reason, and the globs of files whose writes a person reviews each time, if the policy allows them."""


def _writes(globs: tuple[str, ...]) -> Condition:
    matches = compile_globs(globs, fold_case=True)

    def condition(subject: Subject) -> bool:
        return _is_write(subject) and subject.folded is not None and matches(subject.folded)

    return condition


def _is_write(subject: Subject) -> bool:
    return subject.action.syscall.startswith("fs.") and subject.action.syscall not in READING


def _is_git(writes: Condition) -> Condition:
    """Returns a condition for writes into `.git`, and into a repository's own folder that has another name."""
    return lambda subject: (subject.action.repository and _is_write(subject)) or writes(subject)


def _outside(subject: Subject) -> bool:
    return subject.path is not None and outside(subject.path)


def _always(subject: Subject) -> bool:
    del subject
    return True


@lru_cache(maxsize=8)  # a policy is compiled again after each change, but these rules stay the same
def builtin_layer(own: tuple[str, ...] = ()) -> Layer:
    """Returns the built-in layer. `own` are Remit's own files and folders in this workspace, relative to it."""
    # Fold first, because folding turns full-width characters into glob signs such as `*`.
    globs = tuple(f"/{escape_glob(fold(path))}" for path in own)
    return Layer.of("builtin", _rules({POLICY_FILES: globs}))


def _rules(more: Mapping[str, tuple[str, ...]]) -> Iterator[Rule]:
    """Yields the rules; `more` has further globs of rules that deny, by the rule's name."""
    for name, (reason, known) in DENIED.items():
        globs = (*known, *more.get(name, ()))
        keys = keys_of_globs(globs, fold_case=True)
        if name == GIT_INTERNALS:
            keys += keys_of_globs(sorted(GIT_NAMES), fold_case=True)
            yield Rule(name, Verdict.DENY, reason, _is_git(_writes(globs)), keys=(keys,), spares=READING)
        else:
            yield Rule(name, Verdict.DENY, reason, _writes(globs), keys=(keys,), spares=READING)
    for name, (reason, globs) in REVIEWED.items():
        keys = keys_of_globs(globs, fold_case=True)
        yield Rule(name, Verdict.REQUIRE_REVIEW, reason, _writes(globs), keys=(keys,), grants=False, standing=False)
    yield Rule(
        "builtin.outside-workspace", Verdict.DENY, "the path is outside the workspace", _outside, keys=(((OUTSIDE,),),)
    )
    yield Rule(
        "builtin.policy-update",
        Verdict.REQUIRE_REVIEW,
        "you review every change of the policy",
        _always,
        syscalls=frozenset({"policy.update"}),
        standing=False,
    )


BUILTIN = builtin_layer()
"""The built-in layer of a workspace that holds none of Remit's own files."""
