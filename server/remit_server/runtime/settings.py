"""Where a server works and keeps things, and its limits (AGT-07). Security settings come from the person only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from platformdirs import user_config_path, user_data_path, user_state_path

from remit_governance.policy.decision.builtin import AUDIT_DATABASE
from remit_server.agent.context.generation import MAX_TOKENS, Generation
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.models.local.options import EngineOptions
from remit_server.models.ports import Effort

PROJECT_POLICY = Path(".remit") / "policy.yaml"
VARIABLES = (
    *("REMIT_MODEL", "REMIT_RECORD", "REMIT_MODEL_CACHE_MIB", "REMIT_MODEL_CACHE_DIR", "REMIT_MODEL_IDLE_S"),
    *("REMIT_MODEL_MEMORY_CHECK", "REMIT_MODEL_THINKING", "REMIT_MODEL_GUIDED", "REMIT_CONFIG_DIR", "REMIT_STATE_DIR"),
    *("REMIT_DATA_DIR", "REMIT_AUDIT_DAYS", "REMIT_AUDIT_MIB", "REMIT_SANDBOX", "REMIT_SANDBOX_IMAGE"),
    *("REMIT_APPROVAL_TIMEOUT_S", "REMIT_TURN_TIMEOUT_S", "REMIT_MAX_STEPS"),
    *("REMIT_MAX_TOKENS", "REMIT_TEMPERATURE", "REMIT_TOP_P", "REMIT_SEED", "REMIT_EFFORT", "REMIT_CONTEXT_TOKENS"),
    *("REMIT_ENGINE", "REMIT_API_KEY", "REMIT_SESSIONS", "REMIT_SESSION_DAYS", "REMIT_SESSION_COUNT"),
)
"""Every variable of the environment that is a setting."""

# Of Remit's own tests, and of what runs in its sandbox.
_TESTED_WITH = (
    *("REQUIRE_E2E", "CODE_SERVER", "SERVER", "VSIX", "CHROMIUM", "SHOTS", "PROMPT", "CHOICE", "REPORT"),
    *("LLAMA_SERVER", "CHAT_TEMPLATES", "GENERATIONS"),
)
_OTHERS = frozenset(f"REMIT_{name}" for name in _TESTED_WITH)
_ON, _OFF = frozenset({"on", "1", "yes"}), frozenset({"off", "0", "no"})


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Whether sessions are saved, for how many days after their last use (0: for ever), and how many at most."""

    save: bool = True
    days: int = 30
    most: int = 100


@dataclass(frozen=True, slots=True)
class Settings:
    """What one server was started with.

    `model` is what `choose_provider` takes; times are seconds. `state` holds the audit database of this workspace,
    outside the workspace, where no tool can write. The model's traffic is recorded to `record`, if there is one.
    `unknown` says which variables look like settings and are none.
    """

    workspace: Path
    state: Path
    person_policy: Path
    model: str = "embedded"
    max_steps: int = 25
    generation: Generation = field(default_factory=Generation)
    turn_timeout_s: float = 600.0
    approval_timeout_s: float = 300.0
    data: Path | None = None
    audit_retention_days: int = 90
    audit_max_mib: int = 1024
    extension_timeout_s: float = 0.1
    record: Path | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    unknown: tuple[str, ...] = ()

    @property
    def audit_database(self) -> Path:
        """The audit log of this workspace."""
        return self.state / AUDIT_DATABASE

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
    def own_paths(self) -> tuple[str, ...]:
        """Remit's own files and folders that lie in the workspace, under whatever name, relative to it."""
        files = [self.person_policy, self.person_permissions, self.audit_database]
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

    @staticmethod
    def from_environment(
        workspace: Path, environment: Mapping[str, str] | None = None, model: str | None = None
    ) -> Settings:
        """Settings for `workspace` from `REMIT_*` variables; `model` wins over `REMIT_MODEL`.

        `REMIT_STATE_DIR`, `REMIT_DATA_DIR` and `REMIT_CONFIG_DIR` move the folders, `REMIT_MODEL` names the model,
        `REMIT_APPROVAL_TIMEOUT_S`, `REMIT_TURN_TIMEOUT_S`, `REMIT_MAX_STEPS`, `REMIT_AUDIT_DAYS` and
        `REMIT_AUDIT_MIB` set limits, `REMIT_RECORD` names a file to record the model's traffic to.
        `REMIT_MODEL_CACHE_MIB`, `REMIT_MODEL_IDLE_S`, `REMIT_MODEL_CACHE_DIR`, `REMIT_MODEL_MEMORY_CHECK` (`off`),
        `REMIT_MODEL_THINKING` (`on`) and `REMIT_MODEL_GUIDED` (`off`) are about the model's process.
        `REMIT_MAX_TOKENS`, `REMIT_TEMPERATURE`, `REMIT_TOP_P`, `REMIT_SEED`, `REMIT_EFFORT` and `REMIT_CONTEXT_TOKENS`
        say how it generates; `REMIT_SESSIONS` (`off`), `REMIT_SESSION_DAYS` and `REMIT_SESSION_COUNT` what is kept of
        sessions.
        Raises SetupError where the workspace is no folder, or a value is none of those that its variable takes.
        """
        env = os.environ if environment is None else environment
        root = existing_folder(workspace)
        config = Path(env.get("REMIT_CONFIG_DIR") or user_config_path("remit")).absolute()
        return Settings(
            workspace=root,
            state=state_folder(env) / workspace_key(root),
            person_policy=config / "policy.yaml",
            model=model or env.get("REMIT_MODEL") or "embedded",
            max_steps=int(_number(env, "REMIT_MAX_STEPS", 25, 100)),
            turn_timeout_s=_number(env, "REMIT_TURN_TIMEOUT_S", 600, 3600),
            approval_timeout_s=_number(env, "REMIT_APPROVAL_TIMEOUT_S", 300, 3600),
            data=data_folder(env),
            audit_retention_days=int(_number(env, "REMIT_AUDIT_DAYS", 90, 36_500)),
            audit_max_mib=int(_number(env, "REMIT_AUDIT_MIB", 1024, 1 << 20)),
            record=Path(record).expanduser().absolute() if (record := env.get("REMIT_RECORD")) else None,
            engine=engine_options(env),
            sessions=session_limits(env),
            generation=generation_settings(env),
            unknown=unknown_variables(env),
        )


def session_limits(environment: Mapping[str, str]) -> SessionLimits:
    """How sessions are kept. Raises SetupError where a value is none of those that its variable takes."""
    return SessionLimits(
        save=_switch(environment, "REMIT_SESSIONS", default=True),
        days=int(_number(environment, "REMIT_SESSION_DAYS", 30, 36_500, least=0)),
        most=int(_number(environment, "REMIT_SESSION_COUNT", 100, 100_000, least=1)),
    )


def engine_options(environment: Mapping[str, str]) -> EngineOptions:
    """How the model's process is run. Raises SetupError where a value is none of those that its variable takes."""
    folder = environment.get("REMIT_MODEL_CACHE_DIR")
    return EngineOptions(
        cache_mib=int(_number(environment, "REMIT_MODEL_CACHE_MIB", 1024, 1 << 20)),
        idle_s=_number(environment, "REMIT_MODEL_IDLE_S", 900, 1e6),
        check_memory=_switch(environment, "REMIT_MODEL_MEMORY_CHECK", default=True),
        cache_folder=Path(folder).expanduser().absolute() if folder else None,
        thinking=_switch(environment, "REMIT_MODEL_THINKING", default=False),
        guided=_switch(environment, "REMIT_MODEL_GUIDED", default=True),
    )


def generation_settings(environment: Mapping[str, str]) -> Generation:
    """How the model generates. Raises SetupError where a value is none of those that its variable takes."""
    window = int(_number(environment, "REMIT_CONTEXT_TOKENS", 0, 1 << 24, least=1_024))
    return Generation(
        max_tokens=int(_number(environment, "REMIT_MAX_TOKENS", MAX_TOKENS, 1 << 20, least=16)),
        temperature=_number(environment, "REMIT_TEMPERATURE", None, 2, least=0),
        top_p=_number(environment, "REMIT_TOP_P", None, 1),
        seed=int(_number(environment, "REMIT_SEED", 0, 1 << 31, least=0)),
        effort=_effort(environment),
        context_tokens=window or None,
    )


def _effort(environment: Mapping[str, str]) -> Effort | None:
    text = environment.get("REMIT_EFFORT", "")
    match text:
        case "low" | "medium" | "high":
            return text
        case "":
            return None
        case _:
            raise SetupError(
                f"cannot use REMIT_EFFORT=`{text}`",
                "it is none of `low`, `medium`, `high`",
                "set one of them, or unset REMIT_EFFORT",
                code=ErrorCode.INVALID_REQUEST,
            )


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where the audit logs of all workspaces are, one folder each."""
    return Path(environment.get("REMIT_STATE_DIR") or user_state_path("remit")).absolute()


def data_folder(environment: Mapping[str, str]) -> Path | None:
    """Where checkpoints are; None, which is beside the audit logs, where those were moved and these were not."""
    if named := environment.get("REMIT_DATA_DIR"):
        return Path(named).absolute()
    return None if environment.get("REMIT_STATE_DIR") else user_data_path("remit").absolute()


def workspace_key(root: Path) -> str:
    """A folder name for a workspace: readable, and distinct for distinct paths."""
    return f"{root.name or 'root'}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


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


def _switch(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name, "").lower()
    if text in _ON | _OFF:
        return text in _ON
    if text:
        raise SetupError(
            f"cannot use {name}=`{env[name]}`",
            "it is neither `on` nor `off`",
            f"set one of them, or unset {name}",
            code=ErrorCode.INVALID_REQUEST,
        )
    return default


@overload
def _number(env: Mapping[str, str], name: str, default: float, most: float, least: float | None = None) -> float: ...


@overload
def _number(
    env: Mapping[str, str], name: str, default: None, most: float, least: float | None = None
) -> float | None: ...


def _number(
    env: Mapping[str, str], name: str, default: float | None, most: float, least: float | None = None
) -> float | None:
    """`least` is the smallest number that it takes; None: any above 0."""
    text = env.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value > 0 if least is None else least <= value) or not value <= most:
        span = "above 0 and up to" if least is None else f"from {least:g} to"
        raise SetupError(
            f"cannot use {name}=`{text}`",
            f"it is not a number {span} {most:g}",
            f"set a number, or unset {name}",
            code=ErrorCode.INVALID_REQUEST,
        )
    return value
