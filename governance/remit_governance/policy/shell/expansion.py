"""Words that are known only when the line runs (vague words), and the programs for which they are harmless (CMD-02).

A vague word that may become the program, an important option or a file that is written remains a doubt.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from remit_governance.policy.shell.effects.judging import effect_of
from remit_governance.policy.shell.programs import is_known_place, takes_any_file
from remit_governance.policy.shell.words import Word
from remit_governance.policy.shell.wrappers import Layers

_INERT = frozenset({"echo", "basename", "dirname", "true", ":"})
"""Programs that do nothing with their arguments but show them."""
_READ_PLACES = frozenset({"file", "find", "jq", "rg", "tree", "shellcheck"})
"""Further programs that only read the file or folder that a vague word names, because such a word begins with no
dash."""
_LOOKS = frozenset({"-n", "-z", "-d", "-e", "-f", "-h", "-L", "-r", "-s", "-w", "-x"})
_COMPARES = frozenset({"=", "!=", "=="})
_RECKONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_TAKES_COUNT = frozenset({"-j", "--jobs", "-n", "--parallel", "--workers", "--threads"})
_TEXT_FORMAT = re.compile(r"(?!-)(?:[^%]|%%|%-?\d*s)+")
"""A format of `printf` for text alone; for a number some shells would evaluate the argument as an expression."""
_TALKS = frozenset({"commit", "merge", "notes", "stash", "tag"})
_BEFORE_MESSAGES = frozenset({"-a", "-q", "-m", "--message", "--amend", "--allow-empty", "--no-ff", "-u"})


def unclear(words: Sequence[Word], layers: Layers) -> Iterator[str]:
    """Yields, for each vague word of a command that is not harmless in its place, why it is not known."""
    if not any(word.vague for word in words):
        return
    plain = layers.commands == [tuple(words)] and not (layers.wrappers or layers.scripts)
    plain = plain and is_known_place(words[0].text)
    for at, word in enumerate(words):
        if word.vague and not (plain and _taken(words, at)):
            yield word.why


def _taken(words: Sequence[Word], at: int) -> bool:
    """Returns whether this word is harmless, whatever it becomes."""
    program, word = posixpath.basename(words[0].text), words[at]
    if at == 0 or program in _INERT:
        return at > 0
    if program == "printf":
        return at > 1 and not words[1].vague and _TEXT_FORMAT.fullmatch(words[1].text) is not None
    if program in {"test", "["}:
        return not word.split and _tests(words[1:])
    if program == "git" and not word.split and _says(words, at):
        return True
    return _takes(words, at, program)


def _takes(words: Sequence[Word], at: int, program: str) -> bool:
    """Returns whether a number or a place, neither of which begins with a dash, is harmless for the program here."""
    word = words[at]
    if word.vague == "number":
        return takes_any_file(program) or word.text.startswith("-") or words[at - 1].text in _TAKES_COUNT
    if program == "git":
        return word.vague == "place" and not word.split and _only_reads(words, at)
    return word.vague == "place" and (takes_any_file(program) or (program in _READ_PLACES and not word.split))


def _only_reads(words: Sequence[Word], at: int) -> bool:
    """Returns whether the word is an operand of a subcommand of git that only reads; the word begins with no dash."""
    return at > 1 and words[1].text[:1] != "-" and effect_of(tuple(word.text for word in words)) == "reads"


def _tests(words: Sequence[Word]) -> bool:
    """Returns whether it is certain which word is the operator of a test, and that the test only compares or looks for
    a file."""
    texts = [None if word.vague else word.text for word in words]
    if texts[-1:] == ["]"]:
        texts = texts[:-1]
    match texts:
        case [_]:
            return True
        case [operator, _]:
            return operator in _LOOKS
        case [_, operator, _]:
            return operator in _COMPARES or (operator in _RECKONS and all(map(_is_number, (words[0], words[2]))))
        case _:
            return False


def _is_number(word: Word) -> bool:
    return word.vague == "number" or (not word.vague and word.text.isdigit())


def _says(words: Sequence[Word], at: int) -> bool:
    """Returns whether the word is the text of a message of git, as after `git commit -m`."""
    before = words[2 : at - 1]
    known = all(word.text[:1] != "-" or word.text in _BEFORE_MESSAGES for word in before)
    if len(words) < 3 or words[1].text not in _TALKS or not known or any(word.vague for word in words[1:at]):
        return False
    return words[at - 1].text in {"-m", "-am", "--message"} or words[at].text.startswith("--message=")
