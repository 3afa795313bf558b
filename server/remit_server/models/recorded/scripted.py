"""A provider that follows a script, filtering nothing: it lets tests make a model misbehave (MOD-10).

A script is a JSON list of steps, `{"text"?, "calls"?: [{"name", "arguments", "id"?}], "declined"?, "error"?, "hang"?,
"delay_s"?, "pace_s"?, "at_cursor"?, "told"?}`; step i answers the i-th generation of a session. Steps with `at_cursor`
answer completions; they are counted separately, and the last one answers all that follow. Steps with `told` answer
conversations whose first request contains that text; they are counted separately too.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from remit_server.contract import Wire
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong, SetupError
from remit_server.models.ports import (
    EVERY_ABILITY,
    IN_TURNS,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    ModelProvider,
    ModelState,
    ProposedCall,
    TextDelta,
    Traits,
    UserMessage,
)
from remit_server.models.profile import LARGE, Profile


class ScriptedCall(Wire):
    """A scripted call; without an id it gets one that is unique in its session."""

    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    id: str | None = None


class ScriptedStep(Wire):
    """One generation: waits `delay_s`, emits the text with `pace_s` between its words, proposes the calls, then fails
    with `error`, hangs, or finishes.

    `error` is the reason; `unavailable` means that there is no model, `too long` that the prompt does not fit the
    model's window. With `declined` the model finishes by saying that it did not do what it was asked. `told` is a text
    of the work that a sub-agent is handed.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    declined: bool = False
    error: str | None = None
    hang: bool = False
    delay_s: float = Field(default=0.0, ge=0.0, le=600.0)
    pace_s: float = Field(default=0.0, ge=0.0, le=10.0)
    at_cursor: bool = False
    told: str | None = Field(default=None, min_length=1)


_SCRIPT: TypeAdapter[list[ScriptedStep]] = TypeAdapter(list[ScriptedStep])


class ScriptedProvider(ModelProvider):
    """A `ModelProvider` that follows a script. `requests` holds the requests, in order."""

    def __init__(self, script: Sequence[ScriptedStep], *, name: str = "script") -> None:
        self._script = tuple(step for step in script if not step.at_cursor)
        self._at_cursor = tuple(step for step in script if step.at_cursor)
        self._name = name
        self._taken: Counter[tuple[str, str | None]] = Counter()
        self._running = 0
        self._closed = False
        self.requests: list[GenerateRequest] = []

    @classmethod
    def from_file(cls, path: Path) -> ScriptedProvider:
        """Reads a script. Raises SetupError."""
        what = f"the script `{path}` cannot be used"
        try:
            script = _SCRIPT.validate_json(path.read_bytes())
        except OSError as error:
            raise SetupError(what, (error.strerror or str(error)).lower(), "name an existing file") from error
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(map(str, problem["loc"])) or "file"
            fix = 'write a JSON list of steps, such as `[{"text": "hello"}]`'
            raise SetupError(what, f"{place}: {problem['msg'].lower()}", fix) from error
        return cls(script, name=f"script:{path.name}")

    async def meet(self) -> Profile:
        """Returns the profile of a large model, because the script is played as it was written."""
        return LARGE

    @property
    def traits(self) -> Traits:
        """The script's traits: it can do what its steps can answer."""
        return Traits(self._name, abilities=EVERY_ABILITY if self._at_cursor else IN_TURNS)

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        if self._closed:
            return "stopped"
        return "busy" if self._running else "ready"

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Plays the session's next step. Raises ModelFailed when the script has no further one."""
        at_cursor = request.gap is not None
        told = None if at_cursor else self._told(request)
        line = ("", None) if at_cursor else (request.session_id, told)
        script = self._at_cursor if at_cursor else tuple(step for step in self._script if step.told == told)
        number = self._taken[line]
        self._taken[line] += 1
        self.requests.append(request)
        if at_cursor:
            number = min(number, len(script) - 1)
        if not 0 <= number < len(script):
            why = f"it has {len(script)} steps, and was asked for one more"
            raise ModelFailed("the script is over", why, "add a step to it")
        self._running += 1
        try:
            async for event in _play(script[number], number):
                yield event
        finally:
            self._running -= 1

    def _told(self, request: GenerateRequest) -> str | None:
        """Returns the first `told` of a step that the conversation's first request contains, or None."""
        first = next((each.text for each in request.messages if isinstance(each, UserMessage)), "")
        return next((step.told for step in self._script if step.told is not None and step.told in first), None)

    async def close(self) -> None:
        """Does nothing. Idempotent."""
        self._closed = True


async def _play(step: ScriptedStep, number: int) -> AsyncGenerator[ModelEvent]:
    await asyncio.sleep(step.delay_s)
    pieces = re.findall(r"\S+\s*|\s+", step.text)
    for piece in pieces:
        yield TextDelta(piece)
        await asyncio.sleep(step.pace_s)
    for position, call in enumerate(step.calls):
        yield CallProposed(ProposedCall(call.id or f"call_{number}_{position}", call.name, call.arguments))
    if step.hang:
        await asyncio.Event().wait()
    if step.error == "unavailable":
        raise ModelUnavailable("there is no model", "the script says so", "use another step")
    if step.error == "too long":
        raise PromptTooLong("the conversation does not fit the model", "the script says so", "ask for less")
    if step.error is not None:
        raise ModelFailed("the model failed", step.error, "ask again")
    yield Finished("declined" if step.declined else "stop", completion_tokens=len(pieces) + len(step.calls))
