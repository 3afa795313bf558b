"""Turns a session into a page to read: Markdown, or HTML in one file that loads nothing; pure (SES-04)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from remit_governance.intents import SELECT_INTENT
from remit_governance.visible import visible, visible_again
from remit_server.contract import (
    AssistantSaid,
    CallEnded,
    CallMade,
    FilesChanged,
    IntentDeclared,
    Named,
    QuestionAnswered,
    SessionRecord,
    SessionStart,
    TurnEnded,
    TurnStarted,
    UserSaid,
    Warned,
)
from remit_server.sessions.answers import answer_words
from remit_server.sessions.html_page import html_page
from remit_server.sessions.messages import is_message

_FENCE = re.compile(r"`{3,}")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
body { color: #1b1b1b; background: #fff }
section { border-left: 3px solid #ccc; margin: 1rem 0; padding: 0 1rem }
section.you { border-color: #2667b8 } section.model { border-color: #5b8c2a } section.failed { border-color: #b3261e }
h2 { font-size: 1rem; margin: 0 }
p, pre { white-space: pre-wrap; overflow-wrap: anywhere }
pre { background: #f4f4f4; padding: .5rem }
.note { color: #555 }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b } pre { background: #2a2a2a } .note { color: #aaa }
}
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: a heading and a text. The text is shown unformatted if `code` is true. A `note` is one line
    without a heading. `to_model` marks what Remit wrote to the model, and the person sees in another form."""

    kind: str
    heading: str
    text: str = ""
    code: bool = False
    note: bool = False
    to_model: bool = False


def to_markdown(records: Sequence[SessionRecord]) -> str:
    """Returns the session as Markdown. Hidden characters are spelled out."""
    return "\n\n".join(_markdown(part) for part in parts(records)) + "\n"


def to_html(records: Sequence[SessionRecord]) -> str:
    """Returns the session as one HTML file without scripts and without anything that is loaded from elsewhere."""
    return html_page(title_of(records), _STYLE, map(_html, parts(records)))


def title_of(records: Sequence[SessionRecord]) -> str:
    """Returns the session's name, or its id."""
    names = [each.name for each in records if isinstance(each, Named)]
    start = next((each.session_id for each in records if isinstance(each, SessionStart)), "")
    return visible(names[-1] if names else f"Session {start}", "show")


def parts(records: Sequence[SessionRecord]) -> Iterator[Part]:
    """Yields the parts of a session that a reader is shown, in order. Messages have the numbers that a fork takes."""
    yield Part("title", title_of(records))
    number = 0
    # If a result was written more than once, only the last one counts.
    told: list[str] = []
    last = {(each.turn_id, each.id): at for at, each in enumerate(records) if isinstance(each, CallEnded)}
    for at, record in enumerate(records):
        number += is_message(record)
        again = isinstance(record, CallEnded) and last[record.turn_id, record.id] != at
        told = [] if isinstance(record, TurnStarted) else told
        part = None if again else _part(_without_repeated(record, told), number)
        if part is not None:
            told += (part.heading, part.text)
            yield part


def _without_repeated(record: SessionRecord, told: Sequence[str]) -> SessionRecord:
    """Returns the end of a turn without a reason that a reader has been told of this turn, and any other record as it
    is."""
    if isinstance(record, TurnEnded) and record.reason and any(record.reason in each for each in told):
        return record.model_copy(update={"reason": None})
    return record


def _part(record: SessionRecord, number: int) -> Part | None:
    part: Part | None = None
    match record:
        case UserSaid():
            person = record.origin == "person"
            part = Part("you", f"{number} · {'You' if person else 'Remit'}", record.content, to_model=not person)
        case AssistantSaid(content=text):  # an answer without text, which only makes calls, has a number too
            part = Part("model", f"{number} · {record.model}", text)
        case CallMade(name=name) | CallEnded(name=name, success=True) if name == SELECT_INTENT:
            pass  # the intent has a record of its own
        case CallMade():
            caller = {"model": "", "person": " (you)", "remit": " (Remit)", "sub_agent": " (sub-agent)"}[record.caller]
            arguments = json.dumps(record.arguments, ensure_ascii=False, indent=2) if record.arguments else ""
            part = Part("call", f"→ {record.name}{caller}", arguments, code=True)
        case CallEnded() if record.summary:
            went_well = record.success and not record.exit_code
            mark, kind = ("✓", "call") if went_well else ("✗", "failed")
            rules = f" · {', '.join(record.rules) or record.decision}" if record.decision else ""
            part = Part(kind, f"{mark} {record.name}: {record.summary}{rules}", _shown_output(record), code=True)
        case _:
            if note := _note(record):
                part = Part("note", "", note, note=True)
    return part


def _shown_output(record: CallEnded) -> str:
    """Returns what a call came to, without the error and the fix that are worded for the model: the heading has the
    same for a person."""
    output = record.output
    if record.error is not None and output.startswith(f"error {record.error}: "):
        return "\n".join(line for line in output.split("\n")[1:] if not line.startswith("fix: "))
    return output


def _note(record: SessionRecord) -> str:
    note = ""
    match record:
        case SessionStart():
            source = record.forked_from
            copied = f", copied from {source.session_id} up to message {source.message}" if source else ""
            model = f"{record.config.provider} {record.config.model}"
            note = f"Begun {record.timestamp} in {record.workspace}, with {model}{copied}."
        case IntentDeclared():
            item = f" for {record.work_item}" if record.work_item else ""
            note = f"Intent {record.intent}{item}" + (f": {record.justification}" if record.justification else "")
        case QuestionAnswered():
            asked = "Not asked" if record.by == "unavailable" or not record.title else "Asked"
            how = "denied" if record.by == "unavailable" else answer_words(record.decision, record.scope, record.by)
            note = ": ".join(filter(None, (asked, record.title, how)))
        case FilesChanged():
            names = ", ".join(each.path for each in record.files)
            note = f"{'Taken back in' if record.reverts else 'Changes'} {names} (turn {record.turn_id})"
        case Warned():
            note = f"Warning: {record.message}"
        case TurnEnded():
            note = f"The turn {record.turn_id} ended: {record.status.replace('_', ' ')}" + (
                f": {record.reason}" if record.reason else ""
            )
        case _:
            pass
    return note


def _markdown(part: Part) -> str:
    if part.note:
        return f"*{_one_line(part.text)}*"
    heading = f"{'#' if part.kind == 'title' else '##'} {_one_line(part.heading)}"
    text = visible_again(part.text)
    if part.code:
        fence = "`" * (max(map(len, _FENCE.findall(text)), default=2) + 1)
        text = f"{fence}\n{text}\n{fence}"
    return f"{heading}\n\n{text}" if text else heading


def _html(part: Part) -> str:
    if part.note:
        return f'<p class="note">{escape(_one_line(part.text))}</p>'
    heading = escape(_one_line(part.heading))
    if part.kind == "title":
        return f"<h1>{heading}</h1>"
    tag = "pre" if part.code else "p"
    text = f"<{tag}>{escape(visible_again(part.text))}</{tag}>" if part.text else ""
    return f'<section class="{part.kind}"><h2>{heading}</h2>{text}</section>'


def _one_line(text: str) -> str:
    return visible_again(" ".join(text.split()), "show")
