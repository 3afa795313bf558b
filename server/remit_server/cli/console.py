"""Draws events in the terminal: short lines, coloured diffs where there is a terminal, JSON for machines."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from remit_governance.visible import visible, visible_again
from remit_governance.workflow.position import ASKS_PERSON, WRITABLE
from remit_governance.workflow.states import Mode, State
from remit_server.contract import (
    AgentEvent,
    ApprovalRequired,
    ApprovalResolved,
    CommandWaits,
    ContextCondensed,
    ErrorCode,
    ErrorEvent,
    ErrorPayload,
    Event,
    IntentSelected,
    ProcessChanged,
    PromptProgress,
    ReasonPayload,
    ReviewRequired,
    ReviewResolved,
    RunCompleted,
    RunResult,
    RunStarted,
    RunStatus,
    StateChanged,
    ThinkingDelta,
    TokenDelta,
    TokenUsage,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    UsageEvent,
    WarningEvent,
)
from remit_server.counted import counted
from remit_server.errors import STANDING_ANSWER
from remit_server.harness.approval.shown_parts import Part, part_text, parts_of
from remit_server.runtime.turns.ended_calls import changed_files, changed_in_all, duration, remarks
from remit_server.sessions.answers import answer_words
from remit_server.streams import standard_streams

STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "magenta": "35"}
ENDINGS: Mapping[RunStatus, tuple[str, str]] = {
    "completed": ("∅ not all done:", "yellow"),
    "declined": ("∅ not done:", "yellow"),
    "denied": ("✗ not done:", "red"),
    "failed": ("✗", "red"),
    "cancelled": ("✗", "red"),
    "timed_out": ("✗", "red"),
}
"""For each ending that has a reason: the words before the reason, and their style."""
MAX_ARGUMENT = 60
BY_RULE = frozenset(
    {ErrorCode.DENIED, ErrorCode.APPROVAL_DENIED, ErrorCode.APPROVAL_EXPIRED, ErrorCode.APPROVAL_UNAVAILABLE}
)
"""The codes of calls that a rule of policy, or the person whom it asked, did not let run."""


def wants_colour() -> bool:
    """Returns whether standard output is a terminal that wants colour."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_text(text: str, style: str) -> str:
    """Returns `text` in a style where standard output is a terminal that wants colour, else unchanged."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if wants_colour() else text


def say(text: str) -> None:
    """Prints one line; nothing once standard output is closed or a write to it has failed."""
    try:
        print(text, flush=True)
    except OSError as error:
        standard_streams.unwritten.extend(() if isinstance(error, BrokenPipeError) else (error,))
        standard_streams.forget_stdout()


def print_json(value: Any) -> None:
    """Prints one JSON value on one line."""
    say(json.dumps(value, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


def print_result(value: Any, text: str, *, as_json: bool) -> None:
    """Prints a command's result, as JSON for machines or as text for people."""
    print_json(value) if as_json else say(text)


def complain(error: ErrorPayload, *, as_json: bool) -> None:
    """Prints an error as three lines on stderr (what, why, fix), or as JSON on stdout."""
    if as_json:
        print_json({"error": error.model_dump(mode="json")})
        return
    lines = f"remit: {_with_code(error.what, error)}\n  why: {error.why}\n  fix: {error.fix}\n"
    sys.stderr.write(visible_again(lines))  # the error may quote an argument, a file's name or a server


def _with_code(text: str, error: ErrorPayload) -> str:
    """Returns the text with the code that docs/troubleshooting.md explains; wrong usage of a command needs no code."""
    return text if error.code is ErrorCode.INVALID_REQUEST else f"{text} ({error.code})"


def show(event: Event) -> None:
    """Draws one event."""
    for line in draw_event(cast("AgentEvent", event)):
        say(line)


def sink(*, as_json: bool, quiet: bool = False) -> Callable[[Event], None]:
    """Returns a function that prints a turn's events: as JSON lines, only the ending if `quiet`, or drawn."""
    if as_json:
        return lambda event: print_json(event.model_dump(mode="json"))
    return show_ending if quiet else _Screen().take


_BUILT_IN = "built-in"


@dataclass(slots=True)
class Printed:
    """What the program of a turn's last call printed. `repeats` is whether the built-in model answers, which repeats
    it in its answer."""

    repeats: bool = False
    lines: list[str] = field(default_factory=list[str])

    def note(self, event: AgentEvent) -> None:
        """Notes what an event says of it."""
        match event:
            case RunStarted(model=model):
                self.repeats, self.lines = model == _BUILT_IN, []
            case ToolCallEvent():
                self.lines = []
            case ToolOutput(text=text):
                self.lines.append(text)
            case _:
                pass

    def left_out_of(self, answer: str) -> str:
        """Returns the answer without the block at its beginning that repeats what was just printed."""
        if not self.repeats or not self.lines:
            return answer
        said = "\n".join(self.lines).strip()
        return re.sub(rf"\A(`{{3,}})\n{re.escape(said)}\n\1\n+", "", answer)


@dataclass(slots=True)
class _Screen:
    """Draws a turn's events. `refused` is the last call's error."""

    printed: Printed = field(default_factory=Printed)
    refused: str | None = None

    def take(self, event: Event) -> None:
        """Draws one event; leaves out of the final answer what was just printed, and an error that was just told."""
        self.printed.note(cast("AgentEvent", event))
        match cast("AgentEvent", event):
            case ToolResultEvent(error=error):
                self.refused = None if error is None else error.message
            case ErrorEvent(error=error) if error.message == self.refused:
                return
            case RunCompleted(result=result) if result.final_output:
                rest = self.printed.left_out_of(result.final_output)
                event = event.model_copy(update={"result": result.model_copy(update={"final_output": rest})})
            case _:
                pass
        show(event)


def show_ending(event: Event) -> None:
    """Prints a turn's answer, and on standard error why not all was done."""
    if isinstance(event, RunCompleted):
        answer, reason = event.result.final_output, event.result.reason
        if answer:
            say(visible_again(answer))
        problem = reason or (f"{event.result.error.what}: {event.result.error.why}" if event.result.error else None)
        if problem:
            sys.stderr.write(f"remit: {visible(problem)}\n")


def draw_event(event: AgentEvent) -> Iterable[str]:
    """Returns one event as lines of text; the lines of a sub-agent begin with a bar."""
    if event.sub_agent is None:
        return _draw_own(event)
    return (f"{style_text('  ┆', 'dim')} {part}" for line in _draw_own(event) for part in line.split("\n"))


def _draw_own(event: AgentEvent) -> Iterable[str]:
    match event:
        case RunStarted():
            where = f" · sent to {event.sent_to}" if event.sent_to else ""
            again = " · started again: its worker was gone" if event.resumed else ""
            told = f"model {event.model}{where} · workspace {event.workspace}{again}"
            yield style_text(visible_again(told, "show"), "dim")
        case IntentSelected():
            switch = f" (was {event.previous})" if event.previous else ""
            yield f"{style_text(f'[{event.intent}]', 'magenta')}{switch} step {event.step}"
        case ToolCallEvent():
            yield f"  → {style_text(event.tool, 'bold')} {_arguments(event.arguments)}"
        case ToolOutput():
            yield from (style_text(f"    │ {visible(line)}", "dim") for line in event.text.split("\n"))
        case CommandWaits() | ProcessChanged():
            yield style_text(f"    {visible_again(event.means)}", "dim")
        case ToolResultEvent():
            yield from _result(event)
        case ApprovalRequired():
            yield from _question(event)
        case ApprovalResolved():
            told = answer_words(event.decision, event.scope, event.by, event.reason)
            yield f"  {_tick(event.decision == 'allow')} {told}"
        case RunCompleted():
            yield from draw_ending(event.result)
        case WarningEvent() | ErrorEvent() | ContextCondensed() | StateChanged():
            yield from _draw_notice(event)
        case TokenDelta() | ThinkingDelta() | PromptProgress() | UsageEvent() | ReviewRequired() | ReviewResolved():
            return
        case _:
            assert_never(event)


def _draw_notice(event: WarningEvent | ErrorEvent | ContextCondensed | StateChanged) -> Iterable[str]:
    match event:
        case StateChanged():
            # Explore mode holds nothing back, so its states need no line.
            if event.mode != Mode.EXPLORE:
                yield style_text(f"  {event.mode} mode: {event.state}{_allowed(event)}", "dim")
        case WarningEvent():
            yield style_text(f"warning: {visible_again(event.message)}", "yellow")
        case ErrorEvent() if event.error.code is ErrorCode.CANCELLED:  # what the person did is no error
            yield style_text(f"stopped: {visible_again(event.error.fix)}", "yellow")
        case ErrorEvent():
            yield style_text(f"error: {visible_again(_with_code(event.error.message, event.error))}", "red")
            if event.error.fix:
                yield f"  fix: {visible_again(event.error.fix)}"
        case ContextCondensed():
            sent = f"{event.before_tokens} to {event.after_tokens} of {event.window} tokens"
            yield style_text(f"the conversation was condensed for the model, from {sent}; all of it is kept", "dim")


def _allowed(event: StateChanged) -> str:
    """Returns what strict mode leaves writable now, and what the person can do if the state waits for them."""
    state = State(event.state)
    words = [WRITABLE[state], *([ASKS_PERSON[state]] if state in ASKS_PERSON else [])]
    return f" · {'; '.join(words)}" if event.mode == Mode.STRICT else ""


IN_CHAT = "/"
"""What a person types before a command in a chat, where the next message is the answer."""


def draw_ending(result: RunResult, *, said: bool = False, command: str = "remit session ") -> Iterable[str]:
    """Yields how a turn ended as lines: the answer unless it was `said` already, why not all was done, what changed.

    `command` is what a person types before `undo` or `redo`.
    """
    if result.final_output and not said:
        yield visible_again(_bare(result.final_output))
    if result.reason and not _told_at_length(result):
        mark, style = ENDINGS[result.status]
        yield style_text(f"{mark} {visible(result.reason)}", style)
    if command != IN_CHAT and (words := _answer_to_give(result)):
        yield style_text(f"  answer: remit --continue {words}", "dim")
    yield from _changes(result, command)
    calls = counted(len(result.tool_trace), "call")
    yield style_text(" · ".join([result.status.replace("_", " "), calls, *_cost(result.usage)]), "dim")


def _answer_to_give(result: RunResult) -> str | None:
    """Returns what a person writes to answer the model's question, or None if it asks nothing."""
    if result.suggestion is not None:
        return "yes"
    return '"…"' if result.status == "declined" and "?" in (result.final_output or "") else None


_ONE_BLOCK = re.compile(r"(`{3,})[\w.+-]*\n(?P<body>.*)\n\1\s*", re.DOTALL)


def _bare(answer: str) -> str:
    """Returns an answer that is one block of code without the lines around it, so that it can be piped into a file."""
    found = _ONE_BLOCK.fullmatch(answer)
    return answer if found is None or f"\n{found[1]}" in found["body"] else found["body"]


_SHORT = 60
"""The longest reason that is told although the answer tells it too."""


def _told_at_length(result: RunResult) -> bool:
    """Returns whether the answer has told the reason, in a line or more."""
    reason, answer = (result.reason or "").lower(), (result.final_output or "").lower()
    return (len(reason) > _SHORT and reason in answer) or (reason != "" and answer.rstrip(" .").endswith(f": {reason}"))


def _changes(result: RunResult, command: str) -> Iterable[str]:
    if not result.changes:
        return
    files = [*changed_files(result.changes)]
    if len(files) > 1:
        yield from (f"  {line}" for line in files)
    back = f" · `{command}{result.taken_back_by}` takes it back" if result.taken_back_by else ""
    said = f"changed {files[0]}" if len(files) == 1 else changed_in_all(result.changes)
    yield style_text(f"{said}{back}", "dim")


def _cost(usage: TokenUsage | None) -> Iterable[str]:
    """Yields tokens and price, if a service charges for them."""
    if usage is not None and usage.price_usd != 0:
        yield f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
        yield "price unknown" if usage.price_usd is None else f"${usage.price_usd:.4f}"


def _arguments(arguments: dict[str, Any]) -> str:
    def short(value: Any) -> str:
        text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).replace("\n", "↵")
        return text if len(text) <= MAX_ARGUMENT else text[: MAX_ARGUMENT - 1] + "…"

    return " ".join(f"{short(key)}={short(value)}" for key, value in arguments.items())


def _result(event: ToolResultEvent) -> Iterable[str]:
    code = None if event.error is None else event.error.code
    named = deciding(event.reasons) if code in BY_RULE else ()
    unruled = STANDING_ANSWER in event.data
    by = "your standing answer" if unruled else ", ".join(event.rules) or _settled(event)
    decided = f"{duration(event.duration_ms)} · {by}"
    mark = style_text("·", "dim") if code is ErrorCode.DRY_RUN else _tick(event.went_well)
    yield f"  {mark} {visible_again(event.summary)} {style_text(decided, 'dim')}"
    for remark in remarks(event):
        yield from (f"    {visible_again(line)}" for line in remark.split("\n"))
    if code is ErrorCode.DRY_RUN:
        yield from _would(event.data)
    elif event.error is not None:
        if event.error.fix:
            yield f"    {style_text(event.error.code, 'red')} fix: {visible_again(event.error.fix)}"
        for reason in () if unruled else named:
            place = f" ({reason.file}:{reason.line})" if reason.file else ""
            yield f"    rule {reason.rule or reason.layer}: {visible_again(reason.reason)}{place}"


def _settled(event: ToolResultEvent) -> str:
    """Returns how it was decided whether a call of no rule runs."""
    if (answer := event.answer) is None:
        return event.decision.replace("_", " ")
    return answer_words(answer.decision, answer.scope, answer.by)


def _would(data: Mapping[str, Any]) -> Iterable[str]:
    """Yields what a dry run would have done."""
    if data.get("command"):
        yield f"    $ {visible_again(str(data['command']))}"
    for file in data.get("diffs", ()):
        yield from (f"    {diff_line(visible_again(line))}" for line in str(file["diff"]).splitlines())


def _question(event: ApprovalRequired) -> Iterable[str]:
    which = f" · call {event.step_call} of {event.step_calls}" if event.step_calls > 1 else ""
    yield f"  {style_text('approval', 'yellow')} {visible_again(event.title)} · risk {event.risk}{which}"
    if event.session_name is not None:
        yield f"    in the session: {visible_again(event.session_name, 'show')}"
    if event.asked_by is not None:
        yield f"    asked by a sub-agent: {visible_again(event.asked_by, 'show')}"
    for why in dict.fromkeys(visible_again(reason.reason) for reason in event.reasons):
        yield f"    {why}"
    if event.command is not None:
        command = event.command.replace("\n", "\n      ")
        yield f"    $ {command}" + (f"   in {event.cwd}" if event.cwd else "")
        reach = f"network only to {', '.join(event.hosts)}" if event.hosts else "no network"
        yield f"    in the sandbox, {reach}"
        if event.near is not None:
            yield f"    reaches the process in the background: {visible_again(event.near, 'show')}"
    for diff in event.diffs:
        yield from map(_in_diff, diff.diff.splitlines())
    if event.session_rule is not None:
        yield from _wrap(f"    s  this session: allow {visible_again(event.session_rule)}")


def _wrap(line: str) -> list[str]:
    """Returns a line wrapped between words to the terminal's width, or unchanged if there is no terminal."""
    if not sys.stdout.isatty():
        return [line]
    width = max(20, shutil.get_terminal_size().columns)
    inner = " " * (len(line) - len(line.lstrip()) + 3)
    return textwrap.wrap(line, width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False)


def draw_details(event: ApprovalRequired) -> Iterable[str]:
    """Yields what `?` shows of a question: its rules, what other answers would remember, its digest (APP-04)."""
    for reason in event.reasons:
        place = f" ({reason.file}:{reason.line})" if reason.file else ""
        yield f"    asked by rule {reason.rule or reason.layer}: {visible_again(reason.reason)}{place}"
    if event.edits_rule is not None:
        yield from _wrap(f"    f  this session: allow {visible_again(event.edits_rule)}")
    if event.always_rule is not None:
        rule = visible_again(event.always_rule)
        yield from _wrap(f"    a  always in this workspace: adds to permissions.yaml: {rule}")
    if event.everywhere_rule is not None:
        yield from _wrap(f"    e  always in every workspace: adds this rule: {visible_again(event.everywhere_rule)}")
    yield "    N  no, and tell the model why"
    yield style_text(f"    checksum of exactly what your answer is for: {event.digest}", "dim")


def draw_parts(event: ApprovalRequired) -> dict[Part, list[str]]:
    """Returns each part that a question offers, as lines."""
    return {
        part: [
            f"  {style_text(visible(part.path, 'show'), 'bold')}",
            *map(_in_diff, part_text(event, part).splitlines()),
        ]
        for part in parts_of(event)
    }


def _in_diff(line: str) -> str:
    return f"    {diff_line(line)}"


def deciding(reasons: Sequence[ReasonPayload]) -> tuple[ReasonPayload, ...]:
    """Returns the reasons with the strictest verdict, which decided; milder ones explain nothing."""
    for verdict in ("deny", "require_review", "allow"):
        if found := tuple(r for r in reasons if r.action == verdict):
            return found
    return ()


def diff_line(line: str) -> str:
    """Returns one line of a unified diff, coloured."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return style_text(line, colours[line[0]]) if line[:1] in colours else line


def _tick(good: bool) -> str:
    return style_text("✓", "green") if good else style_text("✗", "red")
