"""What is shown about the place under the mouse: a rule in a sentence, a key's or a word's meaning (POL-14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError

from remit_governance.errors import PolicyError
from remit_governance.policy.editing.describing import code, sentence
from remit_governance.policy.editing.key_texts import known_words, meaning
from remit_governance.policy.editing.outline import Token, outline
from remit_governance.policy.editing.schema import WHOLE, Slot, slot_at
from remit_governance.policy.editing.spans import Span
from remit_governance.policy.language.document import Document, Place, read_document
from remit_governance.policy.language.policy_form import RuleForm


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a span; `rule` is the name of the rule it is about, so that its hits can be told as well."""

    span: Span
    text: str
    rule: str | None = None


def hover(text: str, offset: int, tools: Mapping[str, str] | None = None, whole: Slot = WHOLE) -> Hover | None:
    """Says what stands at the offset; None where that is nothing. `tools` and `whole` as for completion."""
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
    """The rule at this place of the list, by itself: faults elsewhere in the file are not its own."""
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
