"""The agent loop: ask the model, dispatch its calls, feed the results back, until a step calls nothing (AGT-01)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from remit_governance.intents import canonical_tool
from remit_governance.values import Intent
from remit_governance.work_items import WorkItems
from remit_server.agent.by_rule import LEAST_SHOWN, step_by_rule
from remit_server.agent.context.conversation import Conversation
from remit_server.agent.context.generation import Generation
from remit_server.agent.context.tool_budget import fit_tools
from remit_server.agent.context.window import Window, smallest_window
from remit_server.agent.exit_check import ExitCheck
from remit_server.agent.loops import History, Loop, after_step, loop_warning, observed_calls, repeats_warning
from remit_server.agent.offer import nameable_paths
from remit_server.agent.prompt import SUB_AGENT_PROMPT, SYSTEM_PROMPT, attached_names, user_text, work_items_text
from remit_server.agent.said import Said
from remit_server.contract import ContextPayload, ErrorCode, TextInput, TokenDelta
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong, RemitError
from remit_server.harness.calls import CallResult, RunDenied, ToolCall
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.parallel import execute_all
from remit_server.harness.turn import Turn
from remit_server.models.answers import usage_of
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Declined,
    Finished,
    GenerateRequest,
    Message,
    ModelProvider,
    PathsOnOffer,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import BUILT_IN, Profile, Telling
from remit_server.models.steps.telling import COPIED, find_copied, find_copied_name
from remit_server.models.unreadable import is_too_deep, too_deep, unreadable
from remit_server.tools.table import ALL_FILE_ARGUMENTS, FILE_ARGUMENTS

MAX_CALLS_PER_STEP = 32
MAX_CHARS_PER_TOKEN = 256
"""Characters that a provider may return for each token of its limit, so that one that ignores the limit is stopped."""
RETRIES_BEFORE_FIRST_TOKEN = 2
BACKOFF_S = 0.2
NOT_RUN = "error cancelled: the turn ended before this call was run"


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one step's generation. `declined` is given if the model says that it did not do what it was
    asked, `suggestion` if it asks whether this sentence was meant."""

    message: AssistantMessage
    declined: Declined | None = None
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a turn's steps may use, the profile of the model, and what the person asked.

    `only_answer`: the next step must call nothing. `by_rules`: rules are asked before the model, until no rule
    applies."""

    intents: Mapping[Intent, tuple[ToolSpec, ...]]
    profile: Profile
    asked: str
    only_answer: bool = False
    by_rules: bool = False


def as_called(proposed: ProposedCall, profile: Profile) -> ToolCall:
    """Returns a proposed call, with the arguments added that the profile gives to every call of its tool."""
    given = profile.given.get(canonical_tool(proposed.name), {})
    return ToolCall(proposed.id, proposed.name, {**proposed.arguments, **given})


@dataclass(frozen=True, slots=True)
class Agent:
    """A model and the one dispatcher it can act through."""

    provider: ModelProvider
    dispatcher: Dispatcher
    max_steps: int
    generation: Generation

    def limited(self, max_steps: int | None) -> Agent:
        """Returns the same agent with at most `max_steps` steps a turn; a run may only tighten its limits."""
        return self if max_steps is None else replace(self, max_steps=min(max_steps, self.max_steps))

    async def run(self, work: str, turn: Turn) -> str:
        """Does the work that was handed to a sub-agent, and returns its answer (AGT-16).

        `turn` is the sub-agent's turn. The sub-agent sees nothing but `work`. Raises RemitError, as `answer` does.
        """
        conversation = Conversation([SystemMessage(SUB_AGENT_PROMPT)])
        return (await self.answer(TextInput(text=work), conversation, turn)).message.text

    async def answer(
        self,
        request: TextInput,
        conversation: Conversation,
        turn: Turn,
        context: ContextPayload | None = None,
        attached: Sequence[str] = (),
    ) -> Reply:
        """Answers one message of the person, and returns the last reply. `context` is what the person's editor shows,
        `attached` are texts that are put below the message.

        Raises RemitError with `limit_reached` after `max_steps`, or if the model repeats itself although it was warned;
        ModelUnavailable or ModelFailed if the model fails.
        """
        profile = await self.provider.meet()
        turn.careful = profile.careful
        turn.asked = None if profile.invents else "\n".join((request.text, *conversation.asked))
        window = smallest_window(self.provider, self.generation)
        begin_conversation(conversation)
        shown = context if profile.editor else None  # with the context, a tiny model only says that all is done
        known = (attached, shown) if self.provider.reads_context else (attached_names(request), None)
        if items := self._items().values():
            known = ((*known[0], work_items_text(items)), known[1])
        told = user_text(request, *known)
        conversation.say(UserMessage(told), request.text)
        tools = fit_tools(self.dispatcher.offered(turn), window, profile, turn.memory.found)
        # Rules read only the sentence, so they are asked only if nothing was added that could change its meaning.
        offer = Offer(tools, profile, request.text, by_rules=profile.by_rules and told == request.text)
        try:
            return await self._work(conversation, offer, turn)
        except RunDenied:
            raise
        except RemitError:
            # The edits that were collected before the error are complete, so the person is asked about them.
            await self.dispatcher.review(turn)
            raise
        finally:
            self.dispatcher.discard(turn)
            if told := turn.collected.take_untold():
                conversation.say(UserMessage(told))

    async def _work(self, conversation: Conversation, offer: Offer, turn: Turn) -> Reply:
        offered, history = (turn.memory.found, turn.authority), History()
        check = await ExitCheck.begin(self.dispatcher, turn)
        begun = len(conversation.messages)
        turn.begin_steps(self.max_steps)
        while (reached := turn.reached_limit()) is None:
            turn.allowance.take()
            turn.begin_step()
            if (turn.memory.found, turn.authority) != offered:
                offered, window = (turn.memory.found, turn.authority), smallest_window(self.provider, self.generation)
                tools = fit_tools(self.dispatcher.offered(turn), window, offer.profile, turn.memory.found)
                offer = replace(offer, intents=tools)
            reply = await self._follow_rules(conversation.messages[begun:], offer, turn) if offer.by_rules else None
            if reply is None:
                offer = replace(offer, by_rules=False)
                reply = await self._generate(conversation, offer, turn)
            conversation.say(reply.message)
            if reply.message.calls:
                last = turn.reached_limit() is not None
                history, loop = await self._dispatch(reply.message, conversation, turn, history, offer, last=last)
                check.note_step()
                if loop is not None and loop.ends:
                    end = limit(f"the model repeated itself: it {loop.what}", "ask in other words")
                    return await self._conclude(conversation, offer, turn, end)
            elif (told := await self._find_unfinished(check, turn)) is not None:
                conversation.say(UserMessage(told))
                offer = replace(offer, by_rules=False)
            else:
                return reply
        return await self._conclude(conversation, offer, turn, limit(reached, "ask for less at once"))

    async def _conclude(self, conversation: Conversation, offer: Offer, turn: Turn, end: RemitError) -> Reply:
        """Makes the model answer with what it has, so that the turn's work is not lost; returns that answer.

        Raises `end` if the model says nothing, or calls a tool instead.
        """
        await self.dispatcher.review(turn)
        turn.begin_step()
        try:
            reply = await self._generate(conversation, replace(offer, only_answer=True), turn)
        except (ModelFailed, ModelUnavailable):
            raise end from None
        if reply.message.calls or not reply.message.text.strip():
            raise end
        last = conversation.messages[-1]
        copied = isinstance(last, ToolMessage) and repeats_warning(reply.message.text, last.text)
        more = "; its answer is not its own, but what Remit told it" if copied else ""
        turn.warn(f"{end.what}, and had to answer with what it has{more}")
        conversation.say(reply.message)
        return reply

    async def _find_unfinished(self, check: ExitCheck, turn: Turn) -> str | None:
        """Has the collected edits reviewed; returns what the model still has to act on, or None if the turn can end."""
        whole = await self.dispatcher.review(turn)
        # Not told to a model that reads only one sentence, because it would take this for its next request. `answer`
        # adds it to the conversation at the end.
        if not whole and self.provider.reads_context:
            return turn.collected.take_untold()
        check.note_step()
        errors = await check.find_new()
        return None if errors is None else "\n\n".join(filter(None, [turn.collected.take_untold(), errors]))

    async def _dispatch(
        self,
        reply: AssistantMessage,
        conversation: Conversation,
        turn: Turn,
        history: History,
        offer: Offer,
        *,
        last: bool,
    ) -> tuple[History, Loop | None]:
        """Executes the reply's calls and adds their results to the conversation.

        If no other step follows, the model is told to answer. Raises RemitError if there are too many calls.
        """
        profile = BUILT_IN if offer.by_rules else offer.profile
        redact = self.dispatcher.parts.redactor.redact
        window = Window(self.provider, self.generation, conversation, turn, redact, profile)
        room = window.result_chars(offer.intents, reply)
        turn.room_chars = max(room, LEAST_SHOWN) if offer.by_rules and room is not None else room
        taken = [as_called(each, profile) for each in reply.calls[:MAX_CALLS_PER_STEP]]
        results: list[CallResult | None] = [None] * len(reply.calls)
        loop: Loop | None = None
        try:
            await execute_all(self.dispatcher, taken, turn, results)
            history, loop = after_step(history, reply.text, observed_calls(taken, results), profile.repeats)
        finally:
            # Every call gets its result, even if the turn ends here, because a model must never see an open call.
            texts = [NOT_RUN if result is None else result.text for result in results]
            if loop is not None:
                texts[-1] += f"\n{loop_warning(loop)}"
            long = profile.reminds is not None and sum(map(len, texts)) > profile.reminds
            if last or long or (loop is not None and loop.ends):
                texts[-1] += f"\n\nNow answer: {offer.asked}"
            for call, text in zip(reply.calls, texts, strict=True):
                conversation.say(ToolMessage(call.id, call.name, text))
        if len(reply.calls) > MAX_CALLS_PER_STEP:
            what = f"one step made {len(reply.calls)} calls, but only {MAX_CALLS_PER_STEP} are allowed"
            raise limit(what, "ask for less at once")
        if loop is not None and not loop.ends:
            turn.warn(f"the model repeats itself and was told so: it {loop.what}")
        return history, loop

    async def _follow_rules(self, since: Sequence[Message], offer: Offer, turn: Turn) -> Reply | None:
        """Returns the step that a rule takes, which may use every tool, or None if the model has to go on."""
        nameable = await self._paths(tuple(since), offer.profile, turn).list()
        step = step_by_rule(offer.asked, since, turn.ended, self.dispatcher.offered(turn), nameable)
        if step is None:
            return None
        said = replace(step.message, text=self.dispatcher.parts.redactor.redact(step.message.text))
        if said.text:
            turn.emit(TokenDelta(**turn.stamp(), text=said.text))
        return Reply(said, step.declined)

    async def _generate(self, conversation: Conversation, offer: Offer, turn: Turn) -> Reply:
        redact = self.dispatcher.parts.redactor.redact
        window = Window(self.provider, self.generation, conversation, turn, redact, offer.profile)
        await window.fit(offer.intents)
        for attempt in range(RETRIES_BEFORE_FIRST_TOKEN + 1):
            messages = conversation.sent
            request = replace(
                self.generation.request(
                    turn.conversation_id, messages, offer.intents, self._paths(messages, offer.profile, turn)
                ),
                must_answer=offer.only_answer,
                work_items=tuple(self._items()),
                selected=partial(self.dispatcher.describe_selected, turn=turn),
            )
            try:
                reply, finished = await self._stream(request, turn)
                window.note_count(finished)
                has_examples = offer.profile.telling is not Telling.RULES
                return await self._without_copies(reply, request, turn) if has_examples else reply
            except PromptTooLong as error:
                if attempt == RETRIES_BEFORE_FIRST_TOKEN:
                    raise
                await window.fit_after(error, offer.intents)
            except RetryableBeforeFirstToken as early:
                turn.clear_intent()
                if attempt == RETRIES_BEFORE_FIRST_TOKEN:
                    raise early.cause from None
                turn.warn(f"the model did not answer, asking again: {early.cause.why}")
                await asyncio.sleep(BACKOFF_S * 2**attempt)
        raise AssertionError("every attempt returns or raises")

    async def _without_copies(self, reply: Reply, request: GenerateRequest, turn: Turn) -> Reply:
        """Returns the reply with each call that copies an example replaced, so that the model is told what it copied.

        Warns the person if the answer contains a name from the examples."""
        calls: list[ProposedCall] = []
        for call in reply.message.calls:
            copied = find_copied(call.arguments, request.messages)
            is_copy = copied is not None and not await _is_path(copied, request)
            calls.append(unreadable(COPIED.format(text=copied), json.dumps(call.arguments)) if is_copy else call)
        name = None if calls else find_copied_name(reply.message.text, request.messages)
        if name is not None and not await _is_path(name, request):
            turn.warn(
                f"the answer names `{name}`, which comes from the model's instructions; nothing here has that name"
            )
        return replace(reply, message=replace(reply.message, calls=tuple(calls)))

    def _items(self) -> WorkItems:
        """Returns the work items that a step may name; none for a model that does not read context, because it would
        take any name for the one that is meant."""
        items = self.dispatcher.parts.rulebook.policy.work_items if self.provider.reads_context else None
        return items or {}

    def _paths(self, messages: tuple[Message, ...], profile: Profile, turn: Turn) -> PathsOnOffer:
        readable = partial(self.dispatcher.may_be_read, turn=turn)
        workspace, documents = (
            self.dispatcher.parts.workspace,
            turn.collected.over(self.dispatcher.parts.documents),
        )
        arguments = FILE_ARGUMENTS if profile.invents else ALL_FILE_ARGUMENTS
        return PathsOnOffer(arguments, lambda: nameable_paths(workspace, documents, messages, readable))

    async def _stream(self, request: GenerateRequest, turn: Turn) -> tuple[Reply, Finished]:
        text: list[str] = []
        calls: list[ProposedCall] = []
        begun, finished = False, Finished("stop")
        left = request.max_tokens * MAX_CHARS_PER_TOKEN
        redactor = self.dispatcher.parts.redactor
        shown = Said(turn, redactor)
        try:
            async with aclosing(self.provider.generate(request)) as events:
                async for event in events:
                    begun = begun or not isinstance(event, PromptRead)
                    match event:
                        case PromptRead():
                            pass
                        case TextDelta(text=more):
                            left = _chars_left(more, left)
                            text.append(more)
                        case ThinkingDelta(text=more):
                            left = _chars_left(more, left)
                        case CallProposed(call=proposed):
                            call = too_deep() if is_too_deep(dict(proposed.arguments)) else proposed
                            left = _chars_left(json.dumps(dict(call.arguments)), left)
                            calls.append(call)
                        case Finished():
                            finished = event
                            shown.finish()  # its last words come before the count of its tokens
                            count_usage(event, turn, smallest_window(self.provider, self.generation))
                        case _:
                            assert_never(event)
                    shown.show(event)
        except ModelUnavailable as error:
            if begun or not error.retryable:
                raise
            raise RetryableBeforeFirstToken(error) from error
        finally:
            shown.finish()
        said = AssistantMessage(redactor.redact("".join(text)), tuple(calls))
        match finished.reason:
            case "declined" | "asks" as declined:
                suggestion = None if finished.suggestion is None else redactor.redact(finished.suggestion)
                return Reply(said, declined, suggestion), finished
            case _:
                return Reply(said), finished


def _chars_left(more: str, left: int) -> int:
    """Returns how many characters a step may still have after `more`. Raises RemitError (`limit_reached`) if too few
    were left."""
    if len(more) > left:
        raise limit("the model said far more in one step than its token limit", "ask for less at once")
    return left - len(more)


def begin_conversation(conversation: Conversation) -> None:
    """Adds the system prompt to a conversation that is empty."""
    if not conversation.messages:
        conversation.say(SystemMessage(SYSTEM_PROMPT))


class RetryableBeforeFirstToken(Exception):
    """The model failed before it streamed anything, so asking again repeats nothing that the person has seen."""

    def __init__(self, cause: ModelUnavailable) -> None:
        super().__init__(str(cause))
        self.cause = cause


def count_usage(finished: Finished, turn: Turn, window: int | None) -> None:
    """Adds one generation's tokens to the turn, and warns if the answer was cut."""
    turn.add_usage(usage_of(finished), finished.context_tokens, window)
    match finished.reason:
        case "length":
            turn.warn("the answer was cut at its token limit")
        case "alike":
            turn.warn("the model only repeated itself, so its answer was ended")
        case "stop" | "declined" | "asks":
            pass
        case _:
            assert_never(finished.reason)


def limit(what: str, fix: str) -> RemitError:
    """Returns the error that ends a turn which would otherwise never end."""
    return RemitError(what, "a turn must end", fix, code=ErrorCode.LIMIT_REACHED)


async def _is_path(text: str, request: GenerateRequest) -> bool:
    known = None if request.paths is None else await request.paths.list()
    return known is not None and text in known.paths
