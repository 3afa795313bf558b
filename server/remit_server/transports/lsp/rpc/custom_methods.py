"""The custom methods of the language server and the shapes of their params (LSP-04), and errors in JSON-RPC's form:
the message is a sentence, `data` has what, why and fix, and a traceback is never sent (LSP-02).

A request's payload stays plain JSON here. The handler validates it by the pydantic contract, which is not imported
here because its import takes longer than an editor should wait for `initialize`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import attrs
import cattrs
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

if TYPE_CHECKING:
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
    """Returns a value from the client as `form`, a model of the contract. Raises JsonRpcException with every refused
    field and its problem, but without the value, which may be a secret."""
    from pydantic import ValidationError

    try:
        return form.model_validate(value)
    except ValidationError as error:
        from remit_server.contract.refused import describe_problems

        fix = "send what the contract's JSON Schema describes"
        raise invalid_params(subject, describe_problems(error, "params"), fix) from error


def from_error(error: RemitError) -> JsonRpcException:
    """Returns the JSON-RPC error for a RemitError, with the texts of that error."""
    return _failed(error, lsp.LSPErrorCodes.RequestFailed)


def from_unexpected(error: BaseException) -> JsonRpcException:
    """Returns the JSON-RPC error for any exception. The traceback of a defect goes to the log only."""
    from remit_server.errors import RemitError

    if isinstance(error, JsonRpcException):
        return error
    if isinstance(error, RemitError):
        return from_error(error)
    logger.error("a request failed", exc_info=error)
    why = "an unexpected error; its log has the details"
    fix = "try again; if it happens again, report it with the log"
    defect = RemitError("the language server failed", why, fix)
    return _failed(defect, lsp.ErrorCodes.InternalError)


def _failed(error: RemitError, code: int) -> JsonRpcException:
    payload = error.payload()
    return JsonRpcException(payload.message, code=code, data=payload.model_dump(mode="json"))


RUN = "remit/run"
APPROVAL_RESPOND = "remit/approval/respond"
STATUS = "remit/status"
REVIEW_LIST = "remit/review/list"
REVIEW_HUNKS = "remit/review/hunks"
REVIEW_RESOLVE = "remit/review/resolve"
EDITOR_QUERY = "remit/editor/query"
"""A request of the server, sent only to clients that announced that they answer it."""
GENERATE = "remit/generate"

PROTOCOL = 1
"""Equal to `contract.PROTOCOL`, which is too slow to import here; a test compares them."""

Json: TypeAlias = Any
"""A JSON value as `json.loads` gives it."""


_MOST_VALUES = 20_000
"""The most values in the params of a custom method, because the contract takes some 10 µs to report an invalid one."""


class WrongParams(ValueError):
    """The params do not have the shape that their method needs; the text is for the caller."""


@attrs.frozen
class StreamedParams:
    """Params of `remit/run` and `remit/generate`. `request` is as received, without the tokens for its stream and its
    progress, which have fields of their own."""

    request: dict[str, Json]
    partial_result_token: lsp.ProgressToken | None = None
    work_done_token: lsp.ProgressToken | None = None


@attrs.frozen
class StatusParams:
    """Params of `remit/status`: a workspace folder (None: the first), and a session (None: the one used last)."""

    workspace_folder: str | None = None
    session_id: str | None = None


@attrs.frozen
class GivenParams:
    """Params as received, or an empty object if the client left out params that are optional."""

    given: dict[str, Json]


@attrs.frozen
class EditorQueryResult:
    """The client's answer to `remit/editor/query`, as received."""

    id: int | str
    result: Json = None
    jsonrpc: str = "2.0"


CUSTOM_RESULTS: Mapping[str, type] = {EDITOR_QUERY: EditorQueryResult}
"""The types of the client's answers, by the request's method: plain JSON below the outermost object."""


def converter() -> cattrs.Converter:
    """Returns the LSP converter, which stops at the first error."""
    return get_converter(cattrs.Converter(detailed_validation=False))


def _streamed(raw: Json) -> StreamedParams:
    request = dict(_object(raw))
    return StreamedParams(request, _token(request, "partialResultToken"), _token(request, "workDoneToken"))


def _token(request: dict[str, Json], name: str) -> lsp.ProgressToken | None:
    token = request.pop(name, None)
    if token is not None and (isinstance(token, bool) or not isinstance(token, int | str)):
        raise WrongParams(f"`{name}` is a string or a whole number")
    return token


def _given(raw: Json) -> GivenParams:
    return GivenParams(dict(_object(raw)))


def _status(raw: Json) -> StatusParams:
    given = {} if raw is None else _object(raw)
    folder, session = given.get("workspace_folder"), given.get("session_id")
    if not isinstance(folder, str | None):
        raise WrongParams("`workspace_folder` is a string")
    if not isinstance(session, str | None):
        raise WrongParams("`session_id` is a string")
    return StatusParams(folder, session)


def _given_or_empty(raw: Json) -> GivenParams:
    return GivenParams({} if raw is None else dict(_object(raw)))


def _object(raw: Json) -> dict[str, Json]:
    if not isinstance(raw, dict):
        raise WrongParams("params are a JSON object")
    if _is_larger(raw, _MOST_VALUES):
        raise WrongParams(f"params have at most {_MOST_VALUES} values")
    return raw  # pyright: ignore[reportUnknownVariableType]  # JSON keys are strings


def _is_larger(raw: Json, most: int) -> bool:
    """Returns whether a value contains more than `most` others, nested ones included."""
    level: list[Json] = [raw]
    count = 0
    while level and count <= most:
        level = list(islice(chain.from_iterable(map(_inside, level)), most + 1))
        count += len(level)
    return count > most


def _inside(value: Json) -> Collection[Json]:
    if isinstance(value, dict):
        return cast("Collection[Json]", value.values())
    return cast("Collection[Json]", value) if isinstance(value, list) else ()


@attrs.frozen
class Custom:
    """A custom method: `read` converts the received params to the handler's, `content` names their contract model."""

    read: Callable[[Json], Any]
    content: str | None = None


CUSTOM: Mapping[str, Custom] = {
    RUN: Custom(_streamed, "RunRequest"),
    APPROVAL_RESPOND: Custom(_given, "ApprovalAnswer"),
    STATUS: Custom(_status),
    REVIEW_LIST: Custom(_given_or_empty, "ReviewListRequest"),
    REVIEW_HUNKS: Custom(_given_or_empty, "ReviewHunksRequest"),
    REVIEW_RESOLVE: Custom(_given_or_empty, "ReviewResolveRequest"),
    GENERATE: Custom(_streamed, "GenerationRequest"),
}
"""The client's custom requests, by method. The server announces them, and each has a row in `FEATURES`."""
