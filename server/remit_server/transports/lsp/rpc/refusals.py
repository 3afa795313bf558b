"""Errors in JSON-RPC's form: a sentence, and what, why and fix in `data`; never a traceback (LSP-02)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

if TYPE_CHECKING:  # pydantic is slow to import
    from pydantic import BaseModel

    from remit_server.errors import RemitError

logger = logging.getLogger(__name__)

Form = TypeVar("Form", bound="BaseModel")


def invalid_params(subject: str, why: str, fix: str) -> JsonRpcException:
    """Returns the error for invalid params; `subject` is a method or a command."""
    from remit_server.errors import SetupError

    payload = SetupError(f"invalid params for `{subject}`", why, fix).payload()
    return JsonRpcInvalidParams(payload.message, data=payload.model_dump(mode="json"))


def read_form(subject: str, form: type[Form], value: object) -> Form:
    """Reads what a client sent in a form of the contract. Raises JsonRpcException with every field that the contract
    refuses, and its problem; never the value, which may be a secret."""
    from pydantic import ValidationError

    try:
        return form.model_validate(value)
    except ValidationError as error:
        from remit_server.contract.refused import describe_problems

        fix = "send what the contract's JSON Schema describes"
        raise invalid_params(subject, describe_problems(error, "params"), fix) from error


def from_error(error: RemitError) -> JsonRpcException:
    """Returns the error for a failure, with its own words."""
    return _failed(error, lsp.LSPErrorCodes.RequestFailed)


def from_unexpected(error: BaseException) -> JsonRpcException:
    """Returns the error for a defect. Its traceback goes only to the log."""
    from remit_server.errors import RemitError

    if isinstance(error, JsonRpcException):
        return error
    if isinstance(error, RemitError):
        return from_error(error)
    logger.error("a request failed", exc_info=error)
    why = "an error that it did not expect; its log has the details"
    fix = "try again; if it happens again, report it with the log"
    defect = RemitError("the language server failed", why, fix)
    return _failed(defect, lsp.ErrorCodes.InternalError)


def _failed(error: RemitError, code: int) -> JsonRpcException:
    payload = error.payload()
    return JsonRpcException(payload.message, code=code, data=payload.model_dump(mode="json"))
