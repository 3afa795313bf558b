"""A session's figures: messages, tokens, cost, tools, time; counted from its records alone, pure (SES-06)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

from remit_server.contract import (
    AssistantSaid,
    CallEnded,
    CallMade,
    FilesChanged,
    IntentDeclared,
    MessageCounts,
    ModelUse,
    NotChanged,
    PrefixSent,
    QuestionAnswered,
    SessionRecord,
    SessionStart,
    SessionStatistics,
    SizeCounts,
    SystemSaid,
    TimeSpent,
    ToolUse,
    TurnEnded,
    UserSaid,
)

CHARS_PER_TOKEN = 4
"""Used to estimate tokens from characters, because no model counted the messages one by one."""


def count(records: Sequence[SessionRecord]) -> SessionStatistics:
    """Returns the figures of one session, or of several whose records follow one another."""
    calls = _last_results(records)
    messages = _messages(records)
    models = _models(records)
    spent = _spent(records, calls)
    return SessionStatistics(
        sessions=sum(isinstance(each, SessionStart) for each in records),
        started=min((each.timestamp for each in records), default=None),
        last_used=max((each.timestamp for each in records), default=None),
        turns=Counter(each.status for each in records if isinstance(each, TurnEnded)),
        messages=messages,
        size=_sizes(records),
        models=models,
        tools=_tools(calls),
        intents=Counter(each.intent.value for each in records if isinstance(each, IntentDeclared)),
        questions=Counter(each.decision for each in records if isinstance(each, QuestionAnswered)),
        condensed=sum(isinstance(each, PrefixSent) for each in records),
        changed_files=len(_changed_files(records)),
        time=spent,
        messages_per_minute=_per_minute(messages.total, spent.turns_ms),
        tokens_per_minute=_per_minute(sum(each.input_tokens + each.output_tokens for each in models), spent.turns_ms),
    )


def _messages(records: Iterable[SessionRecord]) -> MessageCounts:
    kinds = Counter(type(each) for each in records)
    ids = {(each.turn_id, each.id) for each in records if isinstance(each, CallEnded)}
    system, user, assistant = kinds[SystemSaid], kinds[UserSaid], kinds[AssistantSaid]
    return MessageCounts(
        total=system + user + assistant + len(ids),
        system=system,
        user=user,
        assistant=assistant,
        tool_calls=kinds[CallMade],
        tool_results=len(ids),
    )


def _sizes(records: Sequence[SessionRecord]) -> SizeCounts:
    """Returns the sizes of the messages that the model was sent or wrote. If a result was written more than once, only
    the last one counts."""
    said = [
        len(each.sent if isinstance(each, UserSaid) and each.sent is not None else each.content)
        for each in records
        if isinstance(each, SystemSaid | UserSaid | AssistantSaid)
    ]
    lengths = [*said, *(len(each.output) for each in _last_results(records))]
    characters = sum(lengths)
    return SizeCounts(
        characters=characters,
        average=characters / len(lengths) if lengths else 0.0,
        largest=max(lengths, default=0),
        estimated_tokens=characters // CHARS_PER_TOKEN,
    )


def _models(records: Iterable[SessionRecord]) -> tuple[ModelUse, ...]:
    def named(said: AssistantSaid) -> tuple[str, str]:
        return said.provider, said.model

    answers = sorted((each for each in records if isinstance(each, AssistantSaid)), key=named)
    return tuple(_model_use(*name, list(said)) for name, said in groupby(answers, named))


def _model_use(provider: str, model: str, said: Sequence[AssistantSaid]) -> ModelUse:
    prices = [each.tokens.price_usd for each in said]
    known = [price for price in prices if price is not None]
    return ModelUse(
        provider=provider,
        model=model,
        answers=len(said),
        input_tokens=sum(each.tokens.input for each in said),
        output_tokens=sum(each.tokens.output for each in said),
        cached_tokens=sum(each.tokens.cached for each in said),
        price_usd=sum(known) if len(known) == len(prices) else None,
        duration_ms=sum(each.duration_ms for each in said),
    )


def _last_results(records: Iterable[SessionRecord]) -> list[CallEnded]:
    last = {(each.turn_id, each.id): each for each in records if isinstance(each, CallEnded)}
    return list(last.values())


def _tools(calls: Sequence[CallEnded]) -> tuple[ToolUse, ...]:
    names = sorted({each.name for each in calls})
    return tuple(_tool_use(name, [each for each in calls if each.name == name]) for name in names)


def _tool_use(name: str, calls: Sequence[CallEnded]) -> ToolUse:
    failed = Counter(each.error or "failed" for each in calls if not each.success)
    return ToolUse(
        name=name,
        calls=len(calls),
        succeeded=sum(each.success for each in calls),
        failed=failed,
        duration_ms=sum(each.duration_ms for each in calls),
    )


def _changed_files(records: Sequence[SessionRecord]) -> set[str]:
    left = {(each.turn_id, each.id, path) for each in records if isinstance(each, NotChanged) for path in each.paths}
    changes = (each for each in records if isinstance(each, FilesChanged))
    return {file.path for each in changes for file in each.files if (each.turn_id, each.id, file.path) not in left}


def _spent(records: Sequence[SessionRecord], calls: Sequence[CallEnded]) -> TimeSpent:
    """Returns where the time of turns went. A call's time does not include the person's time to answer questions."""
    model = sum(each.duration_ms for each in records if isinstance(each, AssistantSaid))
    person = sum(each.waited_ms for each in records if isinstance(each, QuestionAnswered))
    ended = [each for each in records if isinstance(each, TurnEnded)]
    return TimeSpent(
        turns_ms=sum(each.duration_ms for each in ended),
        model_ms=model,
        tools_ms=sum(each.duration_ms for each in calls),
        person_ms=person,
        span_ms=_span_ms(records),
    )


def _span_ms(records: Sequence[SessionRecord]) -> float:
    if not records:
        return 0.0
    # The first record need not be the earliest: the start of a forked session is later than the copied records.
    moments = [datetime.fromisoformat(each.timestamp) for each in records]
    return (max(moments) - min(moments)).total_seconds() * 1000


def _per_minute(number: int, ms: float) -> float:
    return number / (ms / 60_000) if ms else 0.0
