"""What a model is shown of a document at a cursor, and what of its answer is offered (LSP-12). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from remit_governance.visible import without_hidden
from remit_server.models.ports import Gap

MOST_BEFORE, MOST_AFTER = 6_000, 2_000
"""Characters around the cursor that a model is shown."""
STEP = 1_000
"""What is left out at the beginning grows in steps of so many characters: the model has mostly read the rest before."""
CHARACTERS_PER_TOKEN = 2
"""As few as code has: so many characters of a window are surely read."""
MOST_ANSWER = 2_000

_INDENT = re.compile(r"[ \t]*")


def gap_at(text: str, offset: int, window: int | None = None) -> Gap:
    """Returns the text around an offset, cut at the ends of lines; within one only where it alone is too long.

    `window` are the tokens that the model reads, prompt and answer together, where that is known.
    """
    share = 1.0 if window is None else min(1.0, window * CHARACTERS_PER_TOKEN / (2 * (MOST_BEFORE + MOST_AFTER)))
    most_before, most_after = int(MOST_BEFORE * share), int(MOST_AFTER * share)
    before, after = text[:offset], text[offset:]
    if (over := len(before) - most_before) > 0:
        start = min(-(-over // STEP) * STEP, len(before) - most_before // 2)
        line = before.find("\n", start) + 1
        before = before[line or start :]
    if len(after) > most_after:
        end = after.rfind("\n", 0, most_after)
        after = after[: end if end > 0 else most_after]
    return Gap(before, after)


def redacted_gap(text: str, offset: int, redact: Callable[[str], str], window: int | None = None) -> Gap | None:
    """Returns the text around an offset as `gap_at` does, without its secrets; None where one lies across the offset.

    The whole text is redacted and cut after that: nothing recognises a part of a secret (SEC-01).
    """
    before, after = redact(text[:offset]), redact(text[offset:])
    if redact(text) != before + after:
        return None
    return gap_at(before + after, len(before), window)


def has_ended(answer: str, gap: Gap) -> bool:
    """Returns whether nothing more of an answer would be offered, however it goes on."""
    return len(answer) > MOST_ANSWER or _end(answer, gap) < len(answer)


def fit(answer: str, gap: Gap) -> str:
    """Returns what is offered of an answer; empty where nothing is.

    It ends at a blank line, where the code goes back to the left of the cursor's line, and with that line where more of
    it follows the cursor. Hidden characters are dropped, and what the document has behind the cursor is not repeated.
    """
    clean = without_hidden(answer[:MOST_ANSWER])
    kept = clean[: _end(clean, gap)].rstrip()
    return _without_repeated(kept, without_hidden(gap.after)).rstrip()


def _end(answer: str, gap: Gap) -> int:
    if gap.after.split("\n", 1)[0].strip():
        return _or_all(answer.find("\n"), answer)
    indent = _indent(gap.before.rpartition("\n")[2])
    place = answer.find("\n")
    while place >= 0:
        line_end = answer.find("\n", place + 1)
        line = answer[place + 1 : _or_all(line_end, answer)]
        if line.strip():
            if _indent(line) < indent:
                return place
        elif line_end >= 0:
            return place
        place = line_end
    return len(answer)


def _or_all(place: int, answer: str) -> int:
    return place if place >= 0 else len(answer)


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return 0 if found is None else len(found.group().expandtabs(8))


def _without_repeated(answer: str, after: str) -> str:
    """Cuts off the longest end of an answer that the following text begins with, blank lines between them aside."""
    for follows in (after, after.lstrip()):
        shared = next((n for n in range(min(len(answer), len(follows)), 0, -1) if answer.endswith(follows[:n])), 0)
        if follows[:shared].strip():
            return answer[: len(answer) - shared]
    return answer
