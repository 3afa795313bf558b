"""A question at the terminal: page by page, answered by a key, and only after its end was seen (CLI-07); pure."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.counted import counted
from remit_server.harness.approval.shown_parts import Part, wire_parts

CHOICES: Mapping[Scope, tuple[str, str]] = {
    Scope.ONCE: ("y", "yes"),
    Scope.SESSION: ("s", "session"),
    Scope.EDITS: ("f", "files"),
    Scope.ALWAYS: ("a", "always"),
    Scope.EVERYWHERE: ("e", "everywhere"),
}
"""For each scope the key and the word that choose it: the same on every surface (docs/keys.md)."""

SHORT: Mapping[Scope, str] = {Scope.ONCE: "once", Scope.SESSION: "session", Scope.EDITS: "all edits"}
"""What the keys are called: a line of 80 columns has to hold all. Those for good come with `?`, and their rules."""
FOR_GOOD = frozenset({Scope.ALWAYS, Scope.EVERYWHERE})
"""Answers that write a rule, which has to be seen first (APP-04)."""

PARTS = ("p", "parts")
"""What is typed to answer part by part."""
DETAILS = ("?", "details")
"""What is typed to see which rules ask, and what each answer would remember."""
WITH_WORDS = "N"
"""What is typed for a no with words for the model."""
BECAUSE = "No, because: "
MAX_COMMENT = 2_000
"""Characters of these words."""
_KEYS = {word: key for key, word in (*CHOICES.values(), PARTS, DETAILS, ("n", "no"), ("x", "leave"), ("r", "rest"))}


def key_of(typed: str) -> str:
    """Returns the key that a typed line means: the key itself, or its word. Only for `N` the case counts."""
    return typed if typed == WITH_WORDS else _KEYS.get(typed.lower(), typed.lower())


def offers(question: ApprovalRequired, *, parts: bool, detailed: bool) -> str:
    """Returns which keys mean what."""
    shown = [f"[{CHOICES[scope][0]}] {name}" for scope, name in SHORT.items() if scope in question.scopes]
    more = "  [p] parts" if parts else ""
    details = "" if detailed else "  [?] more"
    keys = "/".join(CHOICES[scope][0] for scope in CHOICES if scope in FOR_GOOD and scope in question.scopes)
    for_good = f"  [{keys}] always" if detailed and keys else ""
    return f"allow? {'  '.join(shown)}{for_good}{more}{details}  [n/N] no"


QUIET_S: Final = 0.4
"""Seconds without a key, and since it was shown, before a key answers: nobody reads faster."""

FEW_ROWS: Final = 3


@dataclass(slots=True)
class Question:
    """One question. `unseen` are the lines that were not shown yet; times are seconds.

    `details` are the lines that `?` shows, once: which rules ask, and what answers would remember; before a rule was
    shown, none is written (APP-04). `words` is whether the person types why they say no.
    `parts` are what can be taken one by one, with their lines; `ahead` those still to be answered once the person
    chooses among them, of which `left_out` are not taken.
    """

    asked: ApprovalRequired
    unseen: list[str]
    shown_at: float
    parts: Mapping[Part, list[str]] = field(default_factory=dict[Part, "list[str]"])
    details: list[str] = field(default_factory=list[str])
    words: bool = False
    key_at: float = field(default=0.0)
    ahead: list[Part] = field(default_factory=list[Part])
    left_out: list[Part] = field(default_factory=list[Part])

    def next_page(self, rows: int, height: Callable[[str], int], now: float) -> list[str]:
        """Takes the next lines to be shown, as many as the rows hold; at least one. `height` is a line's, in rows."""
        heights = list(itertools.accumulate(map(height, self.unseen)))
        count = max(1, bisect.bisect_right(heights, rows))
        # A page of two lines is not worth a key: they are shown with this one.
        count = len(heights) if heights[-1] <= rows + FEW_ROWS else count
        page, self.unseen = self.unseen[:count], self.unseen[count:]
        self.shown_at = now
        return page

    def press(self, key: str, now: float) -> ApprovalAnswer | None:
        """Returns the answer that a key gives; None where it gives none, yet or at all."""
        quiet = now - max(self.shown_at, self.key_at) >= QUIET_S
        self.key_at = now
        if not quiet:
            return None
        if key in {"n", "escape"}:
            return self.answer(None)
        if key == "N":
            self.words = True
        elif key == "?" and self.details:
            self._show_details()
        elif self.unseen:
            return None
        elif self.ahead:
            return self._press_for_part(key)
        elif key == "p" and self.parts:
            self._turn_to(list(self.parts))
        else:
            return self._press_for_scope(key)
        return None

    def _press_for_scope(self, key: str) -> ApprovalAnswer | None:
        """Takes a key for the whole; one whose answer would write a rule shows the rule first."""
        chosen = next((scope for scope in CHOICES if scope in self.asked.scopes and CHOICES[scope][0] == key), None)
        if chosen in FOR_GOOD and self.details:
            self._show_details()
            return None
        return None if chosen is None else self.answer(chosen)

    def _show_details(self) -> None:
        """Has the details shown next; where the question goes on below, after what was seen of it."""
        self.unseen, self.details = [*self.details, *self.unseen], []

    def _press_for_part(self, key: str) -> ApprovalAnswer | None:
        """Takes a key for the part that is asked about; the last one, or all the rest, make the answer."""
        if key not in {"y", "x", "r"}:
            return None
        self.left_out += self.ahead[:1] if key == "x" else []
        self._turn_to([] if key == "r" else self.ahead[1:])
        return None if self.ahead else self.answer(Scope.ONCE)

    def _turn_to(self, ahead: list[Part]) -> None:
        self.ahead = ahead
        self.unseen = list(self.parts[ahead[0]]) if ahead else []

    def answer(self, scope: Scope | None, comment: str | None = None) -> ApprovalAnswer:
        """Returns a yes for this scope, without what is left out, or a no, with words for the model."""
        return ApprovalAnswer(
            approval_id=self.asked.approval_id,
            decision="deny" if scope is None else "allow",
            scope=scope or Scope.ONCE,
            digest=self.asked.digest,
            left_out=() if scope is None else wire_parts(dict.fromkeys(self.left_out)),
            comment=comment,
        )

    @property
    def line(self) -> str:
        """Which keys mean what now."""
        if self.unseen:
            count = len(self.unseen)
            return f"{counted(count, 'more line')}: [space] next page  [g] all of it  [n] no"
        if self.ahead:
            number = len(self.parts) - len(self.ahead) + 1
            return f"part {number} of {len(self.parts)}? [y] take it  [x] leave it out  [r] the rest  [n] no to all"
        return offers(self.asked, parts=bool(self.parts), detailed=not self.details)
