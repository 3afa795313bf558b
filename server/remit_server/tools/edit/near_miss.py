"""Explains why a text is not in a file: finds the closest place, and says what differs there; pure (TOOL-04)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, islice
from operator import eq

from remit_governance.visible import visible
from remit_server.tools.edit.occurrences import find_all, line_numbers
from remit_server.workspace.line_diff import common_length

_MAX_LINES = 20_000
_MAX_CHARS = 1_000_000
_MAX_NEAR_CHARS = 200_000
"""How many characters of a file are searched for the closest line."""
_MAX_COMPARED = 500_000
"""How many lines are compared in the search for a block of several lines."""
_MAX_MISTAKEN = 100_000
"""The longest text that is checked for the usual mistakes."""
_MAX_LINE_CHARS = 200
_MAX_ANCHORS = 20
_MAX_SHARING = 6
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_ENOUGH = 0.7
_NUMBER = re.compile(r"^ *\d+\|", re.MULTILINE)
_ESCAPED = re.compile(r"""\\([ntr"'\\])""")
_MEANT = {"n": "\n", "t": "\t", "r": ""}
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What is wrong with the wanted text, and what to do, in words for a model."""

    why: str
    fix: str


def explain(content: str, wanted: str, *, whole_word: bool) -> NearMiss:
    """Returns why `wanted` does not occur in `content`. Takes bounded time, however long the two are."""
    if whole_word and (offsets := find_all(content, wanted, whole_word=False)):
        line = line_numbers(content, offsets[:1])[0]
        return NearMiss(f"it occurs only inside longer words, first on line {line}", "leave out whole_word")
    if len(wanted) <= _MAX_MISTAKEN and (mistake := _mistake(content, wanted)):
        return mistake
    lines, parts = content[:_MAX_CHARS].split("\n")[:_MAX_LINES], wanted.strip("\n").split("\n")
    if len(parts) > len(lines):
        return NearMiss(f"it has more lines than the {len(lines)} that were searched", "copy a part of it")
    for what, form in (("white space", _remove_space), ("upper and lower case", _lower_case)):
        if at := _window([form(line) for line in lines], [form(part) for part in parts]):
            shown = "\n".join(line[:_MAX_LINE_CHARS] for line in lines[at - 1 : at - 1 + min(len(parts), 10)])
            return NearMiss(f"only {what} differs from line {at}", f"copy it exactly from the file:\n{shown}")
    if block := _block(lines, parts):
        start, line = block
        shown = "\n".join(each[:_MAX_LINE_CHARS] for each in lines[start - 1 : start - 1 + min(len(parts), 10)])
        there, given = (each.strip()[:_MAX_LINE_CHARS] for each in (lines[line - 1], parts[line - start]))
        why = f"it is close to lines {start}-{start + len(parts) - 1}, but line {line} is `{there}`, not `{given}`"
        return NearMiss(why, f"copy it exactly from the file:\n{shown}")
    near = content[:_MAX_NEAR_CHARS].split("\n")[: len(lines)]
    return NearMiss(_nearest(near, wanted, max(parts, key=len)), "read the file again and copy the text exactly")


def _nearest(lines: list[str], wanted: str, part: str) -> str:
    """Returns a sentence about the closest line, or else about the lines that share a word with the wanted text."""
    if (closest := _closest(lines, part)) is not None:
        return f"the closest line is {closest[0]}: `{closest[1].strip()}`"
    sharing = _sharing(lines, wanted)
    shown = f"; one of its words is on these lines:\n{sharing}" if sharing else ""
    return f"nothing in the file is close to it{shown}"


def _sharing(lines: list[str], wanted: str) -> str:
    """Returns the numbered lines that hold the rarest of the wanted words, as read_file shows them; empty if none
    does."""
    found: dict[str, list[int]] = {word: [] for word in _WORD.findall(wanted[:_MAX_LINE_CHARS])}
    for number, line in enumerate(lines, 1):
        for word in found.keys() & set(_WORD.findall(line)):
            found[word].append(number)
    fewest = min(filter(None, found.values()), key=len, default=list[int]())
    return "\n".join(f"{number}|{lines[number - 1][:_MAX_LINE_CHARS]}" for number in fewest[:_MAX_SHARING])


def _mistake(content: str, wanted: str) -> NearMiss | None:
    """Returns the miss for text that was copied or spelled into `wanted` by one of the usual mistakes and that is not
    in the file; else None."""
    for some in _SOME_MISTAKES:
        meant = wanted
        for each in some:
            meant = each.form.sub(each.becomes, meant)
        if meant and all(each.form.search(wanted) for each in some) and meant in content:
            whys = " and ".join(each.why(wanted) for each in some)
            return NearMiss(f"it has {whys}, which the file does not have", "; ".join(each.fix for each in some))
    lines = [line for line in wanted.split("\n") if line]
    if lines and all(map(_NUMBER.match, lines)) and not _NUMBER.search(content):
        rest = explain(content, _NUMBER.sub("", wanted), whole_word=False)
        why = f"it has {_NUMBERS.why(wanted)}, which the file does not have; without them, {rest.why}"
        return NearMiss(why, f"{_NUMBERS.fix}; then {rest.fix}")
    return None


@dataclass(frozen=True, slots=True)
class _Mistake:
    """A mistake by which models put something into a text that is not in the file."""

    form: re.Pattern[str]
    becomes: str | Callable[[re.Match[str]], str]
    name: str
    fix: str

    def why(self, wanted: str) -> str:
        """Returns the mistake's name and, in backticks, where it is in `wanted`."""
        found = self.form.search(wanted)
        return f"{self.name} `{visible(found[0], 'show')}`" if found else self.name


_NUMBERS = _Mistake(
    _NUMBER, "", "the line numbers that read_file shows, such as", "leave them out, in the new text as well"
)
_MISTAKES = (
    _Mistake(
        _ESCAPED,
        lambda found: _MEANT.get(found[1], found[1]),
        "a backslash and a letter in place of the character itself,",
        r"give the character itself (in JSON a line end is `\n`, not `\\n`), in the new text as well",
    ),
    _NUMBERS,
    _Mistake(_INVISIBLE, "", "an invisible character,", "leave it out"),
)
_SOME_MISTAKES = [some for count in (1, 2, 3) for some in combinations(_MISTAKES, count)]


def _remove_space(line: str) -> str:
    return "".join(line.split())


def _lower_case(line: str) -> str:
    return "".join(line.split()).casefold()


def _window(lines: list[str], parts: list[str]) -> int | None:
    """Returns the first line, from 1, at which `parts` occur: the first part as a line's end, the last as a line's
    start."""
    if not any(parts):
        return None
    if len(parts) == 1:
        return next((number for number, line in enumerate(lines, 1) if parts[0] in line), None)
    first, *middle, last = parts
    ends = (
        at
        for at in range(len(lines) - len(parts) + 1)
        if lines[at].endswith(first) and lines[at + len(parts) - 1].startswith(last)
    )
    tried = islice(ends, max(1, _MAX_COMPARED // len(parts)))
    return next((at + 1 for at in tried if lines[at + 1 : at + len(parts) - 1] == middle), None)


def _block(lines: list[str], parts: list[str]) -> tuple[int, int] | None:
    """Returns where most of several wanted lines are in their order, and the first line that differs, both from 1."""
    where: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        where[line].append(number)
    known = (n for n, part in enumerate(parts) if part.strip() and where.get(part))
    telling = sorted(known, key=lambda n: len(where[parts[n]]))
    starts = dict.fromkeys(number - n for n in telling[:_MAX_ANCHORS] for number in where[parts[n]][:_MAX_ANCHORS])
    best: tuple[int, int] | None = None
    for start in islice(starts, max(1, _MAX_COMPARED // len(parts))):
        if start < 0 or start + len(parts) > len(lines):
            continue
        same = sum(map(eq, lines[start : start + len(parts)], parts))
        if best is None or same > best[0]:
            best = (same, start)
    if best is None or best[0] * 2 < len(parts) or len(parts) == 1:
        return None
    start = best[1]
    return start + 1, start + 1 + next(n for n, part in enumerate(parts) if lines[start + n] != part)


def _closest(lines: list[str], wanted: str) -> tuple[int, str] | None:
    """Returns the line that has the most in common with `wanted`, or None if no line has enough."""
    part = wanted.strip()[:_MAX_LINE_CHARS]
    best: tuple[float, int, str] | None = None
    for number, line in enumerate(lines, 1):
        given = line.strip()[:_MAX_LINE_CHARS]
        likest = 2 * min(len(given), len(part)) / max(1, len(given) + len(part))
        if likest > (_ENOUGH if best is None else best[0]):
            ratio = 2 * common_length(given, part) / (len(given) + len(part))
            if ratio > (_ENOUGH if best is None else best[0]):
                best = (ratio, number, line[:_MAX_LINE_CHARS])
    return None if best is None else best[1:]
