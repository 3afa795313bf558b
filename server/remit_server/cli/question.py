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
"""Short names of the keys, because a line of 80 columns has to hold them. `?` shows the keys that write a rule."""
FOR_GOOD = frozenset({Scope.ALWAYS, Scope.EVERYWHERE})
"""Answers that write a rule, which the person has to see first (APP-04)."""

PARTS = ("p", "parts")
"""The key and the word to answer part by part."""
DETAILS = ("?", "details")
"""The key and the word to see which rules ask, and what each answer would remember."""
WITH_WORDS = "N"
"""The key for a no with words for the model."""
BECAUSE = "No, because: "
MAX_COMMENT = 2_000
"""The most characters of these words."""
_KEYS = {word: key for key, word in (*CHOICES.values(), PARTS, DETAILS, ("n", "no"), ("x", "leave"), ("r", "rest"))}


def key_of(typed: str) -> str:
    """Returns the key for a typed line, which is a key or its word. Case counts only for `N`."""
    return typed if typed == WITH_WORDS else _KEYS.get(typed.lower(), typed.lower())


def offers(question: ApprovalRequired, *, parts: bool, detailed: bool) -> str:
    """Returns the line that says what each key means."""
    shown = [f"[{CHOICES[scope][0]}] {name}" for scope, name in SHORT.items() if scope in question.scopes]
    more = "  [p] parts" if parts else ""
    details = "" if detailed else "  [?] more"
    keys = "/".join(CHOICES[scope][0] for scope in CHOICES if scope in FOR_GOOD and scope in question.scopes)
    for_good = f"  [{keys}] always" if detailed and keys else ""
    return f"allow? {'  '.join(shown)}{for_good}{more}{details}  [n/N] no"


QUIET_S: Final = 0.4
"""Seconds without a key, and since the question was shown, before a key answers, because nobody reads faster."""

FEW_ROWS: Final = 3


@dataclass(slots=True)
class Question:
    """One question. `unseen` are the lines that were not shown yet; times are in seconds.

    `details` are the lines that `?` shows, once: which rules ask, and what answers would remember. No rule is written
    before they were shown (APP-04). `words` is whether the person types why they say no.
    `parts` are the parts that can be taken one by one, with their lines; `ahead` are those still to be answered after
    the person chose to answer part by part, and `left_out` those that they did not take.
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
        """Takes the next lines to be shown, as many as fit the rows, at least one. `height` returns a line's rows."""
        heights = list(itertools.accumulate(map(height, self.unseen)))
        count = max(1, bisect.bisect_right(heights, rows))
        # A few more lines are not worth a key, so they are shown with this page.
        count = len(heights) if heights[-1] <= rows + FEW_ROWS else count
        page, self.unseen = self.unseen[:count], self.unseen[count:]
        self.shown_at = now
        return page

    def press(self, key: str, now: float) -> ApprovalAnswer | None:
        """Returns the answer that a key gives, or None if it gives none."""
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
        """Handles a key for the whole question; if its answer would write a rule, the rule is shown first."""
        chosen = next((scope for scope in CHOICES if scope in self.asked.scopes and CHOICES[scope][0] == key), None)
        if chosen in FOR_GOOD and self.details:
            self._show_details()
            return None
        return None if chosen is None else self.answer(chosen)

    def _show_details(self) -> None:
        """Puts the details before the lines that were not shown yet, so that they come next."""
        self.unseen, self.details = [*self.details, *self.unseen], []

    def _press_for_part(self, key: str) -> ApprovalAnswer | None:
        """Handles a key for the part that is asked about; returns the answer after the last part, or for the rest."""
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
        """The line that says what each key means now."""
        if self.unseen:
            count = len(self.unseen)
            return f"{counted(count, 'more line')}: [space] next page  [g] all of it  [n] no"
        if self.ahead:
            number = len(self.parts) - len(self.ahead) + 1
            return f"part {number} of {len(self.parts)}? [y] take it  [x] leave it out  [r] the rest  [n] no to all"
        return offers(self.asked, parts=bool(self.parts), detailed=not self.details)
