"""Guesses which number or version within a line is changed, where no setting has the name (MOD-29). Pure.

"bump flask to 3.0.3" changes `flask==3.0.2`, and "12 g salt, 11 is too bland" changes `- 11 g salt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remit_server.models.built_in.guesses.evidence import FileLine, Ranked, rank
from remit_server.models.built_in.guesses.guess import Guess, quoted
from remit_server.models.built_in.guesses.words import Wording, stems

_NUMBER = re.compile(r"(?<![\w.])v?\d[\d_.]*(?:-[a-z]\w*)?(?:(?:ms|[smhd])\b)?(?<!\.)")
_ALONE = re.compile(r"(?<![\w,;:/=.-])v?\d[\w.-]*(?![\w,;:/=]\w)")
"""A number that is no part of a longer text, such as a row of a table."""
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:-\w+)?|\d+-[a-z]\w*")


def guess_in_line(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the line that has most of a sentence's words, with one of its numbers changed to the sentence's literal:
    the number that the sentence names as the old one, the one beside a word of the sentence, or the only one."""
    alone = set(_ALONE.findall(wording.rest))
    numbers = [
        each for each in wording.literals if _NUMBER.fullmatch(each) and (each in alone or wording.beside_literal)
    ]
    best = _best(wording, lines)
    if best is None or not 1 <= len(numbers) <= _OLD_AND_NEW:
        return
    line = best.line
    inside = list(_NUMBER.finditer(line.text))
    old = [found for found in inside if found[0] in numbers]
    new = [each for each in numbers if all(found[0] != each for found in old)]
    if len(new) != 1 or (len(numbers) == _OLD_AND_NEW and len(old) != 1):
        return
    at = (old if len(numbers) == _OLD_AND_NEW else None) or _beside(wording, inside, line.text) or inside
    at = [found for found in at if (_VERSION.fullmatch(found[0]) is None) == (_VERSION.fullmatch(new[0]) is None)]
    if len(at) == 1 and (told := _changed(line, at[0], new[0])) is not None:
        clear = bool(old) or bool(_beside(wording, at, line.text)) or len(inside) == 1
        yield Guess(told, sure=clear and len(best.words) > (0 if wording.said.files else 1))


_OLD_AND_NEW = 2


def _best(wording: Wording, lines: Sequence[FileLine]) -> Ranked | None:
    with_number = [line for line in lines if _NUMBER.search(line.text) and wording.beside_literal <= stems(line.text)]
    ranked = [each for each in rank(wording, with_number) if any(map(str.isalpha, each.words))]
    clear = ranked and (len(ranked) == 1 or ranked[0].share > ranked[1].share)
    return ranked[0] if clear else None


def _beside(wording: Wording, numbers: Sequence[re.Match[str]], text: str) -> list[re.Match[str]]:
    """Returns the numbers that follow a word of the sentence, with nothing but signs between."""
    before = ((found, re.search(r"([\w-]+)\W{0,4}$", text[: found.start()])) for found in numbers)
    return [found for found, word in before if word and stems(word[1]) & {*wording.words, *_parts(wording)}]


def _parts(wording: Wording) -> frozenset[str]:
    return frozenset(part for name in wording.names for part in stems(name))


def _changed(line: FileLine, at: re.Match[str], new: str) -> str | None:
    whole = quoted(f"{line.text[: at.start()]}{new}{line.text[at.end() :]}".strip())
    return None if whole is None else f"change line {line.number} of {line.path} to {whole}"
