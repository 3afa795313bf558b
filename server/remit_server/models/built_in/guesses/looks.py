"""Answers a question with the lines that have its words, where no rule knows what it asks for (MOD-29). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit_server.models.built_in.answers import CONNECT, verbatim
from remit_server.models.built_in.guesses.evidence import FileLine, Ranked, rank
from remit_server.models.built_in.guesses.words import Wording

MOST_SHOWN = 6
_LEAST_SHARE = 0.3
_NEAR_BEST = 0.8
_ABOVE, _BELOW = 2, 8
"""How many lines are shown beside a line: more below it, because it may be a heading."""
MORE = f"I follow fixed patterns, and do not read these lines for you. A language model does: {CONNECT}"
_EXPLAINS = re.compile(
    r"\bwhat (?:does|do|is) .* (?:do|for|mean)\b|was macht|que fait|qu[eé] hace|cosa fa|"
    r"\b(?:why|how (?!much|many|long|high|big|old|often|large|tall|far)|explain|describe|summari[sz]e|should|could|"
    r"would|better|best|think|opinion|design|compare|diff(?:erence)?s?|recommend|suggest|review|improve|"
    r"warum|wieso|weshalb|wie (?!viele?|hoch|lang|gro|alt|oft)|erkl[äa]r\w*|beschreib\w*|soll\w*|"
    r"pourquoi|comment|expliqu\w*|d[ée]cri\w*|r[ée]sum\w*|por qu[eé]|c[óo]mo|explic\w*|resum\w*|descri\w*|"
    r"perch[éeè]|come|spieg\w*|riassum\w*|por que|como)\b",
    re.IGNORECASE,
)
"""Words that ask for thoughts, which no line of a file is."""


def may_answer(wording: Wording) -> bool:
    """Returns whether lines of files may answer a question."""
    return bool(wording.words or wording.literals) and _EXPLAINS.search(wording.said.text) is None


def best_lines(wording: Wording, lines: Sequence[FileLine]) -> tuple[Ranked, ...]:
    """Returns the few lines that have most of a question, in the order of the files; none if too many have as much, or
    none has enough."""
    ranked = rank(wording, lines)
    least = max(_LEAST_SHARE, ranked[0].share * _NEAR_BEST) if ranked else 0.0
    best = [each for each in ranked if each.share >= least]
    return tuple(sorted(best, key=lambda each: (each.line.path, each.line.number))) if len(best) <= MOST_SHOWN else ()


def around(line: FileLine) -> tuple[int, int]:
    """Returns the number of the first line to show around a line, and how many."""
    first = max(1, line.number - _ABOVE)
    return first, line.number - first + 1 + _BELOW


def told(best: Sequence[Ranked]) -> str:
    """Returns the answer that shows the lines, and says that they are no more than that."""
    shown = verbatim("\n".join(f"{each.line.path}:{each.line.number}: {each.line.text.strip()}" for each in best))
    return f"These lines have the words of your question, and may answer it:\n\n{shown}\n\n{MORE}"


def told_around(line: FileLine, shown: Sequence[str]) -> str:
    """Returns the answer that shows one line and those around it."""
    text = verbatim("\n".join(shown), line.path)
    return f"{line.path}, line {line.number} has the words of your question, and may answer it:\n\n{text}\n\n{MORE}"


def told_whole(path: str, shown: Sequence[str]) -> str:
    """Returns the answer that shows the beginning of the file that a question names."""
    text = verbatim("\n".join(shown), path)
    return f"No line has the words of your question. {path} begins with:\n\n{text}\n\n{MORE}"
