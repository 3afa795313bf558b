"""Writes the contract as JSON Schema 2020-12 and as the extension's TypeScript types (AGT-08), and the tools into its
manifest.

`python -m remit_server.schemas_export` writes the files below the current folder; `--check` only says which are stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from remit_governance.intents import INTENT_TOOLS
from remit_governance.values import Intent
from remit_governance.work_items import WorkItemsForm
from remit_server import contract
from remit_server.contract.streamed import ClientMessage, ServerMessage
from remit_server.harness.writes.agent_trace import AgentTraceLine
from remit_server.runtime.config.form import KEYS, SECTIONS, ConfigForm, page_of, project_may, variable_of, written
from remit_server.tools.spec import AnyTool
from remit_server.tools.table import TOOLS

Schema = Mapping[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TYPESCRIPT: Final = Path("client-vscode/src/contract.ts")
SCHEMAS: Final = Path("schemas")
PACKAGE: Final = Path("client-vscode/package.json")
SETTINGS: Final = Path("docs/configuration.md")
OFFERED_AS: Final = "remit_"

# What a client sends is described as validated (fields with a default may be left out), what it receives as serialised.
CONTRACT: Final[tuple[tuple[str, Any, JsonSchemaMode], ...]] = (
    ("RunRequest", contract.RunRequest, "validation"),
    ("ApprovalAnswer", contract.ApprovalAnswer, "validation"),
    ("AgentEvent", contract.AgentEvent, "serialization"),
    ("RunResult", contract.RunResult, "serialization"),
    ("ApprovalReceipt", contract.ApprovalReceipt, "serialization"),
    ("StatusResult", contract.StatusResult, "serialization"),
    ("ReviewListRequest", contract.ReviewListRequest, "validation"),
    ("ReviewList", contract.ReviewList, "serialization"),
    ("ReviewHunksRequest", contract.ReviewHunksRequest, "validation"),
    ("ReviewHunks", contract.ReviewHunks, "serialization"),
    ("ReviewResolveRequest", contract.ReviewResolveRequest, "validation"),
    ("GenerationRequest", contract.GenerationRequest, "validation"),
    ("GenerationResult", contract.GenerationResult, "serialization"),
    ("ErrorPayload", contract.ErrorPayload, "serialization"),
    ("SessionRecord", contract.SessionRecord, "serialization"),
    ("SessionSummary", contract.SessionSummary, "serialization"),
    ("ChatReply", contract.ChatReply, "validation"),
    ("ChatProposal", contract.ChatProposal, "serialization"),
)

STREAMED: Final[tuple[tuple[str, Any, JsonSchemaMode], ...]] = (
    ("ClientMessage", ClientMessage, "validation"),
    ("ServerMessage", ServerMessage, "serialization"),
)
"""What goes over `remit stdio`, for programs in any language (TRN-01)."""

FILES: Final[tuple[tuple[str, Any, JsonSchemaMode], ...]] = (
    ("Config", ConfigForm, "validation"),
    ("ActiveIntents", WorkItemsForm, "validation"),
    ("AgentTraceLine", AgentTraceLine, "serialization"),
)
"""Files that people write, described for their editors, and files that other programs read; no client is sent them."""

LINE: Final = 90
PRIMITIVES: Final = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}

HEADER: Final = """\
// Generated from the server's contract by `python -m remit_server.schemas_export`: do not edit.

export const PROTOCOL = {protocol};

export type JsonValue =
  | null | boolean | number | string
  | readonly JsonValue[]
  | {{ readonly [key: string]: JsonValue }};
"""


class AsWritten(GenerateJsonSchema):
    """Marks each field that the server writes as required, also one with a default, so that clients can rely on it."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Returns True for each field of what is written, unless a condition may leave it out; for what is read,
        returns pydantic's own answer."""
        if self.mode == "serialization":
            return "serialization_exclude_if" not in field
        return super().field_is_required(field, total)


def files(root: Path) -> dict[Path, str]:
    """Returns every generated file's text, by its path below the repository `root`."""
    described = {name: _schema(name, kind, mode) for name, kind, mode in CONTRACT}
    texts = {SCHEMAS / f"{name}.json": _text_of(schema) for name, schema in described.items()}
    written = {name: _schema(name, kind, mode) for name, kind, mode in (*STREAMED, *FILES)}
    texts |= {SCHEMAS / f"{name}.json": _text_of(schema) for name, schema in written.items()}
    package = _text(root / PACKAGE)
    manifest = {} if package is None else {PACKAGE: with_tools(package)}
    page = _text(root / SETTINGS)
    settings = {} if page is None else {SETTINGS: with_settings(page)}
    return texts | {TYPESCRIPT: typescript(described)} | manifest | settings


_TABLE = "| key | variable | default | a project | |\n|---|---|---|---|---|\n"
_MAY: Final = {"free": "yes", "tighten": "only stricter", "no": "no"}


def with_settings(page: str) -> str:
    """Returns the page with the table of all settings as the form has them (CFG-01)."""
    before, _, rest = page.partition(_TABLE)
    after = rest[rest.index("\n\n") :]
    return f"{before}{_TABLE}{chr(10).join(_setting_row(*key) for key in KEYS)}{after}"


def _setting_row(section: str, name: str) -> str:
    field = SECTIONS[section].model_fields[name]
    default = "" if field.default in (None, ()) else f"`{written(field.default)}`"
    told = f"{field.description}"
    if page := page_of(section, name):
        here, _, anchor = page.partition("#")
        told += f": [more](#{anchor})" if here == SETTINGS.name else f": [more]({page})"
    may = _MAY[project_may(section, name)]
    return f"| `{section}.{name}` | `{variable_of(section, name)}` | {default} | {may} | {told} |"


def with_tools(package: str) -> str:
    """Returns the extension's manifest with the tools that it offers to other agents of the editor (EDI-11).

    Each tool takes, besides its own arguments, the intent that it is called with: one of those that open it.
    """
    manifest = json.loads(package)
    offered = [_offered(tool) for tool in TOOLS.values() if not tool.person_only and not tool.delegates]
    manifest["contributes"]["languageModelTools"] = offered
    return _text_of(manifest)


def _offered(tool: AnyTool) -> Schema:
    intents = [intent.value for intent in Intent if tool.name in INTENT_TOOLS[intent].tools]
    own = {key: value for key, value in tool.schema.items() if key != "description"}
    intent = {"type": "string", "enum": intents, "description": "what the call is for, declared before it runs"}
    words = tool.name.split("_")
    return {
        "name": f"{OFFERED_AS}{tool.name}",
        "toolReferenceName": f"remit{''.join(word.title() for word in words)}",
        "displayName": f"Remit: {' '.join(words)}",
        "modelDescription": f"{tool.summary} Governed by Remit: policy, the person's approval where one is due, audit.",
        "canBeReferencedInPrompt": True,
        "inputSchema": own
        | {"properties": {"intent": intent, **own["properties"]}, "required": ["intent", *own.get("required", [])]},
    }


def _text_of(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def typescript(described: Mapping[str, Schema]) -> str:
    """Returns the TypeScript declarations of the named schemas and of everything they refer to.

    Raises ValueError if two schemas give one name to different shapes.
    """
    named: dict[str, Schema] = {}
    for root, schema in described.items():
        parts = {**schema.get("$defs", {}), root: {k: v for k, v in schema.items() if k not in {"$defs", "$schema"}}}
        for name, part in parts.items():
            if named.setdefault(name, part) != part:
                raise ValueError(f"`{name}` is read and written in different shapes, give them two names")
    named.pop("JsonValue", None)
    declarations = [_declaration(name, named[name]) for name in sorted(named)]
    return "\n".join([HEADER.format(protocol=contract.PROTOCOL), *declarations])


def stale(root: Path) -> list[Path]:
    """Returns the generated files below `root` that are missing, differ, or are no longer generated."""
    wanted = files(root)
    changed = [path for path, text in wanted.items() if _text(root / path) != text]
    left_over = [p.relative_to(root) for p in (root / SCHEMAS).glob("*.json") if p.relative_to(root) not in wanted]
    return changed + left_over


def write(root: Path) -> list[Path]:
    """Write what is stale below `root`, remove what is no longer generated; returns the paths touched."""
    wanted = files(root)
    touched = stale(root)
    for path in touched:
        target = root / path
        if path in wanted:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(wanted[path], encoding="utf-8")
        else:
            target.unlink()
    return touched


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated files, or with `--check` exit 1 when one is stale."""
    parser = argparse.ArgumentParser(prog="python -m remit_server.schemas_export", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a file is stale")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository root (default: the current folder)")
    options = parser.parse_args(arguments)
    if not (options.root / TYPESCRIPT).parent.is_dir():
        parser.error(f"`{options.root}` is not the repository root: it has no {TYPESCRIPT.parent}")
    found = stale(options.root) if options.check else write(options.root)
    for path in found:
        print(f"{'stale' if options.check else 'wrote'} {path}", file=sys.stderr)  # noqa: T201 (a command's output)
    return 1 if options.check and found else 0


def _schema(name: str, kind: Any, mode: Literal["validation", "serialization"]) -> Schema:
    schema = TypeAdapter[Any](kind).json_schema(mode=mode, schema_generator=AsWritten)
    return {"$schema": DIALECT, "title": name} | {key: value for key, value in schema.items() if key != "title"}


def _declaration(name: str, schema: Schema) -> str:
    comment = _comment(schema.get("description"), "")
    if schema.get("type") != "object" or "properties" not in schema:
        return f"{comment}export type {name} ={_alternatives(_type(schema))};\n"
    required = set(schema.get("required", ()))
    fields = [
        f"{_comment(field.get('description'), '  ')}  readonly {key}{'' if key in required else '?'}: {_type(field)};\n"
        for key, field in schema["properties"].items()
    ]
    return f"{comment}export interface {name} {{\n{''.join(fields)}}}\n"


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": str(reference)}:
            text = reference.rpartition("/")[2]
        case {"const": value}:
            text = json.dumps(value)
        case {"enum": values}:
            text = " | ".join(json.dumps(value) for value in values)
        case {"anyOf": parts} | {"oneOf": parts}:
            text = " | ".join(dict.fromkeys(_type(part) for part in parts))
        case {"type": "array", "items": items}:
            text = f"readonly ({item})[]" if " | " in (item := _type(items)) else f"readonly {item}[]"
        case {"type": "array", "prefixItems": [*each]}:
            text = f"readonly [{', '.join(map(_type, each))}]"
        case {"type": "object", "additionalProperties": values}:
            text = f"{{ readonly [key: string]: {_type(values)} }}"
        case {"type": kind} if kind in PRIMITIVES:
            text = PRIMITIVES[kind]
        case _:
            raise ValueError(f"no TypeScript for {schema}, add a case")
    return text


def _alternatives(text: str) -> str:
    return f" {text}" if len(text) < LINE else "".join(f"\n  | {part}" for part in text.split(" | "))


def _comment(description: str | None, indent: str) -> str:
    if not description:
        return ""
    lines = description.replace("*/", "* /").splitlines()
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
