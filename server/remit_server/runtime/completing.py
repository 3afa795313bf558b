"""Completes a document at the cursor, where the person has switched that on (LSP-12).

It only reads the open document, and only where `read_file` may read it without a question. It is no act: nothing of it
is recorded but how often something was offered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from remit_governance.intents import select
from remit_governance.values import Intent
from remit_server.contract import Ability, CompletionState
from remit_server.errors import RemitError
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.ports import NobodyToAsk
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.models.ports import GenerateRequest, LocalEngine, ModelProvider, TextDelta
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.gap import fit, has_ended, redacted_gap
from remit_server.runtime.settings import Settings
from remit_server.runtime.trust import brought

log = logging.getLogger(__name__)

MOST_TOKENS = 96
SESSION = "completion"
_CANNOT = "the model `{}` was not made to complete at a cursor"


@dataclass(slots=True)
class Completer:
    """Asks the model that the settings name; `settings` gives those that count now, `turns_run` whether a turn runs.

    `problem` is what went wrong with the last request, of the model that `completion.model` named then: `asked`.
    """

    settings: Callable[[], Settings]
    turns_run: Callable[[], bool]
    models: ChosenModels
    dispatcher: Dispatcher
    offered: int = field(default=0)
    problem: str | None = field(default=None)
    asked: str | None = field(default=None)

    def state(self) -> CompletionState | None:
        """Returns what is to be known of it; None where it is off. Raises nothing: a problem is part of the answer."""
        chosen = self.settings().config.completion
        if not chosen.enabled:
            return None
        try:
            model = self.models.get(chosen.model)
        except RemitError as error:
            return CompletionState(model=chosen.model or "", why_not=f"{error.what}: {error.why}", offered=self.offered)
        return CompletionState(
            model=model.name, why_not=self._last_problem(chosen.model) or _why_not(model), offered=self.offered
        )

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        """Returns what could stand at an offset of an open document; None where nothing is offered.

        Cancelling it stops the model. A model that fails is said in `state`, not with each key.
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

    def _last_problem(self, model: str | None) -> str | None:
        return self.problem if self.asked == model else None

    def _is_taken(self, settings: Settings, model: ModelProvider) -> bool:
        """Whether a turn may be waiting for it: a model process sees to that itself, a server answers in any order."""
        shared = settings.config.completion.model in (None, settings.config.model.name)
        return shared and not isinstance(model, LocalEngine) and self.turns_run()

    async def _may_see(self, settings: Settings, path: str) -> bool:
        """Whether the folder is not one that waits for the person's trust, and policy lets the file be read."""
        if settings.trusted is False or (settings.trusted is None and brought(settings.workspace)):
            return False
        turn = Turn(SESSION, SessionMemory(SESSION), lambda event: None, NobodyToAsk())
        turn.intent = select(turn.intent, Intent.READ_FILE)
        return await self.dispatcher.is_read_unasked(path, turn)


def _why_not(model: ModelProvider) -> str | None:
    return None if Ability.COMPLETE in model.abilities else _CANNOT.format(model.name)
