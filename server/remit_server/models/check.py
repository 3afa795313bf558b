"""Checks a model: loads it in its process, generates one constrained step and measures it (`remit model check`;
MOD-08).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import assert_never

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_governance.visible import visible
from remit_server.contract import ErrorPayload
from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.availability import unavailable_because
from remit_server.models.choose import PREFIXES, choose_provider, is_built_in, is_on_this_machine, model_folder
from remit_server.models.local import wire
from remit_server.models.local.conversion import event_of, profile_of, read_answer, step_to_wire, to_load
from remit_server.models.local.hub.cache import hub_name
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.process import START_TIMEOUT_S, HostProcess
from remit_server.models.ports import (
    UNREADABLE_CALL,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    PromptRead,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import chosen_profile
from remit_server.models.remote.engines import Hold, parse_reference
from remit_server.models.remote.provider import RemoteProvider

_READ_FILE = ToolSpec(
    "read_file",
    "Read a file of the workspace.",
    {
        "type": "object",
        "properties": {"path": {"type": "string", "maxLength": 200}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
_OTHERS = "choose another one: `remit model list` has those that can be used"
_TRAINED = "use a larger model that was trained to call tools, such as Qwen3"
_HELD = "serve it with an engine that can be held to a schema, such as llama.cpp"
_PROBE = GenerateRequest(
    session_id="check",
    messages=(UserMessage("rename total to subtotal in src/cart.py"),),
    intents={Intent.READ_FILE: (_READ_FILE,)},
    max_tokens=256,
)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The result of checking a model. Times are in seconds, memory is in bytes; 0 means not known.

    `profile` names the model's profile, and `problem` says why the model cannot be used. `answers_as` is the reference
    of the model that answers, if the server has only that one, and no model of the name in `reference`.
    """

    reference: str
    name: str
    ok: bool
    device: str = ""
    profile: str = ""
    load_s: float = 0.0
    step_s: float = 0.0
    first_token_s: float = 0.0
    tokens: int = 0
    tokens_per_s: float = 0.0
    memory_bytes: int = 0
    text: str = ""
    calls: tuple[str, ...] = ()
    problem: ErrorPayload | None = None
    answers_as: str | None = None


async def check_model(reference: str, options: EngineOptions) -> ModelReport:
    """Loads a model as the server would and generates one step under the grammar; a problem is part of the report.

    A script or a recording is only read, and the built-in model has nothing to load. Raises SetupError for a file that
    cannot be read.
    """
    if reference.startswith(PREFIXES) or is_built_in(reference):
        provider = choose_provider(reference)
        return ModelReport(reference, provider.name, ok=True, device="no device")
    if parse_reference(reference) is not None:
        return await _check_served(reference)
    try:
        # A check's prompt is not worth a cache on disk.
        load = to_load(model_folder(reference), replace(options, cache_dir=None))
        host = await HostProcess.start(load, START_TIMEOUT_S)
    except ModelUnavailable as error:
        return ModelReport(reference, reference, ok=False, problem=error.payload())
    try:
        return await _probe(reference, host, options)
    except (ModelUnavailable, ModelFailed) as error:
        return ModelReport(reference, host.ready.name, ok=False, load_s=host.ready.load_s, problem=error.payload())
    finally:
        await host.close()


async def why_not_there(reference: str) -> ErrorPayload | None:
    """Returns why a model cannot be used now, without running a step, or None if no reason is known.

    Raises SetupError for a reference that names no model, and for a file that cannot be played.
    """
    provider = choose_provider(reference)
    try:
        if isinstance(provider, RemoteProvider):
            await provider.served()
        elif is_on_this_machine(reference) and not is_built_in(reference):
            why = await asyncio.to_thread(unavailable_because, reference)
            return None if why is None else ModelUnavailable(f"`{reference}` cannot be used", why, _OTHERS).payload()
    except ModelUnavailable as error:
        return error.payload()
    finally:
        await provider.close()
    return None


async def _check_served(reference: str) -> ModelReport:
    provider = choose_provider(reference)
    assert isinstance(provider, RemoteProvider)
    begun = time.perf_counter()
    try:
        served, engine = await provider.served()
        profile = await provider.meet()
        asked = time.perf_counter()
        text, calls, tokens = await _hear(provider.generate(_PROBE))
    except (ModelUnavailable, ModelFailed) as error:
        return ModelReport(reference, provider.name, ok=False, problem=error.payload())
    finally:
        await provider.close()
    governed = SELECT_INTENT in calls and _READ_FILE.name in calls
    only = "" if served.answers_as is None else f", whose only model is `{visible(served.answers_as, 'show')}`"
    return ModelReport(
        reference,
        provider.name,
        ok=governed,
        device=f"{served.engine}{only}, the intent {engine.intent.words}, the tools {engine.tools.words}",
        profile=profile.name,
        load_s=asked - begun,
        step_s=time.perf_counter() - asked,
        tokens=tokens,
        text=text,
        calls=tuple(calls),
        problem=None if governed else _no_governed_call(provider.name, calls, tokens, engine.intent),
        answers_as=None if served.answers_as is None else _renamed(reference, served.answers_as),
    )


def _renamed(reference: str, model: str) -> str | None:
    """Returns the reference with the name that the server itself has for its model, or None if it cannot be written."""
    remote = parse_reference(reference)
    if remote is None or remote.endpoint is None:
        return None
    renamed = f"{remote.provider}:{model}@{remote.endpoint}"
    return renamed if model.isprintable() and parse_reference(renamed) == replace(remote, model=model) else None


async def _hear(answer: AsyncGenerator[ModelEvent]) -> tuple[str, list[str], int]:
    """Returns an answer's text, the names of its calls, and the number of its tokens."""
    text, calls, tokens = "", list[str](), 0
    async with aclosing(answer) as events:
        async for event in events:
            match event:
                case TextDelta(text=piece):
                    text += piece
                case CallProposed(call=call):
                    calls.append(call.name)
                case Finished():
                    tokens = event.completion_tokens
                case ThinkingDelta() | PromptRead():
                    pass
                case _:
                    assert_never(event)
    return text, calls, tokens


async def _probe(reference: str, host: HostProcess, options: EngineOptions) -> ModelReport:
    profile = profile_of(host.ready, reference, replace(options, profile=chosen_profile(os.environ)))
    wanted = step_to_wire(_PROBE, profile, None)
    ended = wire.FinishedFrame(id=wanted.id, reason="stop")

    async def steps() -> AsyncGenerator[ModelEvent]:
        nonlocal ended
        async with aclosing(host.generate(wanted)) as frames:
            async for frame in frames:
                ended = frame if isinstance(frame, wire.FinishedFrame) else ended
                yield event_of(frame)

    text, calls, tokens = await _hear(read_answer(steps(), _PROBE, wanted))
    name = host.ready.name if hub_name(reference) is None else reference
    governed = SELECT_INTENT in calls and _READ_FILE.name in calls
    return ModelReport(
        reference,
        name,
        ok=governed,
        device=host.ready.device,
        profile=profile.name,
        load_s=host.ready.load_s,
        step_s=ended.prompt_s + ended.decode_s,
        first_token_s=ended.prompt_s,
        tokens=tokens,
        tokens_per_s=(tokens - 1) / ended.decode_s if ended.decode_s > 0 else 0.0,
        memory_bytes=ended.memory_bytes,
        text=text,
        calls=tuple(calls),
        problem=None if governed else _no_governed_call(name, calls, tokens, None),
    )


def _no_governed_call(name: str, calls: list[str], tokens: int, held: Hold | None) -> ErrorPayload:
    """Returns the error for a model that generates, but did not declare an intent and then call its tool. `held` is
    what holds a served model to the intent."""
    done = f"it called only {', '.join(calls)}" if calls else "it called no tool"
    done = "it made a call that cannot be read," if UNREADABLE_CALL in calls else done
    return ModelFailed(
        f"the model `{name}` loads, but did not declare an intent and call its tool",
        f"asked for a change, {done} in {tokens} tokens",
        f"{_HELD}, or {_TRAINED}" if held is Hold.CHECKED else _TRAINED,
    ).payload()
