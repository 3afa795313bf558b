"""The routes over HTTP, as an OpenAPI 3.1 document (TRN-06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, TypeAdapter

from remit_server import contract

AUDIT_QUERY = ("decision", "session", "tool", "rule", "limit")
"""The parameters that a query of the audit log may have."""
_JSON, _SSE = "application/json", "text/event-stream"


@dataclass(frozen=True, slots=True)
class Operation:
    """One route: the form that it `takes` in its body, the form that it `gives`, or with `many` a list of it, and the
    parameters of its query."""

    path: str
    method: str
    summary: str
    takes: str | None = None
    gives: str | None = None
    kind: str = _JSON
    query: tuple[str, ...] = ()
    many: bool = False


OPERATIONS = (
    Operation("/v1/runs", "post", "Run a turn; its events as SSE, then its result.", takes="RunRequest", kind=_SSE),
    Operation(
        "/v1/runs/{session}/{turn}/events",
        "get",
        "Follow a turn from behind event `after`, or `Last-Event-ID`.",
        kind=_SSE,
        query=("after",),
    ),
    Operation("/v1/runs/{session}/{turn}", "delete", "End a turn."),
    Operation(
        "/v1/approvals",
        "get",
        "The questions that wait for an answer, each with the hunks that an answer may leave out.",
        gives="WaitingQuestion",
        many=True,
    ),
    Operation(
        "/v1/approvals/{approval}", "post", "Answer a question.", takes="ApprovalAnswer", gives="ApprovalReceipt"
    ),
    Operation("/v1/status", "get", "What a status bar shows.", gives="StatusResult", query=("session_id",)),
    Operation("/v1/sessions", "get", "The sessions of the folder.", gives="SessionSummary", many=True),
    Operation("/v1/agents", "get", "The sessions of all agents in the folder.", gives="AgentSession", many=True),
    Operation("/v1/audit", "get", "The last calls of all agents, newest first.", query=AUDIT_QUERY),
    Operation("/v1/audit/{call}", "get", "Which rule decided one call, what was answered, and what holds now."),
)
_FORMS: Mapping[str, type[BaseModel]] = {
    form.__name__: form
    for form in (
        *(contract.RunRequest, contract.ApprovalAnswer, contract.ApprovalReceipt, contract.StatusResult),
        *(contract.SessionSummary, contract.AgentSession, contract.WaitingQuestion),
    )
}


def openapi() -> Mapping[str, object]:
    """Returns the document, with the routes and the forms that they take and give."""
    schemas: dict[str, object] = {}
    for name, form in _FORMS.items():
        taken = any(name == each.takes for each in OPERATIONS)
        mode: Literal["validation", "serialization"] = "validation" if taken else "serialization"
        schema = TypeAdapter(form).json_schema(ref_template="#/components/schemas/{model}", mode=mode)
        schemas |= {**schema.pop("$defs", {}), name: schema}
    paths: dict[str, dict[str, object]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _describe(each)
    security = {"token": {"type": "http", "scheme": "bearer"}}
    needed: list[dict[str, list[str]]] = [{"token": []}]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Remit", "version": str(contract.PROTOCOL)},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
        "security": needed,
    }


def _describe(operation: Operation) -> dict[str, object]:
    named = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    content = {operation.kind: _content(operation)}
    told: dict[str, object] = {
        "summary": operation.summary,
        "responses": {"200": {"description": operation.summary, "content": content}},
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in named),
            *({"name": name, "in": "query", "schema": {"type": "string"}} for name in operation.query),
        ],
    }
    if operation.takes:
        told["requestBody"] = {"required": True, "content": {_JSON: {"schema": _reference(operation.takes)}}}
    return told


def _content(operation: Operation) -> dict[str, object]:
    if operation.gives is None:
        return {}
    schema = _reference(operation.gives)
    return {"schema": {"type": "array", "items": schema} if operation.many else schema}


def _reference(name: str) -> dict[str, object]:
    return {"$ref": f"#/components/schemas/{name}"}
