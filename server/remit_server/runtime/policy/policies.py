"""Loads what is in force for a workspace: the person's files or the packaged default, tightened by the project's; and
compiles policies from such texts before they are in force (POL-11).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from remit_governance.errors import ExtensionError, PolicyError, Problem
from remit_governance.permissions.permissions import PermissionConfig, WorkspaceIdentity, in_workspace
from remit_governance.permissions.remembered import parse_permissions
from remit_governance.policy.decision.extension import ExtensionRule, with_extension
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import (
    agent_tools_source,
    default_source,
    hook_default_source,
    is_given,
    load_policy,
    load_programs,
    load_rules,
    load_work_items,
    read_source,
    workflow_source,
)
from remit_governance.policy.matching.paths import FOLDS_CASE
from remit_governance.policy.rules import Policy
from remit_governance.work_items import WORK_ITEMS_FILE, WorkItems
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.extensions.host import ExtensionHost
from remit_server.runtime.own_files.folder_record import read_trust, workspace_identity
from remit_server.runtime.policy.plugin_rules import RuleHosts, brings_rules, load_plugin_rules
from remit_server.runtime.settings import PROJECT_POLICY, Settings
from remit_server.workspace.paths.workspace_path import Workspace


@dataclass(frozen=True, slots=True)
class InForce:
    """The policy as loaded from its files, and the permissions that hold in the workspace `here`; `close` ends the
    processes of extension rules.

    `unanswerable` returns why the extension rules cannot be asked, or None; while they cannot, each is a deny.
    """

    policy: Policy
    here: WorkspaceIdentity
    permissions: PermissionConfig = field(default_factory=PermissionConfig)
    close: Callable[[], None] = lambda: None
    unanswerable: Callable[[], ExtensionError | None] = lambda: None


def load_in_force(settings: Settings, *, hooks: bool = False) -> InForce:
    """Load policy and permissions; with `hooks`, those for another agent's calls (HOK-03). Raises SetupError
    (`policy_invalid`) naming file, line and column, so that a broken policy allows nothing.
    """
    person = settings.person_policy if is_given(settings.person_policy) else None
    project = settings.project_policy if is_given(settings.project_policy) else None
    try:
        here = workspace_identity(settings.workspace, settings.state)
        permissions = holding_in(load_permissions(settings.person_permissions), here)
        rules, brought = load_rules(settings.person_rules), load_plugin_rules(settings.person_policy.parent)

        def load() -> Policy:
            programs = load_programs(settings.person_programs, settings.project_programs)
            return load_policy(person, project, settings.own_paths, _told_items(settings), programs, hooks=hooks)

        if not (rules or brought):
            return InForce(load(), here, permissions)
        in_force = _with_programs(rules, brought, settings, load, here)
        return replace(in_force, permissions=permissions)
    except PolicyError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.POLICY_INVALID) from error


def what_they_say(settings: Settings) -> tuple[object, ...] | None:
    """Returns a value that changes when loading would give another result: the digests of the files, the answer about
    trust, and which folder this is. None if only loading can tell: with extension rules, or if a file cannot be
    read."""
    own = (settings.person_policy, settings.person_permissions, settings.person_programs)
    files = (*own, settings.project_policy, settings.project_programs, settings.work_items)
    try:
        if is_given(settings.person_rules) or brings_rules(settings.person_policy.parent):
            return None
        here = workspace_identity(settings.workspace, settings.state)
        return (*map(_digest, files), read_trust(settings.workspace), here)
    except OSError:
        return None


def _digest(file: Path) -> bytes | None:
    """Returns the digest of a regular file, or None if there is none. Raises OSError for one that cannot be read."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as text:  # noqa: PTH123  a descriptor
        return hashlib.sha256(text.read()).digest()


def _told_items(settings: Settings) -> WorkItems | None:
    """Returns the work items, or only their scopes in a folder that the person has not trusted (CFG-06). Raises
    PolicyError, also if a work item names a skill that does not exist (INT-13)."""
    items = load_work_items(settings.work_items)
    now = read_trust(settings.workspace)
    if items is None:
        return None
    if settings.trusted if now is None else now:
        _require_skills(items, settings)
        return items
    return {name: replace(item, constraints=(), acceptance_criteria=(), skills=()) for name, item in items.items()}


def _require_skills(items: WorkItems, settings: Settings) -> None:
    """Raises PolicyError with a problem for each named skill that does not exist here."""
    if not any(item.skills for item in items.values()):
        return
    # Imported only here, because it imports what runs a turn, which a look at policy or audit does without (CLI-19).
    from remit_server.runtime.own_files.skill_folders import SkillFolders, person_folders

    with Workspace(settings.workspace) as workspace:
        folders = SkillFolders(person_folders(settings.person_policy.parent), workspace, trusts=lambda: True)
        known = {skill.name for skill in folders.find().skills}
    fix = "add that skill, or remove its name from `skills`: `remit skill list` shows your skills"
    problems = (
        Problem(
            item.file, item.line, 1, f"the work item `{item.id}` names the skill `{name}`, which does not exist", fix
        )
        for item in items.values()
        for name in item.skills
        if name not in known
    )
    if found := tuple(problems):
        raise PolicyError(found)


def holding_in(permissions: PermissionConfig, here: WorkspaceIdentity) -> PermissionConfig:
    """Returns the standing answers that hold in this workspace, by the real path of the folder that each names."""
    return in_workspace(permissions, here, _real_path)


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(Path(path).expanduser())
    except RuntimeError:  # nobody knows where this user's home is
        return path


def load_permissions(file: Path) -> PermissionConfig:
    """Returns the person's standing answers, those of every workspace; none if there is no such file. Raises
    PolicyError."""
    return parse_permissions(str(file), read_source(file).text) if is_given(file) else PermissionConfig()


def _with_programs(
    rules: tuple[ExtensionRule, ...],
    brought: tuple[ExtensionRule, ...],
    settings: Settings,
    load: Callable[[], Policy],
    here: WorkspaceIdentity,
) -> InForce:
    """Returns the policy of `load` with the person's extension rules and those of plugins. Their processes start while
    the policy is loaded. Raises PolicyError."""
    made = partial(ExtensionHost, workspace=settings.workspace, call_s=settings.extension_timeout_s)
    hosts = RuleHosts.start(rules, brought, made)
    try:
        policy = with_extension(load(), (*rules, *brought), hosts.ask)
        hosts.check()
    except BaseException:
        hosts.close()
        raise
    return InForce(policy, here, close=hosts.close, unanswerable=hosts.unanswerable)


def problems_of_rules(rules: tuple[ExtensionRule, ...], settings: Settings) -> tuple[Problem, ...]:
    """Returns the problems at the top level of well-formed rules, found by loading them in their sandbox."""
    if not rules:
        return ()
    host = ExtensionHost(rules, settings.workspace)
    try:
        host.check()
    except PolicyError as error:
        return error.problems
    finally:
        host.close()
    return ()


def sources(settings: Settings, instead: Source | None = None, *, hooks: bool = False) -> tuple[Source, ...]:
    """Returns the texts that make the policy: those of `own_sources`, and the rules of the workflow; with `hooks`,
    those for another agent's calls.

    Raises PolicyError.
    """
    more = (agent_tools_source(),) if hooks else ()
    return (*own_sources(settings, instead, hooks=hooks), workflow_source(), *more)


def own_sources(settings: Settings, instead: Source | None = None, *, hooks: bool = False) -> tuple[Source, ...]:
    """Returns the texts that somebody wrote for this workspace: the person's own (or the packaged default), then the
    project's.

    `instead` replaces the person's or the project's text, as its `project` says. Raises PolicyError.
    """
    if instead is not None and not instead.project:
        person = instead
    elif is_given(settings.person_policy):
        person = read_source(settings.person_policy)
    else:
        person = hook_default_source() if hooks else default_source()
    if instead is not None and instead.project:
        return person, instead
    if is_given(settings.project_policy):
        return person, read_source(settings.project_policy, project=True)
    return (person,)


def name_layers(policy: Policy, settings: Settings) -> tuple[str, ...]:
    """Returns in words what a policy is made of: the built-in rules, then each file in the order in which it is
    read."""
    named = {
        default_source().file: "the packaged default",
        workflow_source().file: "the packaged workflow",
        str(settings.person_policy): f"your `{settings.person_policy}`",
        str(settings.person_programs): f"your `{settings.person_programs}`",
        str(settings.project_policy): f"the project's `{PROJECT_POLICY}`, which only tightens",
        str(settings.project_programs): f"the project's `{settings.project_programs.relative_to(settings.workspace)}`",
    }
    files = (named.get(file, f"the rule `{file}`") for file in policy.files)
    items = () if policy.work_items is None else (f"the scopes of the project's `{WORK_ITEMS_FILE}`",)
    return ("Remit's built-in rules", *files, *items)


def compile_texts(settings: Settings, texts: Sequence[Source], beside: Policy) -> Policy:
    """Returns the policy of these texts, with the extension rules, work items and rows of programs of `beside`.

    Raises PolicyError.
    """
    policy = compile_policy(texts, FOLDS_CASE, settings.own_paths, beside.work_items, beside.programs)
    return replace(policy, extension=beside.extension)


def candidate(settings: Settings, file: Path | None, in_force: Policy, *, project: bool) -> Policy:
    """Returns the policy in force, or that policy with the named file as the person's or the project's (POL-13).

    Raises SetupError.
    """
    if file is None:
        return in_force
    with as_setup_error():
        source = replace(read_source(file), project=project)
        return compile_texts(settings, sources(settings, source), in_force)


@contextmanager
def as_setup_error() -> Generator[None]:
    """Turns a PolicyError of the block into a SetupError for a command."""
    try:
        yield
    except PolicyError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.POLICY_INVALID) from error
