"""Errors in JSON-RPC's form: a sentence, and what, why and fix in `data`; never a traceback (LSP-02)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

if TYPE_CHECKING:  # pydantic is slow to import
    from pydantic import BaseModel, ValidationError

    from remit_server.contract import ErrorPayload
    from remit_server.errors import RemitError

logger = logging.getLogger(__name__)

_PROBLEMS_SHOWN = 8

Form = TypeVar("Form", bound="BaseModel")


def invalid_params(subject: str, why: str, fix: str) -> JsonRpcException:
    """Returns the error for invalid params; `subject` is a method or a command."""
    from remit_server.contract import ErrorCode, ErrorPayload

    what = f"invalid params for `{subject}`"
    payload = ErrorPayload(code=ErrorCode.INVALID_REQUEST, message=f"{what}: {why}", what=what, why=why, fix=fix)
    return JsonRpcInvalidParams(payload.message, data=payload.model_dump(mode="json"))


def from_validation(subject: str, error: ValidationError) -> JsonRpcException:
    """Returns the error with every field that the contract refuses, and its problem; never the value, which may be a
    secret.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [(e["loc"], e["msg"].removeprefix("Value error, ")) for e in found[:_PROBLEMS_SHOWN]]
    shown = [f"`{_where(place)}`: {why[:1].lower()}{why[1:]}" for place, why in problems]
    more = f"; and {len(found) - _PROBLEMS_SHOWN} more" if len(found) > _PROBLEMS_SHOWN else ""
    return invalid_params(subject, "; ".join(shown) + more, "send what the contract's JSON Schema describes")


def read_form(subject: str, form: type[Form], value: object) -> Form:
    """Reads what a client sent in a form of the contract. Raises JsonRpcException."""
    from pydantic import ValidationError

    try:
        return form.model_validate(value)
    except ValidationError as error:
        raise from_validation(subject, error) from error


def from_error(error: RemitError) -> JsonRpcException:
    """Returns the error for a failure, with its own words."""
    return _failed(error.payload())


def from_unexpected(error: BaseException) -> JsonRpcException:
    """Returns the error for a defect. Its traceback goes only to the log."""
    from remit_server.contract import ErrorCode, ErrorPayload
    from remit_server.errors import RemitError

    if isinstance(error, JsonRpcException):
        return error
    if isinstance(error, RemitError):
        return from_error(error)
    logger.error("a request failed", exc_info=error)
    what, why = "the language server failed", "an error that it did not expect; its log has the details"
    payload = ErrorPayload(
        code=ErrorCode.INTERNAL,
        message=f"{what}: {why}",
        what=what,
        why=why,
        fix="try again; if it happens again, report it with the log",
    )
    return JsonRpcException(payload.message, code=lsp.ErrorCodes.InternalError, data=payload.model_dump(mode="json"))


def _failed(payload: ErrorPayload) -> JsonRpcException:
    return JsonRpcException(payload.message, code=lsp.LSPErrorCodes.RequestFailed, data=payload.model_dump(mode="json"))


def _where(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "params"
