"""Converts requests for the model process, and its events for the agent. Pure."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import assert_never

from remit_governance.intents import SELECT_INTENT
from remit_server.errors import ModelUnavailable
from remit_server.models.local import wire
from remit_server.models.local.options import MIB, EngineOptions
from remit_server.models.ports import (
    UNREADABLE_CALL,
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    Message,
    ModelEvent,
    Nameable,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    UserMessage,
    new_call_id,
)
from remit_server.models.profile import Profile, Telling, choose_profile
from remit_server.models.steps.held import fit, held_request, read_step
from remit_server.models.unreadable import tell_fenced

MOST_PATHS = 2_000
"""The most paths to list in a schema: as many as a step may name (AGT-06), because the grammar's engine reads a long
list as fast as a short one."""


def read_answer(
    steps: AsyncGenerator[ModelEvent], request: GenerateRequest, wanted: wire.Generate
) -> AsyncGenerator[ModelEvent]:
    """Reads an answer in the form that was asked for: one JSON value, or text and calls. The model is told if it put a
    call in a code fence."""
    if not wanted.whole:
        return read_step(steps)
    if not wanted.intents or wanted.must_answer:
        return steps
    tools = {SELECT_INTENT, *(tool.name for offered in request.intents.values() for tool in offered)}
    return tell_fenced(steps, request.messages, tools)


def profile_of(ready: wire.Ready, name: str, options: EngineOptions) -> Profile:
    """Returns the profile of a loaded model.

    A small model is held by the schema of a whole step, unless it is to think, because thinking cannot precede JSON.
    """
    held = ready.guided and not options.thinking
    return choose_profile(ready.parameters, name, by_schema=held, chosen=options.profile)


def step_to_wire(request: GenerateRequest, profile: Profile, nameable: Nameable | None) -> wire.Generate:
    """Converts a request in the form of the profile's steps; a step that is held by a schema need not be `whole`."""
    if not request.intents or profile.telling is not Telling.EXAMPLES:
        return to_wire(request, nameable)
    held = held_request(fit(request, profile), request.messages, profile, nameable, most_paths=MOST_PATHS)
    return to_wire(held).model_copy(update={"whole": False})


def to_load(folder: Path, options: EngineOptions) -> wire.Load:
    """Returns the load request for a model process; `folder` is absolute."""
    return wire.Load(
        folder=str(folder),
        cache_bytes=options.cache_mib * MIB,
        check_memory=options.memory_check,
        cache_folder=None if options.cache_dir is None else str(options.cache_dir),
        thinking=options.thinking,
        guided=options.guided,
    )


def to_wire(request: GenerateRequest, nameable: Nameable | None = None) -> wire.Generate:
    """Converts a request for the model process, under a new id; `nameable` is the resolved `request.paths`."""
    return wire.Generate(
        id=uuid.uuid4().hex,
        session_id=request.session_id,
        messages=tuple(_message(message) for message in request.messages),
        intents={intent.value: tools for intent, tools in request.intents.items()},
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        seed=request.seed,
        priority=request.priority,
        effort=request.effort,
        answer_schema=dict(request.answer_schema) if request.answer_schema is not None else None,
        paths=None if nameable is None else nameable.paths,
        path_arguments=dict(request.paths.arguments) if request.paths is not None else {},
        gap=request.gap,
        work_items=request.work_items,
        must_answer=request.must_answer,
    )


def _message(message: Message) -> wire.ChatMessage:
    match message:
        case SystemMessage(text):
            return wire.ChatMessage(role="system", content=text)
        case UserMessage(text):
            return wire.ChatMessage(role="user", content=text)
        case AssistantMessage(text, calls):
            return wire.ChatMessage(role="assistant", content=text, tool_calls=calls)
        case ToolMessage(call_id, tool, text):
            return wire.ChatMessage(role="tool", content=text, tool_call_id=call_id, name=tool)
        case _:
            assert_never(message)


def event_of(event: wire.Generated) -> ModelEvent:
    """Returns an event of the process as the agent knows it. Raises ModelUnavailable if the process was shut down."""
    match event:
        case wire.ProgressFrame(done=done, total=total):
            return PromptRead(done, total)
        case wire.Delta(text=text):
            return TextDelta(text)
        case wire.ThinkingFrame(text=text):
            return ThinkingDelta(text)
        case wire.Call(name=name, arguments=arguments):
            return CallProposed(ProposedCall(new_call_id(), name, arguments))
        case wire.UnreadableFrame(text=text, why=why):
            return CallProposed(ProposedCall(new_call_id(), UNREADABLE_CALL, {"why": why, "spelled": text}))
        case wire.FinishedFrame():
            if event.reason == "cancelled":  # sent only to a stream without a reader, or to one that a shutdown ended
                why = "it was shut down while it answered"
                raise ModelUnavailable("the model stopped", why, "ask again", retryable=True)
            return Finished(event.reason, event.prompt_tokens, event.cached_tokens, event.completion_tokens)
        case _:
            assert_never(event)
