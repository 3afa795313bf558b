"""Keeps what is sent within the model's window: measures the conversation, and has it condensed (AGT-09)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.agent.context.budget import GUESSED_TOKENS_PER_CHAR, Budget, Count, count_chars, tools_chars
from remit_server.agent.context.condense import ASK_FOR_SUMMARY, MOST_SUMMARY_TOKENS, Redact, Room, condense
from remit_server.agent.context.conversation import Conversation
from remit_server.agent.context.generation import Generation
from remit_server.contract import ContextCondensed
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong
from remit_server.harness.turn import Turn
from remit_server.models.answers import usage_of
from remit_server.models.ports import AssistantMessage, Finished, ModelProvider, TextDelta, ToolSpec, UserMessage
from remit_server.models.profile import LARGE, Profile, Telling
from remit_server.models.steps.telling import standing_messages

Intents = Mapping[Intent, tuple[ToolSpec, ...]]

_PREFIX_SHARE = 0.2
"""The share of the room for messages that the condensed prefix may take, summary and facts together."""
NEWEST_STEP = 0.7
"""The share of the room for messages that the results of the current step may take."""
_CALL_SHARE = 0.05
"""The share that the calls of the current step may take."""
WORTH_IT = 0.9
"""A conversation that still fits is condensed only if less than this share of its characters remains."""
LEAST_RESULT = 400
"""Characters of one result that are always shown."""
_HARDER = 0.6
"""The factor by which the room shrinks each time the prompt was still too long."""


def smallest_window(provider: ModelProvider, generation: Generation) -> int | None:
    """Returns the model's window in tokens, or the smaller one that was set, or None if neither is known."""
    return min((size for size in (provider.context_tokens, generation.context_tokens) if size), default=None)


@dataclass(slots=True)
class Window:
    """The window as one step uses it. `tightened` counts how often the model refused a prompt as too long."""

    provider: ModelProvider
    generation: Generation
    conversation: Conversation
    turn: Turn
    redact: Redact
    profile: Profile = LARGE
    tightened: int = 0

    def budget(self, intents: Intents) -> Budget | None:
        """Returns the budget of the model's window, or of the smaller one that was set, or None if neither is known."""
        window = smallest_window(self.provider, self.generation)
        return self._budget(window, intents) if window else None

    async def fit(self, intents: Intents) -> None:
        """Condenses the conversation if it comes near the end of the window."""
        budget = self.budget(intents)
        tokens = self._tokens(intents)
        if budget is None or tokens <= budget.threshold:
            return
        if tokens > budget.standing + budget.room or self._would_shorten(budget, intents):
            await self._condense(budget, intents, ask=self.profile.sums_up)

    async def fit_after(self, error: PromptTooLong, intents: Intents) -> None:
        """Condenses a prompt that the model refused, by the numbers in the error. Raises the error if no window is
        known."""
        self.tightened += 1
        if error.tokens:
            self._note(error.tokens)
        budget = self._budget(error.window, intents) if error.window else self.budget(intents)
        if budget is None:
            raise error
        await self._condense(budget, intents, ask=False)

    def result_chars(self, intents: Intents, reply: AssistantMessage) -> int | None:
        """Returns the characters that each result of a reply's calls may have, or None if nothing limits them.

        A share of the window is always available, because older messages are condensed to make room.
        """
        budget = self.budget(intents)
        if budget is None:
            return self.profile.most_shown
        count = self._count(intents)
        left = budget.threshold - count.estimate(self.conversation.sent_chars + count_chars((reply,)))
        room = max(left, int(budget.room * NEWEST_STEP)) / count.per_char
        tools = sum(call.name != SELECT_INTENT for call in reply.calls)
        return max(int(room) // max(tools, 1), LEAST_RESULT)

    def note_count(self, finished: Finished) -> None:
        """Notes the model's own count of the prompt's tokens."""
        if finished.context_tokens:
            self._note(finished.context_tokens)

    def _note(self, tokens: int) -> None:
        chars, before = self.conversation.sent_chars, self.conversation.counted
        self.conversation.counted = Count(chars, tokens) if before is None else before.then(chars, tokens)

    def _budget(self, window: int, intents: Intents) -> Budget:
        standing = self._count(intents).estimate(count_chars(self.conversation.messages[:1]))
        return Budget.of(window, self.generation.max_tokens, standing)

    def _count(self, intents: Intents) -> Count:
        """Returns the model's last count, or a guess if it has not counted yet."""
        return self.conversation.counted or self._guess(intents)

    def _guess(self, intents: Intents) -> Count:
        if self.profile.telling is Telling.RULES:
            return Count(0, round(tools_chars(intents) * GUESSED_TOKENS_PER_CHAR))
        # The examples are sent in place of the system message and of the tools.
        system = self.conversation.messages[:1]
        told = standing_messages(self.profile, "", intents)
        return Count(count_chars(system), round(count_chars(told) * GUESSED_TOKENS_PER_CHAR))

    def _tokens(self, intents: Intents) -> int:
        return self._count(intents).estimate(self.conversation.sent_chars)

    async def _condense(self, budget: Budget, intents: Intents, *, ask: bool) -> None:
        before = self._tokens(intents)
        summary = await self._summary(budget, intents) if ask and before < budget.standing + budget.room else ""
        self.conversation.condense(condense(self.conversation, summary, self._room(budget, intents), self.redact))
        self.turn.emit(
            ContextCondensed(
                **self.turn.stamp(),
                before_tokens=before,
                after_tokens=self._tokens(intents),
                window=budget.window,
                summary=summary,
            )
        )

    def _room(self, budget: Budget, intents: Intents) -> Room:
        share = _HARDER**self.tightened / self._count(intents).per_char
        newest = int(budget.room * (NEWEST_STEP + _CALL_SHARE) * share)
        return Room(int(budget.room * _PREFIX_SHARE * share), int(budget.recent * share), newest)

    def _would_shorten(self, budget: Budget, intents: Intents) -> bool:
        """Returns whether condensing is worth it, because the model has to read everything after the change anew."""
        now = self.conversation
        shorter = Conversation(now.messages, condense(now, "", self._room(budget, intents), self.redact))
        return count_chars(shorter.sent[1:]) < WORTH_IT * count_chars(now.sent[1:])

    async def _summary(self, budget: Budget, intents: Intents) -> str:
        """Returns the model's summary of the conversation, or an empty text if it cannot give one.

        The summary is asked for as the next message, so that the model need not read the conversation again."""
        if not self.provider.reads_context:
            return ""
        messages = (*self.conversation.sent, UserMessage(ASK_FOR_SUMMARY))
        request = self.generation.request(self.turn.session_id, messages, intents)
        request = replace(request, max_tokens=min(MOST_SUMMARY_TOKENS, budget.window // 8))
        said = ""
        try:
            async with aclosing(self.provider.generate(request)) as events:
                async for event in events:
                    said += event.text if isinstance(event, TextDelta) else ""
                    if isinstance(event, Finished):
                        self.turn.add_usage(usage_of(event), event.context_tokens, budget.window)
        except (ModelFailed, ModelUnavailable) as error:
            self.turn.warn(f"the model did not sum up the conversation: {error.why}")
        return self.redact(said)
