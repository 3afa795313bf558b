"""The settings: one typed model, from which files, variables and the published schema are made (CFG-01).

Each field names the environment variable that also sets it, and says what a project's file may do with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from remit_governance.hosts import parse_endpoint
from remit_server.agent.context.generation import MAX_TOKENS
from remit_server.models.ports import Effort

When = Literal["each", "turn"]
"""When a person is asked about edits: before each edit, or once about all edits of a turn."""

Project = Literal["free", "tighten", "no"]
"""Whether a project's file may set a field, may only tighten it, or may not name it, because it could loosen or reveal
something."""

Place = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]


def _listed(value: object) -> object:
    """Splits a string, which a variable has or a file with one host and no list; returns other values unchanged."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _host(text: str) -> str:
    """Returns the host in its canonical spelling. Raises ValueError if the text names no host."""
    try:
        return str(parse_endpoint(text))
    except ValueError as error:
        fix = "write a name such as `pypi.org` or `pypi.org:8443`"
        raise ValueError(f"`{text}` names no host, because {error}: {fix}") from error


Host = Annotated[str, Field(max_length=300), AfterValidator(_host)]
Hosts = Annotated[tuple[Host, ...], BeforeValidator(_listed, json_schema_input_type=list[Host] | str)]


def setting(default: Any, variable: str, project: Project, description: str, page: str = "", **bounds: Any) -> Any:
    """Returns a field that carries its variable, what a project may do, and the page below `docs/` about it."""
    extra: dict[str, JsonValue] = {"variable": variable, "project": project}
    if page:
        extra["page"] = page
    return Field(default, description=description, json_schema_extra=extra, **bounds)


LogLevel = Literal["debug", "info", "warning", "error"]


class Section(BaseModel):
    """Some settings that belong together. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSection(Section):
    """The model, how it generates, and its process."""

    name: str = setting(
        "built-in",
        "REMIT_MODEL",
        "no",
        "`built-in`, a model folder, `org/name` of a pulled model, or `PROVIDER:MODEL[@URL]`",
        "models.md",
        min_length=1,
    )
    max_tokens: int = setting(
        MAX_TOKENS, "REMIT_MAX_TOKENS", "free", "the most tokens of one answer", ge=16, le=1 << 20
    )
    temperature: float | None = setting(
        None,
        "REMIT_TEMPERATURE",
        "free",
        "randomness, from 0, the likeliest token, to 2 (else what the model's own files say)",
        ge=0,
        le=2,
    )
    top_p: float | None = setting(
        None,
        "REMIT_TOP_P",
        "free",
        "the likeliest tokens to choose from, as a share from 0 to 1 (else what the model's own files say)",
        gt=0,
        le=1,
    )
    seed: int = setting(
        0,
        "REMIT_SEED",
        "free",
        "the start of a local model's random choices; with the same number it answers the same",
        ge=0,
        le=1 << 31,
    )
    effort: Effort | None = setting(
        None,
        "REMIT_EFFORT",
        "free",
        "how long a model that supports this thinks: low, medium, high; the log says so if a model does not",
    )
    context_tokens: int | None = setting(
        None,
        "REMIT_CONTEXT_TOKENS",
        "free",
        "how many tokens of a conversation are sent at most, if that is less than the model can read",
        ge=1_024,
        le=1 << 24,
    )
    thinking: bool = setting(
        False, "REMIT_MODEL_THINKING", "free", "a local model that can think aloud may do so before it answers"
    )
    guided: bool = setting(
        True,
        "REMIT_MODEL_GUIDED",
        "no",
        "the grammar holds a local model to its intent; without it calls are read in the model's own syntax",
        "models.md#without-the-grammar",
    )
    cache_mib: int = setting(
        1024,
        "REMIT_MODEL_CACHE_MIB",
        "no",
        "MiB of memory for what a local model has read, so that it need not read it again",
        gt=0,
        le=1 << 20,
    )
    cache_dir: Place | None = setting(
        None,
        "REMIT_MODEL_CACHE_DIR",
        "no",
        "a folder that also keeps what the model has read after its process ends; it contains what was said",
    )
    idle_s: float = setting(
        900.0,
        "REMIT_MODEL_IDLE_S",
        "no",
        "seconds without a request after which a local model is unloaded",
        gt=0,
        le=1e6,
    )
    memory_check: bool = setting(
        True, "REMIT_MODEL_MEMORY_CHECK", "no", "refuse to load a model that seems larger than free memory"
    )
    record: Place | None = setting(None, "REMIT_RECORD", "no", "a file to record the model's traffic to")


class CompletionSection(Section):
    """Completion at the cursor, while you type in an editor."""

    enabled: bool = setting(
        False,
        "REMIT_INLINE_COMPLETION",
        "no",
        "the model completes at the cursor while you type",
        "editors/protocol.md#completion-at-the-cursor",
    )
    model: str | None = setting(
        None,
        "REMIT_INLINE_COMPLETION_MODEL",
        "no",
        "a model for completion alone, such as a small one, named as in `model.name`",
        min_length=1,
    )


class LimitsSection(Section):
    """Limits of a turn."""

    max_steps: int = setting(25, "REMIT_MAX_STEPS", "tighten", "the most steps of one turn", gt=0, le=100)
    turn_timeout_s: float = setting(
        600.0, "REMIT_TURN_TIMEOUT_S", "tighten", "the most seconds that one turn may take", gt=0, le=3600
    )
    approval_timeout_s: float = setting(
        300.0,
        "REMIT_APPROVAL_TIMEOUT_S",
        "tighten",
        "seconds that a question waits for you before it counts as no",
        gt=0,
        le=3600,
    )
    command_timeout_s: int = setting(
        600,
        "REMIT_COMMAND_TIMEOUT_S",
        "tighten",
        "the most seconds that a command or a run of tests may ask for",
        ge=1,
        le=3600,
    )
    background: int = setting(
        4, "REMIT_BACKGROUND", "tighten", "the most processes in the background at the same time (0: none)", ge=0, le=32
    )
    spare_memory_mib: int = setting(
        128,
        "REMIT_SPARE_MEMORY_MIB",
        "no",
        "MiB of memory that must be free for a turn to begin (0: no such limit)",
        ge=0,
        le=1 << 20,
    )
    spare_disk_mib: int = setting(
        100,
        "REMIT_SPARE_DISK_MIB",
        "no",
        "MiB of disk that must be free for a turn to begin (0: no such limit)",
        ge=0,
        le=1 << 20,
    )


class ReviewSection(Section):
    """When you are asked about edits."""

    when: When = setting(
        "each",
        "REMIT_REVIEW",
        "no",
        "`each`: before each edit; `turn`: about all of a turn's edits at its end",
        "editors.md#what-you-see",
    )


class SessionsSection(Section):
    """How sessions are kept."""

    save: bool = setting(
        True, "REMIT_SESSIONS", "no", "whether sessions are kept on disk, and can be undone", "sessions.md"
    )
    days: int = setting(
        30, "REMIT_SESSION_DAYS", "no", "days that a session is kept after its last use (0: for ever)", ge=0, le=36_500
    )
    count: int = setting(
        100, "REMIT_SESSION_COUNT", "no", "the most sessions of a workspace that are kept", ge=1, le=100_000
    )


class AuditSection(Section):
    """How the audit log is kept."""

    days: int = setting(90, "REMIT_AUDIT_DAYS", "no", "days that records are kept", "audit.md", gt=0, le=36_500)
    mib: int = setting(1024, "REMIT_AUDIT_MIB", "no", "MiB that one workspace's log may take", gt=0, le=1 << 20)


class LogSection(Section):
    """The log file, for whoever looks for a fault."""

    level: LogLevel = setting("info", "REMIT_LOG_LEVEL", "no", "log this and worse: debug, info, warning or error")


class TelemetrySection(Section):
    """A collector of traces and metrics, which is told how turns went: names and figures, no contents."""

    endpoint: str | None = setting(
        None,
        "REMIT_OTLP_ENDPOINT",
        "no",
        "a collector that gets reports of turns, by OTLP over HTTP, such as `http://127.0.0.1:4318`",
        "configuration.md#traces-and-metrics",
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        max_length=2_000,
    )


class WorkflowSection(Section):
    """How much of the workflow a session is held to when it begins, and what its tests may reach."""

    mode: Literal["strict", "explore"] = setting(
        "explore",
        "REMIT_MODE",
        "tighten",
        "`strict`: a failing test has to come before code; `explore`: it does not",
        "workflow.md",
    )
    warning_points: float = setting(
        2.0,
        "REMIT_WARNING_POINTS",
        "tighten",
        "points of test coverage; if commits outside strict mode lose more, you are warned",
        "workflow.md#the-coverage-budget",
        ge=0,
        le=100,
    )
    lock_points: float = setting(
        5.0,
        "REMIT_LOCK_POINTS",
        "tighten",
        "points of test coverage; if commits outside strict mode lose more, explore mode is locked",
        ge=0,
        le=100,
    )
    test_hosts: Hosts = setting(
        (),
        "REMIT_TEST_HOSTS",
        "no",
        'hosts that test runs reach over https if your policy allows each, such as `[pypi.org, "example.org:8443"]`',
        "policy-reference.md#network",
        max_length=16,
    )


class SchedulerSection(Section):
    """How many commands run at once; what waits begins by its priority, and in order."""

    global_max: int = setting(
        4, "REMIT_SCHEDULER_GLOBAL_MAX", "tighten", "the most commands that run at once", ge=1, le=64
    )
    code_executor: int = setting(
        2,
        "REMIT_SCHEDULER_CODE_EXECUTOR",
        "tighten",
        "how many of these may be commands without a network",
        ge=1,
        le=64,
    )
    integration_test: int = setting(
        2,
        "REMIT_SCHEDULER_INTEGRATION_TEST",
        "tighten",
        "how many of these may be commands that reach hosts",
        ge=1,
        le=64,
    )


class GitSection(Section):
    """How commits are made."""

    message_prefix: str | None = setting(
        None,
        "REMIT_MESSAGE_PREFIX",
        "no",
        "what the message of each commit begins with, such as `[remit]`",
        min_length=1,
        max_length=40,
        pattern=r"^[^\x00-\x1f\x7f]*$",
    )
    auto_commit: bool = setting(
        False,
        "REMIT_AUTO_COMMIT",
        "no",
        "commit in strict mode without asking you, if the commit meets every criterion",
        "workflow.md#the-review",
    )
    auto_commit_lines: int = setting(
        500,
        "REMIT_AUTO_COMMIT_LINES",
        "tighten",
        "the most changed lines of such a commit; you are asked about a larger one",
        ge=0,
        le=100_000,
    )


class HooksSection(Section):
    """What another agent is held to whose calls go through `remit hook`."""

    intent: Literal["required", "optional"] = setting(
        "optional",
        "REMIT_HOOKS_INTENT",
        "tighten",
        "`required` refuses every call of a hooked agent until an intent is declared",
        "hooks.md#intents",
    )


class ConfigForm(Section):
    """A configuration file of Remit. What it leaves out is the next file's, and at last the default."""

    model: ModelSection = ModelSection()
    completion: CompletionSection = CompletionSection()
    limits: LimitsSection = LimitsSection()
    review: ReviewSection = ReviewSection()
    sessions: SessionsSection = SessionsSection()
    audit: AuditSection = AuditSection()
    log: LogSection = LogSection()
    telemetry: TelemetrySection = TelemetrySection()
    workflow: WorkflowSection = WorkflowSection()
    git: GitSection = GitSection()
    scheduler: SchedulerSection = SchedulerSection()
    hooks: HooksSection = HooksSection()


SECTIONS: dict[str, type[Section]] = {name: type(field.default) for name, field in ConfigForm.model_fields.items()}
"""The models of the sections of `ConfigForm`, by name."""


def value_of(form: ConfigForm, key: tuple[str, str]) -> Any:
    """Returns the value of one setting."""
    return getattr(getattr(form, key[0]), key[1])


def project_may(section: str, key: str) -> Project:
    """Returns what a project's file may do with a setting."""
    may: Project = _extra(section, key)["project"]
    return may


def variable_of(section: str, key: str) -> str:
    """Returns the environment's variable for a setting."""
    return str(_extra(section, key)["variable"])


def page_of(section: str, key: str) -> str:
    """Returns the page about a setting, or an empty string if there is none."""
    return str(_extra(section, key).get("page", ""))


def written(value: object) -> str:
    """Returns a value as a person writes it in a file."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{', '.join(map(str, cast('tuple[object, ...]', value)))}]"
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _extra(section: str, key: str) -> dict[str, Any]:
    return cast("dict[str, Any]", SECTIONS[section].model_fields[key].json_schema_extra)


KEYS: tuple[tuple[str, str], ...] = tuple(
    (section, key) for section, form in SECTIONS.items() for key in form.model_fields
)
"""All settings, in the order of the form."""
