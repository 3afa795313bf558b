"""What is shown about the place under the mouse (POL-14): a rule in a sentence, a key's or a word's meaning.

It also finds where a rule stands, and counts how often it has decided recently. All text from the file is put between
backticks, so that it is never markup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from pydantic import ValidationError

from remit_governance.audit.record import AuditRecord
from remit_governance.errors import PolicyError
from remit_governance.policy.editing.outline import Token, outline
from remit_governance.policy.editing.schema import WHOLE, Slot, known_words, meaning, slot_at
from remit_governance.policy.editing.spans import Span, YamlLines
from remit_governance.policy.language.document import Document, Place, read_document
from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.visible import visible


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a span; `rule` is the name of the rule it is about, so that its hits can be added."""

    span: Span
    text: str
    rule: str | None = None


def hover(text: str, offset: int, tools: Mapping[str, str] | None = None, whole: Slot = WHOLE) -> Hover | None:
    """Says what stands at the offset; None if there is nothing to say. `tools` and `whole` are as for `completions`."""
    token = outline(text).at(offset)
    if token is None:
        return None
    match token.place:
        case ("capabilities", int() as index, "name") if whole is WHOLE:
            return _rule(text, token, index)
        case _:
            said = _about_key(token, whole) if token.role == "key" else _about_word(token, tools or {}, whole)
            return Hover(token.span, f"{code(token.text)}: {said}") if said else None


def _rule(text: str, token: Token, index: int) -> Hover:
    place: Place = ("capabilities", index)
    named = outline(text).value((*place, "name"))
    name = named.text if named is not None else ""
    rule = _form(text, index)
    if rule is None:
        return Hover(token.span, f"{code(name)} cannot be read until its mistakes are fixed.", name)
    reason = f"\n\nReason: {code(rule.reason)}" if rule.reason else ""
    return Hover(token.span, sentence(rule) + reason, rule.name)


def _about_key(token: Token, whole: Slot) -> str | None:
    slot = slot_at(token.place[:-1], whole)
    return meaning(slot.form, token.text) if slot is not None and not slot.many else None


def _about_word(token: Token, tools: Mapping[str, str], whole: Slot) -> str | None:
    slot = slot_at(token.place, whole)
    if slot is None or slot.form is not None:
        return None
    key = next((part for part in reversed(token.place) if isinstance(part, str)), "")
    return known_words(key, tools).get(token.text)


def _form(text: str, index: int) -> RuleForm | None:
    """Returns the rule at this index, or None if it is not valid. It is validated alone, so that faults elsewhere in
    the file do not matter."""
    document = _document(text)
    match document.value if document is not None else None:
        case {"capabilities": list() as rules} if index < len(rules):
            try:
                return RuleForm.model_validate(rules[index])
            except ValidationError:
                return None
        case _:
            return None


@lru_cache(maxsize=4)
def _document(text: str) -> Document | None:
    try:
        return read_document("", text)
    except PolicyError:
        return None


_SHOWN = 8
_VERBS = {
    "allow": "allows",
    "deny": "denies",
    "pass": "says nothing about",
    "require_review": "asks you about",
}


def sentence(rule: RuleForm) -> str:
    """Says what the rule does, starting with its name."""
    parts = [code(rule.name), _VERBS[rule.action], *_condition(rule.match)]
    parts += [_limits(rule)] if rule.action == "allow" and _limits(rule) else []
    without = [" ".join(_condition(item)).removeprefix("everything ") for item in rule.except_]
    return " ".join(parts) + (f", except {'; '.join(without)}" if without else "") + "."


def code(text: str) -> str:
    """Returns the text as inline code of Markdown, with hidden characters spelled out."""
    shown = visible(text, "show")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _condition(form: MatchForm) -> list[str]:
    given = form.given()
    syscalls = given.pop("syscall", None)
    named = "everything" if syscalls is None else _any(syscalls)
    return [named, *(f"{_told(key)} {_any(values)}" for key, values in given.items())]


def _told(key: str) -> str:
    """Returns the words that introduce the values of a key in a sentence."""
    return str(cast("dict[str, str]", MatchForm.model_fields[key].json_schema_extra)["told"])


def _any(values: Iterable[str]) -> str:
    words = [code(str(value)) for value in values]
    if len(words) > _SHOWN:
        return f"{', '.join(words[:_SHOWN])} or {len(words) - _SHOWN} more"
    if len(words) < 2:
        return words[0] if words else "nothing"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _limits(rule: RuleForm) -> str:
    limits = rule.constraints
    said = [
        f"up to {limits.max_file_size} bytes" if limits.max_file_size is not None else "",
        ""
        if limits.require_sandbox is None
        else "in a sandbox"
        if limits.require_sandbox == "L2"
        else f"in a sandbox of {code(limits.require_sandbox)}",
        "under a token of its own" if limits.require_capability_token else "",
    ]
    return ", ".join(part for part in said if part)


def rule_span(text: str, name: str) -> Span | None:
    """Returns the span of the rule's name in the text, or None if the text has no rule of this name."""
    for token in outline(text).tokens:
        match token.place:
            case ("capabilities", int(), "name") if token.role != "key" and token.text == name:
                return token.span
            case _:
                pass
    return None


def line_span(text: str, line: int) -> Span:
    """Returns the span of what stands in a line, from 1 as in reasons; a line beyond the last means the last."""
    return YamlLines(text).span(line)


CALLS = 100
"""The number of the last calls that are counted."""

_WORDS = {"allowed": "allowed", "allowed_by_token": "allowed", "review_required": "asked about", "denied": "denied"}


def hits(calls: Sequence[AuditRecord], rule: str) -> str:
    """Returns a text such as `allowed 3, denied 12 of the last 100 calls`, about calls that this rule decided.

    `calls` has one record for each call. A rule that decided together with others counts as well.
    """
    if not calls:
        return "no calls have been recorded yet"
    last = f"of the last {len(calls)} calls" if len(calls) > 1 else "of one call"
    counted = count_decisions(calls).get(rule, Counter())
    said = [f"{word} {counted[word]}" for word in dict.fromkeys(_WORDS.values()) if counted[word]]
    return f"{', '.join(said) or 'decided none'} {last}"


def count_decisions(calls: Iterable[AuditRecord]) -> dict[str, Counter[str]]:
    """Counts, for each rule, the calls that it decided, by the decision (`allowed`, `asked about`, `denied`)."""
    counted: dict[str, Counter[str]] = {}
    for record in calls:
        word = _WORDS.get(record.event.policy_decision or "", "")
        for rule in filter(None, (record.event.policy_rule_name or "").split(", ")):
            counted.setdefault(rule, Counter())[word] += 1
    return counted
