"""Proposes what may be written at a place of a policy file: keys of its form, or words that its key knows (POL-14).

It also finds what is wrong with a policy text: everything that the compiler reports, with its span (POL-14).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.editing.outline import MAX_CHARACTERS, Outline, Token, outline, read_outline
from remit_governance.policy.editing.schema import UNITS, WHOLE, Slot, fields_of, known_words, meaning, slot_at
from remit_governance.policy.editing.spans import Span, YamlLines
from remit_governance.policy.language.compile import Source, compile_policy, parse_policy
from remit_governance.policy.language.rule_warnings import warnings_of

# Stands for the text that is typed next, so that an empty place has a token too.
_CURSOR = "\ue000"
_PREFIX = re.compile(r"[\w.-]*")
_WORD = re.compile(r"[\w.-]*")
_COLON_AHEAD = re.compile(r"[\"']?[ \t]*:")
_DIGITS = re.compile(r"[0-9]{1,15}")
_USUAL_SIZES = ("100KiB", "1MiB", "10MiB")


@dataclass(frozen=True, slots=True)
class Completion:
    """One proposal: `text` replaces `span`, which lies in one line and holds the cursor."""

    label: str
    kind: Literal["key", "word"]
    meaning: str
    span: Span
    text: str


def completions(
    text: str, offset: int, tools: Mapping[str, str] | None = None, *, project: bool = False, whole: Slot = WHOLE
) -> tuple[Completion, ...]:
    """Finds what fits at the offset of a file whose slot is `whole`; nothing at a place that no form knows. `tools` are
    the existing tools with their meanings.

    A project's policy may not allow, so `allow` is not proposed in one.
    """
    # A word directly after a colon or comma needs a space before it.
    gap = " " if text[:offset].endswith((":", ",")) else ""
    token = _token_at_end(text[:offset] + gap)
    slot = slot_at(token.place, whole) if token is not None else None
    if token is None or slot is None:
        return ()
    prefix = token.text[: -len(_CURSOR)]
    if not _PREFIX.fullmatch(prefix):
        return ()
    span = Span(min(offset - len(prefix), offset), _word_end(text, offset))
    lead = gap if not prefix else ""
    if slot.form is not None:
        found = _keys(text, span, token, slot) if token.role == "open" and not slot.many else ()
        quoted = token.span.end - token.span.start > len(token.text)
        ending = "" if quoted or _COLON_AHEAD.match(text, span.end) else ": "
        return tuple(Completion(name, "key", what, span, f"{lead}{name}{ending}") for name, what in found)
    key = next((part for part in reversed(token.place) if isinstance(part, str)), "")
    words = _sizes(prefix) if key == "max_file_size" else _words(slot, key, tools or {})
    return tuple(
        Completion(word, "word", what, span, f"{lead}{word}")
        for word, what in words
        if not (project and key == "action" and word == "allow")
    )


def _token_at_end(before: str) -> Token | None:
    """Returns the token that is typed at the cursor, or None in a comment, in a block of text or after a complete
    value."""
    if len(before) >= MAX_CHARACTERS:
        return None
    tokens = read_outline(before + _CURSOR).tokens
    last = tokens[-1] if tokens else None
    return last if last is not None and last.span.end > len(before) and last.text.endswith(_CURSOR) else None


def _word_end(text: str, offset: int) -> int:
    found = _WORD.match(text, offset)
    return found.end() if found else offset


def _keys(text: str, span: Span, token: Token, slot: Slot) -> Iterator[tuple[str, str]]:
    """Yields the keys, with their meanings, that the mapping does not have yet, and the key that is being typed."""
    given = {
        other.text
        for other in outline(text).tokens
        if other.role == "key" and other.place[:-1] == token.place and not _touch(other.span, span)
    }
    for name in fields_of(slot.form) if slot.form is not None else ():
        if name not in given:
            yield name, meaning(slot.form, name) or ""


def _touch(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _words(slot: Slot, key: str, tools: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the words that a form accepts, or those that have a meaning if it accepts any word."""
    known = known_words(key, tools)
    for word in slot.words or known:
        yield word, known.get(word, "")


def _sizes(prefix: str) -> Iterator[tuple[str, str]]:
    digits = _DIGITS.match(prefix)
    if digits is None:
        yield from ((size, "") for size in _USUAL_SIZES)
        return
    for unit, factor in UNITS.items():
        yield f"{digits.group()}{unit}", f"{int(digits.group()) * factor} bytes"


Severity = Literal["error", "warning"]

INVALID = "policy_invalid"
"""The code of errors that keep a policy from being used, also in the message of a command that is refused for them."""

DOUBTFUL = "policy_warning"
"""The code of warnings about rules that can hardly do what they seem to do."""

NOT_IN_FORCE = "not in force until this is fixed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, for a person to read."""

    span: Span
    severity: Severity
    code: str
    message: str


def findings(
    source: Source,
    beside: Sequence[Source] = (),
    *,
    unreadable: Sequence[Problem] = (),
    saved: bool = False,
    fold_case: bool = False,
) -> tuple[Finding, ...]:
    """Finds what the compiler reports about `source`, compiled together with the other files in force (`beside`).

    `unreadable` are problems met while reading those files. If the text is `saved`, an error says that the policy is
    not in force. An error in another file, which keeps this one out of force too, is a warning here.
    """
    together = sorted((source, *beside), key=lambda each: each.project)
    problems: tuple[Problem, ...] = ()
    try:
        warnings: Sequence[Problem] = compile_policy(together, fold_case).warnings
    except PolicyError as error:
        problems, warnings = error.problems, tuple(_own_warnings(source))
    problems = (*unreadable, *problems)
    own = [problem for problem in problems if problem.file == source.file]
    others = [problem for problem in problems if problem.file != source.file]
    doubts = [problem for problem in warnings if problem.file == source.file]
    first_line = YamlLines(source.text).span(1)
    return (
        *placed(source.text, own, "error", INVALID, ending=f" ({NOT_IN_FORCE})" if saved else ""),
        *(Finding(first_line, "warning", INVALID, _beside(others)) for _ in others[:1]),
        *placed(source.text, doubts, "warning", DOUBTFUL),
    )


def placed(
    text: str, problems: Sequence[Problem], severity: Severity, code: str, *, ending: str = "", whole: Slot = WHOLE
) -> tuple[Finding, ...]:
    """Finds the span of each problem in its file's text, whose slot is `whole`; `ending` follows each message."""
    places = _Places(text, whole)
    return tuple(Finding(places.span(p), severity, code, f"{p.message}; {p.fix}{ending}") for p in problems)


def _own_warnings(source: Source) -> Iterator[Problem]:
    """Yields the warnings about a file that cannot be used, if it can at least be parsed."""
    try:
        document, form = parse_policy(source.file, source.text)
    except PolicyError:
        return
    yield from warnings_of(document, form)


def _beside(problems: Sequence[Problem]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"this file is not in force while another one has mistakes: {first}{more}"


class _Places:
    """Finds the span that a problem is about, from the line and column where that begins."""

    def __init__(self, text: str, whole: Slot) -> None:
        self._whole = whole
        self.lines = YamlLines(text)
        self._outline: Outline = outline(text)
        self._at = {token.span.start: token for token in self._outline.tokens}
        self._first = {token.place: token for token in reversed(self._outline.tokens) if token.role == "key"}

    def span(self, problem: Problem) -> Span:
        """Returns the span of the key if the key itself is wrong, else of a key with its value in that line, else of
        what begins at the place."""
        start = self.lines.offset(problem.line, problem.column)
        rest = self.lines.rest(start)
        token = self._at.get(start)
        if token is None:
            return rest
        if token.role != "key" or self._wrong_itself(token):
            return token.span
        return Span(start, max(min(self._outline.reach.get(start, 0), rest.end), token.span.end))

    def _wrong_itself(self, key: Token) -> bool:
        slot = slot_at(key.place[:-1], self._whole)
        known = slot is not None and slot.form is not None and key.text in fields_of(slot.form)
        return not known or self._first[key.place] is not key
