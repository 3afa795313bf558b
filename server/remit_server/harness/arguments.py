"""Calls as they arrive, and their arguments parsed at the boundary: inside, a tool sees only its own type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.spec import Arguments, Tool

A = TypeVar("A", bound=BaseModel)

MAX_JUSTIFICATION = 500


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as it was asked for; nothing about it has been checked."""

    id: str
    name: str
    arguments: Mapping[str, JsonValue]


class SelectIntent(Arguments):
    """The arguments of `select_active_intent` (004 §Governance Tool)."""

    intent: str
    justification: str | None = Field(default=None, max_length=MAX_JUSTIFICATION)


def finite(value: JsonValue) -> JsonValue:
    """The value with null for NaN and infinities, which JSON has not: what has no digest cannot be audited."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite(item) for key, item in value.items()}
        case list():
            return [finite(item) for item in value]
        case _:
            return value


def parse_arguments(tool: Tool[A], arguments: Mapping[str, JsonValue]) -> A:
    """The tool's own arguments. Raises ToolError (`invalid_arguments`) naming each field and what is wrong with it."""
    return _validated(tool.name, tool.arguments, arguments)


def declared_intent(arguments: Mapping[str, JsonValue]) -> tuple[Intent, str | None]:
    """The intent a call declares, and why. Raises ToolError where it declares none of the seven."""
    parsed = _validated(SELECT_INTENT, SelectIntent, arguments)
    if parsed.intent not in Intent.__members__:
        raise _invalid(SELECT_INTENT, f"`{parsed.intent}` is no intent", f"use one of: {', '.join(Intent)}")
    return Intent(parsed.intent), parsed.justification


def _validated(name: str, model: type[A], arguments: Mapping[str, JsonValue]) -> A:
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        fields = ", ".join(model.model_fields)
        raise _invalid(name, _said(error), f"{name} takes: {fields}") from error


def _said(error: ValidationError) -> str:
    problems: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"`{'.'.join(map(str, p['loc'])) or 'arguments'}`: {p['msg'].lower()}" for p in problems[:5])


def _invalid(name: str, why: str, fix: str) -> ToolError:
    return ToolError(f"the arguments of `{name}` cannot be used", why, fix, code=ErrorCode.INVALID_ARGUMENTS)
