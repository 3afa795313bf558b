"""The figures of a session in words; pure (SES-06)."""

from __future__ import annotations

from collections.abc import Iterator

from remit_server.contract import ModelUse, SessionStatistics
from remit_server.runtime.ended_calls import duration

A_MINUTE_MS = 60_000
"""A rate of less is a guess: three messages in a tenth of a second are no 1,800 a minute."""


def describe_statistics(figures: SessionStatistics) -> Iterator[tuple[str, list[str]]]:
    """Yields headings with their lines; what there is nothing of is left out."""
    yield "Messages", _message_lines(figures)
    if figures.models:
        yield "Models", [line for use in figures.models for line in _model_lines(use)]
    if figures.tools:
        yield (
            "Tools",
            [
                f"{tool.name}: {tool.calls} calls, {duration(tool.duration_ms)}" + _failed(tool.failed)
                for tool in figures.tools
            ],
        )
    if figures.intents:
        yield "Intents", [", ".join(f"{name} {number}" for name, number in figures.intents.items())]
    yield "Time", _time_lines(figures)
    turns = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in figures.turns.items()) or "none"
    asked = ", ".join(f"{number} {answer}" for answer, number in figures.questions.items()) or "none"
    yield "Turns", [turns, f"questions: {asked}", f"files changed: {figures.changed_files}"]


def _message_lines(figures: SessionStatistics) -> list[str]:
    said, size = figures.messages, figures.size
    rates = f"{figures.messages_per_minute:.1f} messages and {figures.tokens_per_minute:,.0f} tokens a minute in turns"
    sizes = f"average {size.average:,.0f} characters, largest {size.largest:,}, total {size.characters:,}"
    return [
        f"{said.total} in all: {said.user} user, {said.assistant} assistant, {said.system} system",
        f"{said.tool_calls} calls, {said.tool_results} results",
        f"{sizes} (about {size.estimated_tokens:,} tokens)",
        *([rates] if figures.time.turns_ms >= A_MINUTE_MS else []),
        f"condensed {figures.condensed} times",
    ]


def _time_lines(figures: SessionStatistics) -> list[str]:
    spent = figures.time
    parts = {"model": spent.model_ms, "tools": spent.tools_ms, "waiting for you": spent.person_ms}
    split = ", ".join(f"{what} {duration(ms)}" for what, ms in parts.items())
    return [
        f"{duration(spent.turns_ms)} in turns: {split}",
        f"from {figures.started or '—'} to {figures.last_used or '—'}",
    ]


def _model_lines(use: ModelUse) -> list[str]:
    share = f", {use.cached_tokens / use.input_tokens:.0%} of them cached" if use.input_tokens else ""
    price = "" if use.price_usd == 0 else " · price unknown" if use.price_usd is None else f" · ${use.price_usd:.4f}"
    return [
        f"{use.provider} {use.model}: {use.answers} answers in {duration(use.duration_ms)}",
        f"  {use.input_tokens:,} tokens in{share}, {use.output_tokens:,} out{price}",
    ]


def _failed(failed: dict[str, int]) -> str:
    return f" ({', '.join(f'{number} {why}' for why, number in failed.items())})" if failed else ""
