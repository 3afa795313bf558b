"""The figures of sessions as text, and as one HTML page with plots, which loads nothing and runs nothing; pure
(SES-06).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate

from remit_governance.visible import visible_again
from remit_server.contract import ModelUse, SessionStatistics
from remit_server.counted import counted
from remit_server.runtime.turns.ended_calls import duration
from remit_server.sessions.html_page import html_page

A_MINUTE_MS = 60_000
"""Rates are shown only for at least this time, because three messages in a tenth of a second are not 1,800 a minute."""


def describe_statistics(figures: SessionStatistics) -> Iterator[tuple[str, list[str]]]:
    """Yields headings with their lines; models, tools and intents are left out if there are none."""
    yield "Messages", _message_lines(figures)
    if figures.models:
        yield "Models", [line for use in figures.models for line in _model_lines(use)]
    if figures.tools:
        yield (
            "Tools",
            [
                f"{tool.name}: {counted(tool.calls, 'call')}, {duration(tool.duration_ms)}" + _failed(tool.failed)
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
        f"{counted(said.tool_calls, 'call')}, {counted(said.tool_results, 'result')}",
        f"{sizes} (about {size.estimated_tokens:,} tokens)",
        *([rates] if figures.time.turns_ms >= A_MINUTE_MS else []),
        f"condensed {counted(figures.condensed, 'time')}",
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
        f"{use.provider} {use.model}: {counted(use.answers, 'answer')} in {duration(use.duration_ms)}",
        f"  {use.input_tokens:,} tokens in{share}, {use.output_tokens:,} out{price}",
    ]


def _failed(failed: dict[str, int]) -> str:
    return f" ({', '.join(f'{number} {why}' for why, number in failed.items())})" if failed else ""


WIDTH, ROW, NAME = 640, 26, 190
COLOURS = ("#2667b8", "#5b8c2a", "#c77700", "#8a3ab9", "#b3261e", "#5f6b7a")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
body { color: #1b1b1b; background: #fff }
svg { width: 100%; height: auto } text { font: 13px system-ui, sans-serif; fill: currentColor }
ul { padding-left: 1.2rem } li { overflow-wrap: anywhere }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } }
"""

Bars = Mapping[str, Sequence[float]]
"""For each bar the values of its parts, in the order of the key."""


def report(figures: SessionStatistics, title: str) -> str:
    """Returns the HTML page with the figures."""
    shown = visible_again(title, "show")
    return html_page(shown, _STYLE, [f"<h1>{escape(shown)}</h1>", *_plots(figures), *_words(figures)])


def _plots(figures: SessionStatistics) -> Iterator[str]:
    spent = figures.time
    other = max(0.0, spent.turns_ms - spent.model_ms - spent.tools_ms - spent.person_ms)
    times = (spent.model_ms, spent.tools_ms, spent.person_ms, other)
    if spent.turns_ms:
        key = ("model", "tools", "waiting for you", "other")
        yield _plot("Where the time went", {"all turns": times}, key, duration)
    tokens = {
        f"{use.provider} {use.model}": (use.input_tokens - use.cached_tokens, use.cached_tokens, use.output_tokens)
        for use in figures.models
    }
    if any(map(sum, tokens.values())):
        yield _plot("Tokens", tokens, ("in", "in, cached", "out"), _count)
    tools = {tool.name: (tool.succeeded, sum(tool.failed.values())) for tool in figures.tools}
    if tools:
        yield _plot("Tools", tools, ("done", "not done"), _count)
    if figures.turns:
        turns = {status.replace("_", " "): (number,) for status, number in figures.turns.items()}
        yield _plot("Turns", turns, ("turns",), _count)


def _plot(heading: str, bars: Bars, key: Sequence[str], shown: Callable[[float], str]) -> str:
    """Returns a plot with one horizontal bar for each entry: its parts side by side, and after them its sum."""
    most = max((sum(parts) for parts in bars.values()), default=0) or 1
    scale = (WIDTH - NAME - 100) / most
    drawn = "".join(_bar(row, name, parts, scale, shown(sum(parts))) for row, (name, parts) in enumerate(bars.items()))
    named = "".join(
        f'<span style="background:{colour}"></span>{_text(name)}' for name, colour in zip(key, COLOURS, strict=False)
    )
    height = ROW * len(bars) + 4
    label = "; ".join(
        f"{name}: {', '.join(f'{part} {shown(value)}' for part, value in zip(key, parts, strict=True))}"
        for name, parts in bars.items()
    )
    return (
        f'<h2>{_text(heading)}</h2>\n<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_text(label)}">'
        f'{drawn}</svg>\n<p class="key">{named}</p>'
    )


def _bar(row: int, name: str, parts: Sequence[float], scale: float, total: str) -> str:
    top = row * ROW
    begins = [0.0, *accumulate(parts)]
    rects = "".join(
        f'<rect x="{NAME + begin * scale:.1f}" y="{top + 4}" width="{part * scale:.1f}" '
        f'height="{ROW - 8}" fill="{colour}"/>'
        for begin, part, colour in zip(begins, parts, COLOURS, strict=False)
        if part > 0
    )
    end = NAME + begins[-1] * scale + 6
    shown = name if len(name) <= 26 else name[:25] + "…"
    line = top + 18
    return f'<text x="0" y="{line}">{_text(shown)}</text>{rects}<text x="{end:.1f}" y="{line}">{_text(total)}</text>'


def _words(figures: SessionStatistics) -> Iterator[str]:
    for heading, told in describe_statistics(figures):
        items = "".join(f"<li>{_text(line.strip())}</li>" for line in told)
        yield f"<h2>{_text(heading)}</h2>\n<ul>{items}</ul>"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _text(text: str) -> str:
    return escape(visible_again(text, "show"))
