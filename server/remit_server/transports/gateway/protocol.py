"""The gateway's wire format: parses a line as a request or an error, and writes a response as a line (GW-01)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never, cast

from pydantic import BaseModel, ConfigDict, JsonValue, StrictBool, StrictInt, StrictStr, ValidationError
from pydantic_core import from_json

from remit_server.contract.refused import place_of
from remit_server.json_bounds import MOST_VALUES, has_too_many_values
from remit_server.models.answers import AnswerFormat

LONGEST_CONTENT = 10_000
"""The most characters of `content` that reach the model; longer content is cut (GW-01)."""

RequestId: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Opens a session; without instructions it gets the default ones."""

    instructions: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks a session's model. `content` is cut already, `given` is its full length; `wanted` is None if unknown."""

    session_id: str
    prompt: str
    content: str
    given: int
    wanted: AnswerFormat | None
    stream: bool


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Closes a session."""

    session_id: str


@dataclass(frozen=True, slots=True)
class CheckAvailability:
    """Asks whether the model could be used."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Ends the gateway."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A line that is not a request, or a failed one: the error code for the client, and details for the log only."""

    code: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """The session is open."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's answer, in the wanted format."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Available:
    """The model's availability, with the reason if it cannot be used."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class Done:
    """The request was carried out; there is no result."""


@dataclass(frozen=True, slots=True)
class Piece:
    """With `stream`, the next part of the answer's text, before the response. `restart` voids the earlier parts."""

    text: str
    restart: bool = False


Request: TypeAlias = OpenSession | Ask | CloseSession | CheckAvailability | Shutdown
Response: TypeAlias = Opened | Answered | Available | Done | Piece | Failed


@dataclass(frozen=True, slots=True)
class Line:
    """The content of one line. A request with an id does not wait for the lines of other sessions, and its response has
    the same id.

    `unknown` are the names of fields that no request has; they have no effect.
    """

    request: Request | Failed
    request_id: RequestId | None = None
    unknown: tuple[str, ...] = ()


class RequestForm(BaseModel):
    """The fields of all requests (GW-01); others are ignored."""

    model_config = ConfigDict(frozen=True)

    command: StrictStr | None = None
    session_id: StrictStr | None = None
    instructions: StrictStr | None = None
    prompt: StrictStr | None = None
    content: StrictStr | None = None
    output_format: JsonValue = None
    stream: StrictBool | None = None
    request_id: StrictStr | StrictInt | None = None


def parse(data: bytes) -> Line:
    """Parses one line. A line that is not a JSON object, or has a field of the wrong type, is `invalid_json`."""
    if has_too_many_values(data):
        return Line(Failed("invalid_json", f"a line may have at most {MOST_VALUES} values"))
    try:
        raw: object = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        return Line(Failed("invalid_json", str(error)))
    if not isinstance(raw, dict):
        return Line(Failed("invalid_json", "a request is a JSON object"))
    fields = cast("dict[str, object]", raw)
    try:
        form = RequestForm.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = place_of(first["loc"])
        return Line(Failed("invalid_json", f"{where}: {first['msg'].lower()}"), _id_of(fields))
    unknown = tuple(name[:40] for name in fields if name not in RequestForm.model_fields)
    return Line(_request(form), form.request_id, unknown[:8])


def spell(response: Response, request_id: RequestId | None = None) -> bytes:
    """Returns a response as one line of ASCII, so that no character in it can be taken for a line end."""
    told = _fields(response)
    if request_id is not None:
        told["request_id"] = request_id
    return json.dumps(told, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _request(form: RequestForm) -> Request | Failed:
    if form.command is None:
        return Failed("command_required")
    read = COMMANDS.get(form.command)
    return Failed("unknown_command", form.command) if read is None else read(form)


def _close_session(form: RequestForm) -> CloseSession | Failed:
    return Failed("session_id_required") if form.session_id is None else CloseSession(form.session_id)


def _message(form: RequestForm) -> Ask | Failed:
    if form.session_id is None:
        return Failed("session_id_required")
    if not form.prompt:
        return Failed("prompt_required")
    if not form.content:
        return Failed("content_required")
    if form.output_format is None:
        return Failed("output_format_required")
    content = form.content[:LONGEST_CONTENT]
    return Ask(
        form.session_id,
        form.prompt,
        content,
        len(form.content),
        _answer_format(form.output_format),
        form.stream or False,
    )


COMMANDS: Mapping[str, Callable[[RequestForm], Request | Failed]] = {
    "open-session": lambda form: OpenSession(form.instructions),
    "message": _message,
    "close-session": _close_session,
    "check-availability": lambda _: CheckAvailability(),
    "shutdown": lambda _: Shutdown(),
}
"""The parser of each command's line."""


def _answer_format(spelling: JsonValue) -> AnswerFormat | None:
    match spelling:
        case "text" | "string_list":
            return spelling
        case Mapping():
            return spelling
        case _:
            return None


def _id_of(fields: Mapping[str, object]) -> RequestId | None:
    found = fields.get("request_id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _fields(response: Response) -> dict[str, JsonValue]:
    match response:
        case Opened(session_id):
            return {"ok": True, "session_id": session_id}
        case Answered(value):
            return {"ok": True, "result": value}
        case Available(reason):
            return {"ok": True, "available": True} if reason is None else _unavailable(reason)
        case Done():
            return {"ok": True}
        case Piece(text, restart):
            return {"ok": True, "delta": text, "restart": True} if restart else {"ok": True, "delta": text}
        case Failed(code):
            return {"ok": False, "error": code}
        case _:
            assert_never(response)


def _unavailable(reason: str) -> dict[str, JsonValue]:
    return {"ok": True, "available": False, "reason": reason}
