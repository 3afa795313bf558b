"""The custom methods of the language server and the shapes of their params (LSP-04).

A request's payload stays plain JSON here; the handler validates it by the pydantic contract, whose import takes longer
than an editor should wait for `initialize`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import chain, islice
from typing import Any, TypeAlias, cast

import attrs
import cattrs
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

RUN = "remit/run"
APPROVAL_RESPOND = "remit/approval/respond"
STATUS = "remit/status"
REVIEW_LIST = "remit/review/list"
REVIEW_HUNKS = "remit/review/hunks"
REVIEW_RESOLVE = "remit/review/resolve"
EDITOR_QUERY = "remit/editor/query"
"""The server's request to a client that announced it."""
GENERATE = "remit/generate"

PROTOCOL = 1
"""Equal to `contract.PROTOCOL`, which is too slow to import here; a test compares them."""

Json: TypeAlias = Any
"""A JSON value as `json.loads` gives it."""


_MOST_VALUES = 20_000
"""The most values in the params of a custom method: the contract reports each invalid one, at some 10 µs."""


class WrongParams(ValueError):
    """Params without the shape of their method; the text is for the caller."""


@attrs.frozen
class StreamedParams:
    """Params of `remit/run` and `remit/generate`: the request as received, without the tokens of its stream and of its
    progress."""

    request: dict[str, Json]
    partial_result_token: lsp.ProgressToken | None = None
    work_done_token: lsp.ProgressToken | None = None


@attrs.frozen
class AnswerParams:
    """Params of `remit/approval/respond`, as received."""

    answer: dict[str, Json]


@attrs.frozen
class StatusParams:
    """Params of `remit/status`: the workspace folder, unless it is the first; the session, else the last used."""

    workspace_folder: str | None = None
    session_id: str | None = None


@attrs.frozen
class ReviewParams:
    """Params of `remit/review/…`, as received; left out, they are empty."""

    given: dict[str, Json] = attrs.Factory(dict[str, Json])


@attrs.frozen
class RunMessage:
    """A `remit/run` request."""

    id: int | str
    params: StreamedParams
    method: str = RUN
    jsonrpc: str = "2.0"


@attrs.frozen
class AnswerMessage:
    """A `remit/approval/respond` request."""

    id: int | str
    params: AnswerParams
    method: str = APPROVAL_RESPOND
    jsonrpc: str = "2.0"


@attrs.frozen
class StatusMessage:
    """A `remit/status` request; `params` are optional."""

    id: int | str
    params: StatusParams = StatusParams()
    method: str = STATUS
    jsonrpc: str = "2.0"


@attrs.frozen
class ReviewMessage:
    """A `remit/review/…` request; which one is in `method`."""

    id: int | str
    method: str
    params: ReviewParams = ReviewParams()
    jsonrpc: str = "2.0"


@attrs.frozen
class EditorQueryResult:
    """The answer to a `remit/editor/query`, as received."""

    id: int | str
    result: Json = None
    jsonrpc: str = "2.0"


@attrs.frozen
class GenerateMessage:
    """A `remit/generate` request."""

    id: int | str
    params: StreamedParams
    method: str = GENERATE
    jsonrpc: str = "2.0"


CUSTOM_MESSAGES: Mapping[str, type] = {
    RUN: RunMessage,
    APPROVAL_RESPOND: AnswerMessage,
    STATUS: StatusMessage,
    REVIEW_LIST: ReviewMessage,
    REVIEW_HUNKS: ReviewMessage,
    REVIEW_RESOLVE: ReviewMessage,
    GENERATE: GenerateMessage,
}
"""The client's requests, by method."""

CUSTOM_RESULTS: Mapping[str, type] = {EDITOR_QUERY: EditorQueryResult}
"""The client's answers, by the request's method."""


PLAIN_MESSAGES: frozenset[type] = frozenset({*CUSTOM_MESSAGES.values(), *CUSTOM_RESULTS.values()})
"""The messages with plain JSON params: the converter's hooks inspect only their outermost object."""


def converter() -> cattrs.Converter:
    """Returns the LSP converter, which leaves the payload of custom methods alone and stops at the first error."""
    made = get_converter(cattrs.Converter(detailed_validation=False))
    for message in CUSTOM_MESSAGES.values():
        # A message without a row fails here, when the server starts: nothing else would look at its params.
        params = attrs.fields_dict(attrs.resolve_types(message))["params"].type
        made.register_structure_hook(params, READERS[params])
    return made


def _streamed_params(raw: Json, _: type) -> StreamedParams:
    request = dict(_object(raw))
    return StreamedParams(request, _token(request, "partialResultToken"), _token(request, "workDoneToken"))


def _token(request: dict[str, Json], name: str) -> lsp.ProgressToken | None:
    token = request.pop(name, None)
    if token is not None and (isinstance(token, bool) or not isinstance(token, int | str)):
        raise WrongParams(f"`{name}` is a string or a whole number")
    return token


def _answer_params(raw: Json, _: type) -> AnswerParams:
    return AnswerParams(dict(_object(raw)))


def _status_params(raw: Json, _: type) -> StatusParams:
    given = {} if raw is None else _object(raw)
    folder, session = given.get("workspace_folder"), given.get("session_id")
    if not isinstance(folder, str | None):
        raise WrongParams("`workspace_folder` is a string")
    if not isinstance(session, str | None):
        raise WrongParams("`session_id` is a string")
    return StatusParams(folder, session)


def _review_params(raw: Json, _: type) -> ReviewParams:
    return ReviewParams({} if raw is None else dict(_object(raw)))


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


READERS: Mapping[Any, Callable[[Json, type], Any]] = {
    StreamedParams: _streamed_params,
    AnswerParams: _answer_params,
    StatusParams: _status_params,
    ReviewParams: _review_params,
}
"""What reads each message's params."""
