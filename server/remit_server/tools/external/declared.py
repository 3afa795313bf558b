"""The descriptions of a person's own tools: `tools.yaml`, and what a program prints for `--schema` (TOOL-15)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from remit_governance.errors import PolicyError
from remit_governance.hosts import parse_endpoint
from remit_governance.intents import ALIASES, SELECT_INTENT
from remit_governance.policy.language.load import is_given, read_source
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Effect
from remit_governance.visible import without_hidden
from remit_server.contract import ErrorCode, Wire
from remit_server.contract.refused import describe_problems
from remit_server.errors import SetupError
from remit_server.json_bounds import has_too_many_values

MAX_SCHEMA_BYTES = 16_384
MAX_DESCRIPTION = 500
"""How many characters of a description a model sees."""

NAME = r"^[a-z][a-z0-9_]{0,63}$"
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_KEPT = frozenset({"type", "description", "enum", "default", "items", "properties", "required", "minimum", "maximum"})
"""The keywords of a parameter's JSON Schema that are kept. A pattern could be slow, and a reference could lead
elsewhere."""

_DEEPEST = 5

Own = Annotated[Path, AfterValidator(lambda path: path.expanduser())]
ToolName = Annotated[str, Field(pattern=NAME)]


class ToolForm(Wire):
    """One tool of `tools.yaml`. The program's answer to `--schema` fills in what is left out here. `hosts` are all that
    the tool reaches, `reads` what it may read besides the workspace and itself."""

    path: Own | None = None
    description: str | None = Field(default=None, min_length=1, max_length=MAX_DESCRIPTION)
    parameters: dict[str, JsonValue] | None = None
    effect: Literal["read", "execute"] = "execute"
    hosts: tuple[Annotated[str, Field(max_length=300)], ...] = Field(default=(), max_length=16)
    reads: tuple[Own, ...] = Field(default=(), max_length=16)
    timeout_seconds: int = Field(default=30, ge=1, le=600)
    enabled: bool = True


class ToolsForm(Wire):
    """`tools.yaml`. `paths` are folders of programs that are tools, in addition to the folder `tools/` beside this
    file."""

    paths: tuple[Own, ...] = Field(default=(), max_length=16)
    tools: dict[ToolName, ToolForm] = Field(default={}, max_length=200)


class Printed(BaseModel):
    """What a program prints about itself. Further keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: ToolName
    description: str = Field(min_length=1, max_length=20_000)
    parameters: dict[str, JsonValue] = {}


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool of the person's own after all its descriptions are combined; `parameters` is a JSON Schema of an
    object."""

    name: str
    path: Path
    description: str
    parameters: Mapping[str, JsonValue]
    effect: Effect
    hosts: tuple[str, ...] = ()
    reads: tuple[Path, ...] = ()
    timeout_s: int = 30


def one_line(text: str, most: int = MAX_DESCRIPTION) -> str:
    """Returns a description in one line, cut to `most` characters and without hidden ones, for a model."""
    return " ".join(without_hidden(text).split())[:most]


def read_tools_file(file: Path) -> ToolsForm:
    """Reads `tools.yaml`; an absent file counts as an empty one. Raises SetupError with the line of a mistake."""
    if not is_given(file):
        return ToolsForm()
    try:
        return parse_form(str(file), read_source(file).text, ToolsForm, {"tools": ToolForm})[1]
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of a tool of the person's own that cannot be used."""
    return SetupError("a tool of your own cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


def read_printed(path: Path, data: bytes) -> Printed:
    """Reads what a program printed for `--schema`. Raises SetupError."""
    fix = (
        'have it print `{"name": …, "description": …, "parameters": {…}}` for `--schema`, or describe it in tools.yaml'
    )
    if len(data) > MAX_SCHEMA_BYTES or has_too_many_values(data):
        raise unusable(f"`{path}` printed more than {MAX_SCHEMA_BYTES >> 10} KiB for `--schema`", fix)
    try:
        return Printed.model_validate(json.loads(data))
    except (ValueError, RecursionError) as error:
        why = describe_problems(error) if isinstance(error, ValidationError) else "it is not JSON"
        raise unusable(f"what `{path}` printed for `--schema` cannot be used: {why}", fix) from error


def declare(name: str, path: Path, form: ToolForm, printed: Printed | None, taken: frozenset[str]) -> Declared:
    """Returns the combined description of a tool: what the person wrote takes precedence over what the program prints.
    `taken` are names with another meaning. Raises SetupError."""
    if name in taken or name in ALIASES or name == SELECT_INTENT:
        raise unusable(f"`{path}` calls itself `{name}`, the name of another tool", "give it another name")
    description = form.description or (printed.description if printed else "")
    given = form.parameters if form.parameters is not None else (printed.parameters if printed else {})
    try:
        hosts = tuple(str(parse_endpoint(host)) for host in form.hosts)
        parameters = schema_of(given)
    except ValueError as error:
        raise unusable(
            f"`{name}` ({path}): {error}", "correct it in tools.yaml, or in what the program prints"
        ) from error
    return Declared(
        name=name,
        path=path,
        description=one_line(description),
        parameters=parameters,
        effect=Effect(form.effect),
        hosts=hosts,
        reads=form.reads,
        timeout_s=form.timeout_seconds,
    )


def schema_of(parameters: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Returns a JSON Schema of an object. `parameters` is either such a schema, or a schema for each parameter by name,
    with `required: true` inside it. Raises ValueError."""
    if parameters.get("type") == "object" and isinstance(parameters.get("properties", {}), dict):
        return _checked(_part(parameters, 0, "parameters"))
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    for name, part in parameters.items():
        if not isinstance(part, dict):
            raise ValueError(f"the parameter `{shorten(name, 100)}` is not described by an object")
        if part.get("required") is True:
            required.append(name)
        said = {key: value for key, value in part.items() if key != "required" or isinstance(value, list)}
        properties[name] = _part(said, 1, name)
    return _checked({"type": "object", "properties": properties, "required": required, "additionalProperties": False})


def unread_keys(parameters: Mapping[str, JsonValue]) -> frozenset[str]:
    """Returns the keywords in the parameters that `schema_of` leaves out, at any depth, so that nothing checks them."""
    if parameters.get("type") == "object" and isinstance(parameters.get("properties", {}), dict):
        return _unread(dict(parameters))
    return frozenset[str]().union(*(_unread(part) for part in parameters.values()))


def _unread(part: JsonValue) -> frozenset[str]:
    if not isinstance(part, dict):
        return frozenset()
    properties = part.get("properties")
    inner = [part.get("items"), *(properties.values() if isinstance(properties, dict) else ())]
    held = {"additionalProperties"} if part.get("additionalProperties") is False else set[str]()
    return frozenset(part.keys() - _KEPT - held).union(*map(_unread, inner))


def _checked(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Returns the schema. Raises ValueError if it is no valid JSON Schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        cast(Any, Draft202012Validator).check_schema(dict(schema))
    except SchemaError as error:
        why = f"it is not a valid JSON Schema at `{error.json_path}`: {error.message}"
        raise ValueError(shorten(why, 300)) from error
    return schema


def _part(schema: Mapping[str, JsonValue], depth: int, name: str) -> dict[str, JsonValue]:
    """Returns the part of a schema that is kept. Raises ValueError if it cannot be used."""
    if depth > _DEEPEST:
        raise ValueError(f"the parameter `{shorten(name, 100)}` nests deeper than {_DEEPEST}")
    kind = schema.get("type", "string")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f"the parameter `{shorten(name, 100)}` has a type that is none of {', '.join(sorted(_TYPES))}")
    kept: dict[str, JsonValue] = {key: value for key, value in schema.items() if key in _KEPT} | {"type": kind}
    if isinstance(said := kept.get("description"), str):
        kept["description"] = one_line(said)
    if kind == "array":
        items = kept.get("items", {})
        kept["items"] = _part(items if isinstance(items, dict) else {}, depth + 1, name)
    if kind == "object":
        parts = kept.get("properties", {})
        if not isinstance(parts, dict):
            raise ValueError(f"the properties of `{shorten(name, 100)}` are not an object")
        kept["properties"] = {
            key: _part(cast("dict[str, Any]", part) if isinstance(part, dict) else {}, depth + 1, key)
            for key, part in parts.items()
        }
        kept["additionalProperties"] = False
    return kept
