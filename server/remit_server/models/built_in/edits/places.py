"""Finds the line of a file that an edit names, by its number, its text or what it begins (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from remit_server.models.built_in.edits.kinds import NoPlace
from remit_server.models.built_in.edits.line_edits import AmongImports, AtLine, Beside

_IMPORT = re.compile(r"(?:import|from|use|require)\b *[^\s=.:)]|#include\b|(?:const|let|var) .*require\(")
_DEFINITION = re.compile(r"(?:async def|def|class|function|fn|func|export)\b|@")


def numbered(number: int, lines: Sequence[str]) -> int:
    """Returns the number of a line, counted from 1; a negative one counts from the end. Raises NoPlace if there is no
    such line."""
    at = len(lines) + 1 + number if number < 0 else number
    if not 1 <= at <= len(lines):
        raise NoPlace(f"the file has {len(lines)} lines")
    return at


def _place(place: AtLine | Beside | AmongImports, lines: Sequence[str]) -> int:
    """Returns the number of the line before which the new one goes; for the end, the number of lines plus one."""
    match place:
        case AtLine(number=0):
            return len(lines) + 1
        case AtLine(number=number):
            if not 1 <= number <= len(lines) + 1:
                raise NoPlace(f"the file has {len(lines)} lines")
            return number
        case Beside(text=text, after=after):
            return only_line(lines, text) + after
        case AmongImports():
            return _after_imports(lines)
        case _:
            assert_never(place)


def free_place(path: str, place: AtLine | Beside | AmongImports, lines: Sequence[str]) -> int:
    """Returns the number of the line before which the new one can go. Raises NoPlace if no line can go there."""
    before = _place(place, lines)
    if path.lower().endswith(".json") and not 1 < before <= len(lines):
        raise NoPlace("a new line has to be inside its outermost brackets")
    named = before > 1 and (isinstance(place, Beside) or (isinstance(place, AtLine) and 0 < place.beside < before))
    if named and lines[before - 2].rstrip().endswith("("):
        raise NoPlace("that line begins something that continues below it")
    return 2 if before == 1 and lines and lines[0].startswith("#!") else before


def indent_at(place: AtLine | Beside | AmongImports, before: int, lines: Sequence[str]) -> str:
    """Returns the indentation of the line that the sentence names; a new line beside it belongs to the same block."""
    match place:
        case AtLine(number=number, beside=beside) if number > beside > 0:
            line = _block_of(lines, beside)
        case AtLine(number=number, beside=beside) if number and beside:
            line = lines[beside - 1] if beside <= len(lines) else ""
        case Beside(after=after):
            line = _block_of(lines, before - 1) if after else lines[before - 1]
        case _:
            line = ""
    return line[: len(line) - len(line.lstrip())]


def _block_of(lines: Sequence[str], number: int) -> str:
    """Returns a line of the block that a new line below this one belongs to: the next line if this one opens a block,
    or else this line itself."""
    line, below = (lines[at - 1] if at <= len(lines) else "" for at in (number, number + 1))
    opens = line.rstrip().endswith((":", "{", "[", "("))
    return below if opens and below.startswith(f"{line[: len(line) - len(line.lstrip())]} ") else line


def _after_imports(lines: Sequence[str]) -> int:
    """Returns the number of the line after the imports at the top, or after the docstring if there are none."""
    start = _after_docstring(lines)
    last = start - 1
    for at in range(start, len(lines)):
        line = lines[at]
        goes_on = last == at - 1 >= start and (line[:1].isspace() or line.startswith((")", "}")))
        if _IMPORT.match(line) or (goes_on and line.strip()):
            last = at
        elif _DEFINITION.match(line) or (last >= start and line.strip() and not line.startswith(("#", "//"))):
            break
    return last + 2


def _after_docstring(lines: Sequence[str]) -> int:
    """Returns the index of the first line after the comments and the docstring that a file begins with."""
    at = 0
    while at < len(lines) and (lines[at].startswith("#") or not lines[at].strip()):
        at += 1
    if at < len(lines) and (quotes := re.match(r'"""|\'\'\'', lines[at])):
        ends = (
            n for n in range(at, len(lines)) if lines[n].count(quotes[0]) == 2 or (n > at and quotes[0] in lines[n])
        )
        at = next(ends, at) + 1
    return at


def only_line(lines: Sequence[str], text: str) -> int:
    """Returns the number of the one line that has this text: the line that is the text, or else holds it, or else holds
    it in other letters. Raises NoPlace if there is none, or several."""
    exact = [number for number, line in enumerate(lines, 1) if line.strip() == text.strip()]
    found = exact or [number for number, line in enumerate(lines, 1) if text in line]
    found = found or [number for number, line in enumerate(lines, 1) if text.lower() in line.lower()]
    if len(found) > 1:  # prefer the line that begins with the text, because it sets, defines or imports that name
        begins = re.compile(rf"\s*(?:import |def |class |const |let |var )?[\"']?{re.escape(text)}\b")
        found = [number for number in found if begins.match(lines[number - 1])] or found
    if len(found) != 1:
        raise NoPlace(f"no line has the text `{text}`" if not found else f"{len(found)} lines have this text")
    return found[0]


def below_header(lines: Sequence[str], name: str) -> int:
    """Returns the number of the line below the header of a function or class that has no docstring."""
    header = re.compile(rf"\s*(?:async )?(?:def|class) {re.escape(name)}\b")
    found = [number for number, line in enumerate(lines, 1) if header.match(line)]
    if len(found) != 1:
        raise NoPlace(
            f"`{name}` is not defined in this file" if not found else f"`{name}` is defined {len(found)} times"
        )
    at = next((number for number in range(found[0], len(lines)) if lines[number - 1].rstrip().endswith(":")), 0)
    if not at or not lines[at].strip():
        raise NoPlace(f"I cannot tell where the body of `{name}` begins")
    if re.match(r"\s*[rRuU]?[\"']", lines[at]):
        raise NoPlace(f"`{name}` has a docstring already")
    return at + 1


def entry_line(lines: Sequence[str], name: str) -> int:
    """Returns the number of the one line that is this entry of a list. A bullet or a checkbox may stand before the
    entry, and the rest of a requirement after it ("flask>=2 ; python_version > '3'")."""
    entry = re.compile(
        rf"\s*(?:[-*+•]\s+)?(?:\[[ xX]?\]\s+)?{re.escape(name)}\s*(?:\[[^\]]*\]\s*)?(?:(?:[=<>~!]=?|===)\s*[\w.*].*)?",
        re.IGNORECASE,
    )
    found = [number for number, line in enumerate(lines, 1) if entry.fullmatch(line.partition(" #")[0].rstrip())]
    if len(found) != 1:
        raise NoPlace(f"no line consists of `{name}` alone" if not found else f"{len(found)} lines are `{name}`")
    return found[0]
