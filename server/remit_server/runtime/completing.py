"""Asks the model beside turns: to complete a document at the cursor, if the person has switched that on (LSP-12), and
for guided answers, for any caller (MOD-06).

Completion only reads the open document, and only if `read_file` may read it without a question. It is no action:
nothing of it is recorded except how often something was offered.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from remit_governance.intents import select
from remit_governance.values import Intent
from remit_governance.visible import without_hidden
from remit_server.contract import Ability, CompletionState, GenerationRequest, GenerationResult
from remit_server.errors import RemitError
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.ports import NobodyToAsk
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.models.answers import OnText, full_prompt, schema_of, stream_answer, usage_of, value_of
from remit_server.models.ports import (
    Gap,
    GenerateRequest,
    LocalEngine,
    ModelProvider,
    SystemMessage,
    TextDelta,
    UserMessage,
)
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.own_files.folder_record import brought
from remit_server.runtime.settings import Settings

MOST_BEFORE, MOST_AFTER = 6_000, 2_000
"""Characters around the cursor that a model is shown."""
STEP = 1_000
"""The text before the cursor is cut in steps of so many characters, so that its beginning, which the model has read,
seldom changes."""
CHARACTERS_PER_TOKEN = 2
"""A low estimate, as for code, so that the text surely fits into the window."""
MOST_ANSWER = 2_000

_INDENT = re.compile(r"[ \t]*")


def gap_at(text: str, offset: int, window: int | None = None) -> Gap:
    """Returns the text around an offset, cut at the ends of lines, or within a line that alone is too long.

    `window` is the number of tokens that the model reads, prompt and answer together, if it is known.
    """
    share = 1.0 if window is None else min(1.0, window * CHARACTERS_PER_TOKEN / (2 * (MOST_BEFORE + MOST_AFTER)))
    most_before, most_after = int(MOST_BEFORE * share), int(MOST_AFTER * share)
    before, after = text[:offset], text[offset:]
    if (over := len(before) - most_before) > 0:
        start = min(-(-over // STEP) * STEP, len(before) - most_before // 2)
        line = before.find("\n", start) + 1
        before = before[line or start :]
    if len(after) > most_after:
        end = after.rfind("\n", 0, most_after)
        after = after[: end if end > 0 else most_after]
    return Gap(before, after)


def redacted_gap(text: str, offset: int, redact: Callable[[str], str], window: int | None = None) -> Gap | None:
    """Returns the text around an offset as `gap_at` does, without secrets; None if a secret lies across the offset.

    The whole text is redacted before it is cut, because a part of a secret is not recognised (SEC-01).
    """
    before, after = redact(text[:offset]), redact(text[offset:])
    if redact(text) != before + after:
        return None
    return gap_at(before + after, len(before), window)


def has_ended(answer: str, gap: Gap) -> bool:
    """Returns whether what is offered of an answer stays the same, however the answer goes on."""
    clean = without_hidden(answer[:MOST_ANSWER])
    return len(answer) > MOST_ANSWER or _end(clean, gap) < len(clean)


def fit(answer: str, gap: Gap) -> str:
    """Returns what is offered of an answer, or an empty string.

    It ends at a blank line, before a line that is indented less than the cursor's line, or at the end of the cursor's
    line if that has more text after the cursor. Hidden characters are dropped, and so is an end that repeats the text
    after the cursor.
    """
    clean = without_hidden(answer[:MOST_ANSWER])
    kept = clean[: _end(clean, gap)].rstrip()
    return _without_repeated(kept, without_hidden(gap.after)).rstrip()


def _end(answer: str, gap: Gap) -> int:
    if gap.after.split("\n", 1)[0].strip():
        return _or_all(answer.find("\n"), answer)
    indent = _indent(gap.before.rpartition("\n")[2])
    place = answer.find("\n")
    while place >= 0:
        line_end = answer.find("\n", place + 1)
        line = answer[place + 1 : _or_all(line_end, answer)]
        if line.strip():
            if _indent(line) < indent:
                return place
        elif line_end >= 0:
            return place
        place = line_end
    return len(answer)


def _or_all(place: int, answer: str) -> int:
    return place if place >= 0 else len(answer)


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return 0 if found is None else len(found.group().expandtabs(8))


def _without_repeated(answer: str, after: str) -> str:
    """Cuts off the longest end of an answer that the following text begins with; ignores blank lines between them."""
    for follows in (after, after.lstrip()):
        shared = next((n for n in range(min(len(answer), len(follows)), 0, -1) if answer.endswith(follows[:n])), 0)
        if follows[:shared].strip():
            return answer[: len(answer) - shared]
    return answer


log = logging.getLogger(__name__)

MOST_TOKENS = 96
SESSION = "completion"
_CANNOT = "the model `{}` was not made to complete at a cursor"


@dataclass(slots=True)
class Completer:
    """Asks the model that the settings name; `settings` returns the current ones, `turns_run` whether a turn runs.

    `problem` says what went wrong with the last request, and `asked` is the `completion.model` that it went to.
    """

    settings: Callable[[], Settings]
    turns_run: Callable[[], bool]
    models: ChosenModels
    dispatcher: Dispatcher
    offered: int = field(default=0)
    problem: str | None = field(default=None)
    asked: str | None = field(default=None)

    def state(self) -> CompletionState | None:
        """Returns the state of completion, or None if it is off. Raises nothing: a problem is part of the state."""
        chosen = self.settings().config.completion
        if not chosen.enabled:
            return None
        try:
            model = self.models.get(chosen.model)
        except RemitError as error:
            return CompletionState(model=chosen.model or "", why_not=f"{error.what}: {error.why}", offered=self.offered)
        why_not = (self.problem if self.asked == chosen.model else None) or _why_not(model)
        return CompletionState(model=model.name, why_not=why_not, offered=self.offered)

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        """Returns what could stand at an offset of an open document, or None if nothing is offered.

        Cancelling it stops the model. A failure of the model shows in `state` only, not after each key.
        """
        settings = self.settings()
        chosen = settings.config.completion
        if not chosen.enabled or not text[:offset].strip():
            return None
        try:
            model = self.models.get(chosen.model)
            if _why_not(model) or self._is_taken(settings, model) or not await self._may_see(settings, path):
                return None
            self.asked = chosen.model
            found = await self._ask(model, path, text, offset)
        except RemitError as error:
            self.problem = f"{error.what}: {error.why}"
            log.info("nothing was completed: %s", self.problem)
            return None
        self.problem = None
        self.offered += found != ""
        return found or None

    async def _ask(self, model: ModelProvider, path: str, text: str, offset: int) -> str:
        redact = self.dispatcher.parts.redactor.redact
        gap = await asyncio.to_thread(redacted_gap, text, offset, redact, model.context_tokens)
        if gap is None:
            return ""
        request = GenerateRequest(
            session_id=f"{SESSION}\n{path}",
            messages=(),
            intents={},
            max_tokens=MOST_TOKENS,
            priority="cursor",
            gap=gap,
        )
        answer = ""
        async with aclosing(model.generate(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    answer += event.text
                    if has_ended(answer, gap):
                        break
        return fit(answer, gap)

    def _is_taken(self, settings: Settings, model: ModelProvider) -> bool:
        """Returns whether a turn may have to wait for a completion: a model process puts turns first, but a server
        answers in any order."""
        shared = settings.config.completion.model in (None, settings.config.model.name)
        return shared and not isinstance(model, LocalEngine) and self.turns_run()

    async def _may_see(self, settings: Settings, path: str) -> bool:
        """Returns whether policy lets the file be read unasked, and the folder does not wait for the person's trust."""
        if settings.trusted is False or (settings.trusted is None and brought(settings.workspace)):
            return False
        turn = Turn(SESSION, SessionMemory(SESSION), lambda event: None, NobodyToAsk())
        turn.intent = select(turn.intent, Intent.READ_FILE)
        return await self.dispatcher.is_read_unasked(path, turn)


def _why_not(model: ModelProvider) -> str | None:
    return None if Ability.COMPLETE in model.abilities else _CANNOT.format(model.name)


GENERATING = "remit/generate"
"""The session id of all guided answers: they share one prompt cache, so that they push no session's out."""


async def generate(provider: ModelProvider, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
    """Returns one answer. Raises ModelUnavailable and ModelFailed; cancelling stops the model."""
    standing = (SystemMessage(request.instructions),) if request.instructions else ()
    question = request.prompt if request.content is None else full_prompt(request.prompt, request.content)
    answer = await stream_answer(
        provider,
        GenerateRequest(
            session_id=GENERATING,
            messages=(*standing, UserMessage(question)),
            intents={},
            max_tokens=request.max_tokens,
            answer_schema=schema_of(request.output_format),
        ),
        on_text,
    )
    return GenerationResult(result=value_of(request.output_format, answer), usage=usage_of(answer.finished))
