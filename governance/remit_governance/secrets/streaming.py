"""Redacts a text that comes in pieces, such as a model's answer, before all of it is there (SEC-06).

Words are given out once they are whole. A line in which a secret may stand is given out once the line is whole, and a
private key once it has ended. What is given out is never taken back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from remit_governance.secrets.redaction import Redactor

MOST_HELD = 16_000
"""The most characters that are held back."""
_WORDS = re.compile(r"[\s\S]*(?:\s|[^\x00-\x7f])")
"""Everything up to the end of the last whole word. No token has a character beyond ASCII, so one ends a word."""
_OPEN_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?!(?s:.)*-----END [A-Z0-9 ]*-----[^\n]*\n)")


@dataclass(slots=True)
class StreamedText:
    """Takes the pieces of one text and returns what may be shown by then."""

    redactor: Redactor
    _held: str = ""

    def take(self, more: str) -> str:
        """Takes the next piece; returns what is certain now, redacted."""
        self._held += more
        end = self._settled()
        ready, self._held = self._held[:end], self._held[end:]
        return self.redactor.redact(ready) if ready else ""

    def rest(self) -> str:
        """Returns what is left, redacted; called when no more will come."""
        ready, self._held = self._held, ""
        return self.redactor.redact(ready) if ready else ""

    def _settled(self) -> int:
        """Returns how many of the characters held back can be given out."""
        if len(self._held) > MOST_HELD:
            return len(self._held)
        key = _OPEN_KEY.search(self._held)
        if key is not None:
            return self._held.rfind("\n", 0, key.start()) + 1
        lines = self._held.rfind("\n") + 1
        words = _WORDS.match(self._held, lines)
        plain = words is not None and "-----" not in words[0] and self.redactor.finds_nothing([words[0]])
        return words.end() if words is not None and plain else lines
