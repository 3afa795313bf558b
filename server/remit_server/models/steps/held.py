"""A step in one request, held by a schema: what is sent in place of a conversation with tools (MOD-12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from remit_server.models.ports import GenerateRequest, Message, Nameable, SystemMessage
from remit_server.models.profile import Profile
from remit_server.models.steps.schema import MOST_PATHS, step_schema
from remit_server.models.steps.spelling import spell_conversation
from remit_server.models.steps.telling import FORMS, standing_messages


def held_request(
    request: GenerateRequest,
    messages: Sequence[Message],
    profile: Profile,
    nameable: Nameable | None,
    most_paths: int = MOST_PATHS,
) -> GenerateRequest:
    """Returns the request for one JSON value, which is a step; `messages` are those of the conversation, as they may be
    sent. Its answer is read by a `StepReader`. Where there are more than `most_paths`, any path may be spelled.
    """
    form = FORMS[profile.telling]
    first = messages[0] if messages else None
    system = first.text if isinstance(first, SystemMessage) else ""
    standing = standing_messages(profile, system, request.intents)
    return replace(
        request,
        messages=spell_conversation(messages, standing, form),
        intents={},
        paths=None,
        answer_schema=step_schema(request, form, nameable, most_paths),
    )


def fit(request: GenerateRequest, profile: Profile) -> GenerateRequest:
    """Returns the request within the profile: its tokens, and its temperature where nobody set one."""
    return replace(
        request,
        max_tokens=min(request.max_tokens, profile.most_tokens or request.max_tokens),
        temperature=profile.temperature if request.temperature is None else request.temperature,
    )
