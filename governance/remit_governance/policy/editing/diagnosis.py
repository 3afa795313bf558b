"""What is wrong with a policy text: everything the compiler finds, each where it stands (POL-14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.editing.outline import Outline, Token, outline
from remit_governance.policy.editing.schema import WHOLE, Slot, fields_of, slot_at
from remit_governance.policy.editing.spans import Span, YamlLines
from remit_governance.policy.language.compile import Source, compile_policy, parse_policy
from remit_governance.policy.language.rule_warnings import warnings_of

Severity = Literal["error", "warning"]

INVALID = "policy_invalid"
"""The code of what keeps a policy from being used; the same as where a command is refused for it."""

DOUBTFUL = "policy_warning"
"""The code of rules that can hardly do what they seem to."""

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
    """Finds what the compiler says of `source`, together with the files it is in force with.

    `unreadable` are problems that were met in reading those files. An error of a text that is `saved` says that the
    policy is not in force; one of a file beside it, which keeps this one out of force too, is a warning here.
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
    """Finds where each problem stands in its file's text, which is `whole`; `ending` follows each message."""
    places = _Places(text, whole)
    return tuple(Finding(places.span(p), severity, code, f"{p.message}; {p.fix}{ending}") for p in problems)


def _own_warnings(source: Source) -> Iterator[Problem]:
    """Warnings about a file that cannot be used, as far as it can be read."""
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
    """Finds what a problem is about from the line and column where that begins."""

    def __init__(self, text: str, whole: Slot) -> None:
        self._whole = whole
        self.lines = YamlLines(text)
        self._outline: Outline = outline(text)
        self._at = {token.span.start: token for token in self._outline.tokens}
        self._first = {token.place: token for token in reversed(self._outline.tokens) if token.role == "key"}

    def span(self, problem: Problem) -> Span:
        """Returns a key that is wrong itself, else a key with what stands behind it in its line, else what begins
        there."""
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
