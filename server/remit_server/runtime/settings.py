"""Where a server works and keeps things, and its limits (AGT-07). Security settings come from the person only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from remit_governance.hosts import parse_endpoint
from remit_governance.policy.decision.builtin import AUDIT_DATABASE
from remit_governance.work_items.items import WORK_ITEMS_FILE
from remit_governance.workflow.debt import Thresholds
from remit_governance.workflow.options import WorkflowOptions
from remit_governance.workflow.states import Mode
from remit_server.agent.context.generation import Generation
from remit_server.errors import SetupError
from remit_server.models.local.options import EngineOptions
from remit_server.runtime.config.form import KEYS, ConfigForm, LogLevel, When, variable_of
from remit_server.runtime.config.layers import Key, resolve
from remit_server.runtime.places import config_folder, data_folder, workspace_state
from remit_server.runtime.trust import read_trust
from remit_server.sandbox.limits.at_once import AtOnce

PROJECT_POLICY = Path(".remit") / "policy.yaml"
PROGRAMS = "programs.yaml"
"""The name of a file of rows of programs, the person's and a project's: each lies beside a policy file."""
VARIABLES = (
    *(variable_of(*key) for key in KEYS),
    *("REMIT_CONFIG_DIR", "REMIT_STATE_DIR", "REMIT_DATA_DIR", "REMIT_SANDBOX", "REMIT_SANDBOX_IMAGE"),
    *("REMIT_ENGINE", "REMIT_PROFILE", "REMIT_API_KEY"),
)
"""Every variable of the environment that is a setting. Those without a key in a file are outside of that chain: where
things are kept, what isolates, and what a served model is asked with."""

# Of Remit's own tests, and of what runs in its sandbox.
_TESTED_WITH = (
    *("REQUIRE_E2E", "CODE_SERVER", "SERVER", "VSIX", "CHROMIUM", "SHOTS", "PROMPT", "CHOICE", "REPORT"),
    *("LLAMA_SERVER", "CHAT_TEMPLATES", "GENERATIONS"),
)
_OTHERS = frozenset(f"REMIT_{name}" for name in _TESTED_WITH)


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Whether sessions are saved, for how many days after their last use (0: for ever), and how many at most."""

    save: bool = True
    days: int = 30
    most: int = 100


@dataclass(frozen=True, slots=True)
class Room:
    """The MiB that must be free for a turn to begin; 0 asks for none."""

    memory_mib: int = 128
    disk_mib: int = 100


@dataclass(frozen=True, slots=True)
class Completion:
    """Whether a model completes at the cursor, and which one; None is the configured one."""

    enabled: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What one server was started with.

    `model` is what `choose_provider` takes; times are seconds. `state` holds the audit database of this workspace,
    outside the workspace, where no tool can write. The model's traffic is recorded to `record`, if there is one.
    `trusted` says whether what the folder brings counts, None where nobody was asked; `unknown` says which variables
    look like settings and are none. `opened_as` is the workspace's path as it was given, where it leads through a link.
    """

    workspace: Path
    state: Path
    person_policy: Path
    model: str = "built-in"
    max_steps: int = 25
    generation: Generation = field(default_factory=Generation)
    turn_timeout_s: float = 600.0
    approval_timeout_s: float = 300.0
    command_timeout_s: int = 600
    review: When = "each"
    data: Path | None = None
    audit_retention_days: int = 90
    audit_max_mib: int = 1024
    extension_timeout_s: float = 0.1
    record: Path | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    log_level: LogLevel = "info"
    collector: str | None = None
    room: Room = Room()
    completion: Completion = Completion()
    mode: Mode = Mode.EXPLORE
    workflow: WorkflowOptions = field(default_factory=WorkflowOptions)
    at_once: AtOnce = field(default_factory=AtOnce)
    trusted: bool | None = True
    unknown: tuple[str, ...] = ()
    opened_as: Path | None = None

    @property
    def audit_database(self) -> Path:
        """The audit log of this workspace."""
        return self.state / AUDIT_DATABASE

    @property
    def coverage_file(self) -> Path:
        """The coverage account of this workspace."""
        return self.state / "coverage.json"

    @property
    def session_folder(self) -> Path:
        """The sessions of this workspace."""
        return self.state / "sessions"

    @property
    def data_folder(self) -> Path:
        """Where checkpoints of the audit logs are, and the key that signs them: outside every log's folder."""
        return self.data or self.state.parent / "data"

    @property
    def person_rules(self) -> Path:
        """The person's rules that are programs, beside their policy file; a workspace has none."""
        return self.person_policy.parent / "rules"

    @property
    def person_permissions(self) -> Path:
        """The person's standing answers, beside their policy."""
        return self.person_policy.with_name("permissions.yaml")

    @property
    def person_programs(self) -> Path:
        """What the person says of programs, beside their policy."""
        return self.person_policy.with_name(PROGRAMS)

    @property
    def project_programs(self) -> Path:
        """What the workspace says of programs, which may only tighten."""
        return self.project_policy.with_name(PROGRAMS)

    @property
    def own_paths(self) -> tuple[str, ...]:
        """Remit's own files and folders that lie in the workspace, under whatever name, relative to it."""
        files = [self.person_policy, self.person_permissions, self.person_programs, self.audit_database]
        files += [self.record] if self.record is not None else []
        folders = (self.person_policy.parent, self.state, self.data_folder)
        root = os.path.realpath(self.workspace)
        real = (os.path.realpath(path) for path in (*files, *folders))
        # What the workspace itself lies in is not to be kept from writing; the files in it are.
        inside = {os.path.relpath(path, root) for path in real if path.startswith(f"{root.rstrip('/')}/")}
        return tuple(sorted(inside))

    @property
    def project_policy(self) -> Path:
        """The workspace's own policy file, which may only tighten."""
        return self.workspace / PROJECT_POLICY

    @property
    def work_items(self) -> Path:
        """The workspace's own file of work items (INT-10)."""
        return self.workspace / WORK_ITEMS_FILE

    @staticmethod
    def of_places(workspace: Path, environment: Mapping[str, str] | None = None) -> Settings:
        """Where everything of `workspace` is, with the default of every setting: no configuration is read.

        `REMIT_STATE_DIR`, `REMIT_DATA_DIR` and `REMIT_CONFIG_DIR` move the folders. Raises SetupError where the
        workspace is no folder.
        """
        env = os.environ if environment is None else environment
        root = existing_folder(workspace)
        return Settings(
            workspace=root,
            state=workspace_state(root, env),
            person_policy=config_folder(env) / "policy.yaml",
            data=data_folder(env),
            trusted=read_trust(root, env),
            opened_as=path_through_links(workspace, root, env),
        )

    @staticmethod
    def from_environment(
        workspace: Path,
        environment: Mapping[str, str] | None = None,
        model: str | None = None,
        editor: Mapping[Key, Any] | None = None,
    ) -> Settings:
        """Settings for `workspace` from configuration files and `REMIT_*` variables; `model` wins over both (CFG-01).

        `editor` are those that an editor has and may set.

        Raises SetupError where the workspace is no folder, or a value is none of those that its setting takes.
        """
        env = os.environ if environment is None else environment
        found = Settings.of_places(workspace, env)
        form = resolve(found.workspace, env, {("model", "name"): model} if model else None, editor).form
        return replace(
            found,
            model=form.model.name,
            max_steps=form.limits.max_steps,
            turn_timeout_s=form.limits.turn_timeout_s,
            approval_timeout_s=form.limits.approval_timeout_s,
            command_timeout_s=form.limits.command_timeout_s,
            review=form.review.when,
            audit_retention_days=form.audit.days,
            audit_max_mib=form.audit.mib,
            record=form.model.record,
            engine=engine_options(form),
            sessions=SessionLimits(form.sessions.save, form.sessions.days, form.sessions.count),
            generation=_generation(form),
            log_level=form.log.level,
            collector=form.telemetry.endpoint,
            room=Room(form.limits.spare_memory_mib, form.limits.spare_disk_mib),
            completion=Completion(form.completion.enabled, form.completion.model),
            mode=Mode(form.workflow.mode),
            workflow=_workflow(form),
            at_once=AtOnce(form.scheduler.global_max, form.scheduler.code_executor, form.scheduler.integration_test),
            unknown=unknown_variables(env),
        )


def engine_options(form: ConfigForm) -> EngineOptions:
    """How the model's process is run."""
    model = form.model
    return EngineOptions(
        cache_mib=model.cache_mib,
        idle_s=model.idle_s,
        check_memory=model.memory_check,
        cache_folder=model.cache_dir,
        thinking=model.thinking,
        guided=model.guided,
    )


def _workflow(form: ConfigForm) -> WorkflowOptions:
    return WorkflowOptions(
        Thresholds(form.workflow.warning_points, form.workflow.lock_points),
        auto_commit=form.git.auto_commit,
        auto_commit_lines=form.git.auto_commit_lines,
        message_prefix=form.git.message_prefix or "",
        test_hosts=tuple(dict.fromkeys(map(parse_endpoint, form.workflow.test_hosts))),
    )


def _generation(form: ConfigForm) -> Generation:
    model = form.model
    return Generation(
        max_tokens=model.max_tokens,
        temperature=model.temperature,
        top_p=model.top_p,
        seed=model.seed,
        effort=model.effort,
        context_tokens=model.context_tokens,
    )


def existing_folder(workspace: Path) -> Path:
    """The workspace with its symlinks resolved. Raises SetupError where it is no readable folder."""
    try:
        root = workspace.resolve(strict=True)
    except OSError as error:
        raise SetupError(
            f"cannot open the workspace `{workspace}`",
            (error.strerror or "it cannot be resolved").lower(),
            "open an existing folder",
        ) from error
    if not root.is_dir():
        raise SetupError(f"cannot open the workspace `{workspace}`", "it is not a folder", "open a folder")
    return root


def path_through_links(workspace: Path, root: Path, environment: Mapping[str, str]) -> Path | None:
    """The absolute path by which a person knows `root`, if it is another one: as given, below where their shell is."""
    try:
        here, shell = Path.cwd(), Path(environment.get("PWD", ""))
    except OSError:  # the folder that this was started in is gone
        return None
    if shell.is_absolute() and os.path.realpath(shell) == str(here):
        workspace = shell / (workspace.relative_to(here) if workspace.is_relative_to(here) else workspace)
    given = os.path.abspath(workspace)  # noqa: PTH100  abspath does not follow links
    return Path(given) if given != str(root) and os.path.realpath(given) == str(root) else None


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each variable that is spelled like a setting and is none, with the nearest that is one."""
    from difflib import get_close_matches

    found: list[str] = []
    for name in sorted(environment):
        if name.startswith("REMIT_") and name not in {*VARIABLES, *_OTHERS}:
            near = next(iter(get_close_matches(name, VARIABLES, n=1, cutoff=0.8)), None)
            said = f"the environment sets `{name}`, which is no setting and has no effect"
            found.append(f"{said}; did you mean `{near}`" if near else said)
    return tuple(found)
