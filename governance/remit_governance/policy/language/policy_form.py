"""What a policy file may say, as pydantic models; unknown keys are errors (POL-05)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr

from remit_governance.hosts import parse_endpoint
from remit_governance.policy.matching.command_match import command_prefix
from remit_governance.policy.matching.paths import glob_fault
from remit_governance.secrets.secret_patterns import SecretPattern
from remit_governance.values import Effect, Intent
from remit_governance.workflow.states import Mode, State

SIZES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "KB": 1000, "MB": 1000**2, "GB": 1000**3}

_QUANTITY = re.compile(r"([0-9]{1,15})([A-Za-z]*)", re.ASCII)


def parse_size(value: str | int) -> int:
    """Returns the bytes of `100KiB`, `5MB`, `512` and the like (POL-15); a bare number is bytes. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        known = " ".join(SIZES)
        raise ValueError(f"`{value}` is not a quantity: write a whole number and one of {known}, without a space")
    if match[2] and match[2] not in SIZES:
        raise ValueError(f"unknown unit `{match[2]}`: use {' '.join(SIZES)}, case-sensitive")
    return int(match[1]) * SIZES.get(match[2], 1)


_SHOWN_CHARS = 100


def _many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _glob(glob: str) -> str:
    fault = glob_fault(glob)
    if fault is not None:
        shown = glob if len(glob) <= _SHOWN_CHARS else f"{glob[:_SHOWN_CHARS]}…"
        raise ValueError(f"the glob `{shown}` can never match: {fault}")
    return glob


def _command(command: str) -> str:
    command_prefix(command)
    return command


def _host(host: str) -> str:
    try:
        parse_endpoint(host)
    except ValueError as error:
        raise ValueError(f"the host `{host}` can never match: {error}") from None
    return host


def _pattern(pattern: str) -> str:
    SecretPattern("", pattern)
    return pattern


def _size(value: object) -> object:
    return parse_size(value) if isinstance(value, str | int) else value


Word = Annotated[StrictStr, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_many)]


def _no_exclusions(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        if glob.startswith("!"):
            raise ValueError(f"`{glob}` makes an exception from an exception: name only what is not a test")
    return globs


Globs = Annotated[tuple[Annotated[Word, AfterValidator(_glob)], ...], BeforeValidator(_many)]
Commands = Annotated[tuple[Annotated[Word, AfterValidator(_command)], ...], BeforeValidator(_many)]
Hosts = Annotated[tuple[Annotated[Word, AfterValidator(_host)], ...], BeforeValidator(_many)]
Size = Annotated[int, BeforeValidator(_size)]


class Form(BaseModel):
    """The base class of all parts of a policy file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def matcher(told: str, meaning: str) -> Any:
    """Returns the field of a `match` key: `told` introduces its values in a sentence about the rule, and `meaning` says
    what the key means to a person who writes a rule.

    A key holds if the action's field of that name is one of the values; a key that holds otherwise has a row in
    `matching/conditions.py`.
    """
    return Field(None, description=meaning, json_schema_extra={"told": told})


class MatchForm(Form):
    """Conditions: every key that is given has to hold, by any of its values. An empty list holds never."""

    syscall: Words | None = matcher("", "What is about to be done, such as `fs.write`.")
    path_glob: Globs | None = matcher(
        "on", "The path in the workspace, links resolved, by globs as in `.gitignore`; `!` takes out again."
    )
    command: Commands | None = matcher(
        "with the command",
        "The first words of the command: `npm test` also covers `npm test --watch`. "
        "A deny or a review means every spelling.",
    )
    host: Hosts | None = matcher("to", "The network host, by its whole name; `host:port` for another port than 443.")
    tool: Words | None = matcher("by the tool", "The tool's name.")
    caller_tag: Words | None = matcher(
        "for the caller", "Who calls, and what carries it out, by a tag that the server gives."
    )
    intent: Annotated[tuple[Intent, ...], BeforeValidator(_many)] | None = matcher(
        "under the intent", "The intent that the step has declared."
    )
    state: Annotated[tuple[State, ...], BeforeValidator(_many)] | None = matcher(
        "in the state", "The state of the [workflow](workflow.md)."
    )
    mode: Annotated[tuple[Mode, ...], BeforeValidator(_many)] | None = matcher(
        "in the mode", "The session's mode: `strict`, `explore` or `debug`."
    )
    risk: Annotated[tuple[Literal["low", "medium", "high"], ...], BeforeValidator(_many)] | None = matcher(
        "at the risk", "How much the action can do: by its kind, and by how sensitive its path is."
    )

    def given(self) -> dict[str, tuple[str, ...]]:
        """Returns the values of each key that is given."""
        return {key: values for key, values in self if values is not None}

    def same(self, other: MatchForm) -> bool:
        """Tells whether both have the same values, in any order."""
        return all(
            (a is None) == (b is None) and set(a or ()) == set(b or ())
            for a, b in zip(dict(self).values(), dict(other).values(), strict=True)
        )


class ConstraintsForm(Form):
    """What a rule that allows demands besides its match."""

    max_file_size: Size | None = None
    require_sandbox: Literal["L2", "code-executor", "integration-test"] | None = None
    require_capability_token: StrictBool = False


class ExamplesForm(Form):
    """Actions the rule has to match and not to match, checked when the file is loaded."""

    match: tuple[dict[str, object], ...] = ()
    not_match: tuple[dict[str, object], ...] = ()


class RuleForm(Form):
    """One entry of `capabilities`. With `standing_answer: false`, a review is asked each time and never answered in
    advance."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    match: MatchForm
    action: Literal["allow", "deny", "pass", "require_review"]
    reason: Annotated[StrictStr, Field(max_length=500)] = ""
    except_: Annotated[tuple[MatchForm, ...], Field(alias="except")] = ()
    constraints: ConstraintsForm = ConstraintsForm()
    examples: ExamplesForm = ExamplesForm()
    standing_answer: StrictBool = True


class RedactForm(Form):
    """One entry of `redact`: an expression in RE2's syntax, and the name that stands where it matched."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,49}$")]
    pattern: Annotated[Word, AfterValidator(_pattern)]


class ExemptionForm(Form):
    """The files of one category of work that need no test first."""

    path_glob: Globs


class ExemptionsForm(Form):
    """The files of each category (FLW-05). A category that is left out keeps its packaged files."""

    config_change: ExemptionForm | None = None
    type_refactor: ExemptionForm | None = None
    documentation: ExemptionForm | None = None
    asset_update: ExemptionForm | None = None


class TestFilesForm(Form):
    """Files that are tests besides the usual ones, and files that are no tests (FLW-03)."""

    path_glob: Globs = ()
    except_: Annotated[Globs, AfterValidator(_no_exclusions), Field(alias="except")] = ()


class IntentForm(Form):
    """The tools that one intent opens: by name, and by the declared effect for tools that no intent names.

    A key that is left out changes nothing.
    """

    tools: Words | None = None
    effects: Annotated[tuple[Effect, ...], BeforeValidator(_many)] | None = None


class IntentsForm(Form):
    """The rows of the intent matrix that the file changes (INT-08)."""

    PLAN: IntentForm | None = None
    CODE: IntentForm | None = None
    ANALYZE: IntentForm | None = None
    DEBUG: IntentForm | None = None
    WRITE_FILE: IntentForm | None = None
    READ_FILE: IntentForm | None = None
    EXECUTE: IntentForm | None = None


class PolicyForm(Form):
    """A whole policy file."""

    version: Literal[1] = 1
    capabilities: tuple[RuleForm, ...] = ()
    redact: Annotated[tuple[RedactForm, ...], Field(max_length=100)] = ()
    tdd_exemptions: ExemptionsForm = ExemptionsForm()
    tdd_tests: TestFilesForm | None = None
    intents: IntentsForm = IntentsForm()
