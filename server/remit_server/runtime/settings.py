"""The settings of a server: its places, and the configuration (AGT-07). Security settings come from the person only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from remit_governance.hosts import parse_endpoint
from remit_governance.policy.decision.builtin import AUDIT_DATABASE
from remit_governance.work_items import WORK_ITEMS_FILE
from remit_governance.workflow.review import WorkflowOptions
from remit_server.agent.context.generation import Generation
from remit_server.errors import SetupError
from remit_server.models.local.options import EngineOptions
from remit_server.runtime.config.form import KEYS, ConfigForm, Section, variable_of
from remit_server.runtime.config.layers import Key, resolve
from remit_server.runtime.own_files.folder_record import read_trust
from remit_server.runtime.own_files.places import config_folder, data_folder, workspace_state
from remit_server.sandbox.scheduled import AtOnce

PROJECT_POLICY = Path(".remit") / "policy.yaml"
PROGRAMS = "programs.yaml"
"""The name of a file with rows of programs, of the person or of a project; each lies beside a policy file."""
VARIABLES = (
    *(variable_of(*key) for key in KEYS),
    *("REMIT_CONFIG_DIR", "REMIT_STATE_DIR", "REMIT_DATA_DIR", "REMIT_SANDBOX", "REMIT_SANDBOX_IMAGE"),
    *("REMIT_ENGINE", "REMIT_PROFILE", "REMIT_API_KEY", "REMIT_HOOK_RESIDENT"),
    *("REMIT_QUEUE_USER", "REMIT_QUEUE_PASSWORD", "REMIT_QUEUE_TOKEN", "REMIT_QUEUE_CREDENTIALS"),
)
"""Every environment variable that is a setting. Those without a key in a configuration file say where things are kept,
what isolates commands, and how model servers and queues are reached."""

# Variables of Remit's own tests, and of programs in its sandbox.
_TESTED_WITH = (
    *("REQUIRE_E2E", "CODE_SERVER", "SERVER", "VSIX", "CHROMIUM", "SHOTS", "PROMPT", "CHOICE", "REPORT"),
    *("LLAMA_SERVER", "CHAT_TEMPLATES", "GENERATIONS"),
)
_OTHERS = frozenset(f"REMIT_{name}" for name in _TESTED_WITH)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one server was started with.

    `config` has the person's settings. `state` holds the audit database of this workspace, outside the workspace, where
    no tool can write; `data` has the checkpoints, None for a folder beside `state`. `trusted` says whether the files
    that the folder brings count, None if nobody was asked; `unknown` tells which variables look like settings but are
    none. `opened_as` is the workspace's path as it was given, if that leads through a link.
    """

    workspace: Path
    state: Path
    person_policy: Path
    config: ConfigForm = field(default_factory=ConfigForm)
    data: Path | None = None
    extension_timeout_s: float = 0.1
    trusted: bool | None = True
    unknown: tuple[str, ...] = ()
    opened_as: Path | None = None
    workflow: WorkflowOptions = field(init=False, repr=False, compare=False)
    """The settings of the workflow except its mode; made once, because each call reads them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "workflow", workflow_options(self.config))

    @property
    def generation(self) -> Generation:
        """How a model is asked to generate."""
        return _pick(Generation, self.config.model)

    @property
    def engine(self) -> EngineOptions:
        """How the model's process is run."""
        return engine_options(self.config)

    @property
    def at_once(self) -> AtOnce:
        """How many commands run at once."""
        return _pick(AtOnce, self.config.scheduler)

    def with_config(self, **sections: Mapping[str, Any]) -> Settings:
        """Returns these settings with some of the configuration replaced, section by section.

        Raises pydantic's ValidationError for a value that a setting does not take.
        """
        values = self.config.model_dump(exclude_unset=True)
        merged = values | {name: values.get(name, {}) | dict(given) for name, given in sections.items()}
        return replace(self, config=ConfigForm.model_validate(merged))

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
        """The folder of the person's extension rules, beside their policy file; a workspace has none."""
        return self.person_policy.parent / "rules"

    @property
    def person_permissions(self) -> Path:
        """The file of the person's standing answers, beside their policy."""
        return self.person_policy.with_name("permissions.yaml")

    @property
    def person_programs(self) -> Path:
        """The person's file with rows of programs, beside their policy."""
        return self.person_policy.with_name(PROGRAMS)

    @property
    def project_programs(self) -> Path:
        """The workspace's file with rows of programs, which may only tighten."""
        return self.project_policy.with_name(PROGRAMS)

    @property
    def own_paths(self) -> tuple[str, ...]:
        """The real paths of Remit's own files and folders in the workspace, relative to it."""
        files = [self.person_policy, self.person_permissions, self.person_programs, self.audit_database]
        files += [record] if (record := self.config.model.record) is not None else []
        folders = (self.person_policy.parent, self.state, self.data_folder)
        root = os.path.realpath(self.workspace)
        real = (os.path.realpath(path) for path in (*files, *folders))
        # A folder that contains the workspace is left out, because all of the workspace would count as Remit's own
        # then.
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
        """Returns where everything of `workspace` is, with the default of every setting: no configuration is read.

        `REMIT_STATE_DIR`, `REMIT_DATA_DIR` and `REMIT_CONFIG_DIR` move the folders. Raises SetupError if the workspace
        is no folder.
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
        """Returns the settings for `workspace` from configuration files and `REMIT_*` variables; `model` wins over both
        (CFG-01).

        `editor` has the values of the settings that an editor may set.

        Raises SetupError if the workspace is no folder, or a setting does not take its value.
        """
        env = os.environ if environment is None else environment
        found = Settings.of_places(workspace, env)
        given = {("model", "name"): model} if model else None
        form = resolve(found.workspace, env, given, editor).form
        return replace(found, config=form, unknown=unknown_variables(env))


Part = TypeVar("Part")


def _pick(kind: type[Part], *sections: Section, **instead: Any) -> Part:
    """Returns a part's options: for each field the value set under its name in a section, or the one given in
    `instead`."""
    names = {each.name for each in fields(cast("Any", kind))}
    set_there = {name: getattr(each, name) for each in sections for name in names & type(each).model_fields.keys()}
    return kind(**{**set_there, **instead})


def workflow_options(form: ConfigForm) -> WorkflowOptions:
    """Returns the settings of the workflow except its mode."""
    hosts = tuple(dict.fromkeys(map(parse_endpoint, form.workflow.test_hosts)))
    prefix = form.git.message_prefix or ""
    return _pick(WorkflowOptions, form.workflow, form.git, test_hosts=hosts, message_prefix=prefix)


def engine_options(form: ConfigForm) -> EngineOptions:
    """Returns how the model's process is run."""
    return _pick(EngineOptions, form.model)


def existing_folder(workspace: Path) -> Path:
    """Returns the workspace with its symlinks resolved. Raises SetupError if it is no readable folder."""
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
    """Returns the absolute path by which the person knows `root`: as given, below the folder that their shell is in.
    None if that is `root` itself."""
    try:
        here, shell = Path.cwd(), Path(environment.get("PWD", ""))
    except OSError:  # the folder that this was started in is gone
        return None
    if shell.is_absolute() and os.path.realpath(shell) == str(here):
        workspace = shell / (workspace.relative_to(here) if workspace.is_relative_to(here) else workspace)
    given = os.path.abspath(workspace)  # noqa: PTH100  abspath does not follow links
    return Path(given) if given != str(root) and os.path.realpath(given) == str(root) else None


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns a sentence for each variable that looks like a setting but is none, with the nearest one that is."""
    from difflib import get_close_matches

    found: list[str] = []
    for name in sorted(environment):
        if name.startswith("REMIT_") and name not in {*VARIABLES, *_OTHERS}:
            near = next(iter(get_close_matches(name, VARIABLES, n=1, cutoff=0.8)), None)
            said = f"the environment sets `{name}`, which is not a setting and has no effect"
            found.append(f"{said}; did you mean `{near}`" if near else said)
    return tuple(found)
