"""Finds what one wish asks for, in six languages: one route, or none if no rule is sure (MOD-23). Pure.

The rules are tried in order, whole phrases first. A rule takes a sentence only if all of it is clear, such as which
file and which text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from remit_server.models.built_in.language.meant import with_subject
from remit_server.models.built_in.language.plain import JOINT, MOST_JOINTS, in_plain_verbs
from remit_server.models.built_in.language.sentences import (
    Sentence,
    is_name,
    read_sentence,
)
from remit_server.models.built_in.language.wished import is_wished, wishes_twice
from remit_server.models.built_in.language.words import with_file_spelled
from remit_server.models.built_in.routes import (
    Define,
    Edited,
    Missing,
    Route,
    Routed,
    Tail,
    ValueOf,
    is_look,
    runs_tests,
)
from remit_server.models.built_in.rules import changing, looking
from remit_server.models.built_in.rules.phrased import take_phrase
from remit_server.models.built_in.rules.terse import take_terse

_CONDITION = re.compile(r"(?:if|unless|when|in case|wenn|falls|si|se|quando|cuando|もし)\b", re.IGNORECASE)
"""Words that begin a conditional sentence, which no rule takes, because no rule checks conditions."""
_NEGATED = re.compile(
    r"\b(?:do(?:es)?(?: not|n['’]?t)|is(?: not|n['’]t)|not|except|unless|nicht|kein\w*|außer|pas|sauf|excepto|salvo|"
    r"tranne|eccetto|non)\b|ない|以外",
    re.IGNORECASE,
)
"""Words of negation. A rule that looks for single words would overlook them and do what is not meant."""
_SECTION = re.compile(r"\b(?:section|paragraph|chapter|abschnitt|absatz|kapitel|secci[oó]n|sezione)\b", re.IGNORECASE)
"""Words for a part of a file that no rule can find."""
_SECOND_QUESTION = re.compile(
    r"\band (?:also )?(?:what|which|why|how|who|explain|describe|summari[sz]e|tell|say|do they|does it)\b"
    r"|\bund (?:was|welche[rs]?|warum|wie|wer|erkl[äa]re?|beschreibe?|sage?)\b"
    r"|\bet (?:que|quel(?:le)?s?|pourquoi|comment|qui|explique|d[ée]cris|dis)\b"
    r"|\by (?:qu[ée]|cu[áa]l(?:es)?|por qu[ée]|c[óo]mo|qui[ée]n|explica|describe|dime)\b"
    r"|\be (?:che|cosa|qual[ei]|perch[ée]|come|chi|spiega|descrivi|dimmi)\b",
    re.IGNORECASE,
)
"""Matches a second question, which a list of files or the text of a file does not answer."""
MOST_CHARS = 600
"""The most characters of a sentence that rules look at; a longer one is not simple."""


def route(text: str, files: AbstractSet[str]) -> Route:
    """Returns what a sentence asks for, or None if no rule takes it. If none does, a plain word may name a file ("in
    settings"), but not one that is deleted, moved or made."""
    return _routed(text, frozenset(files)) if may_be_wish(text) else None


def may_be_wish(text: str) -> bool:
    """Returns whether rules look at a sentence: one line of at most `MOST_CHARS`, so that looking takes no time."""
    return (line := text.strip()) != "" and "\n" not in line and len(text) <= MOST_CHARS


@lru_cache(maxsize=256)  # the parts of a sentence are routed again and again: for each joint, and at each step
def _routed(text: str, files: frozenset[str]) -> Route:
    found = _route(text, files)
    match found:
        case None | Missing(guessed=True) | Define(path=None):
            named = with_file_spelled(text, files)
        case _:
            return found
    match again := None if named is None else _route(named, files):
        case Routed(tool="read_file"):
            return again
        case Edited() | Routed(tool="edit_file") if not isinstance(found, Define):
            return again
        case look if is_look(look) and not isinstance(found, Define):
            return again
        case _:
            return found


def _route(text: str, files: AbstractSet[str]) -> Route:
    text = in_plain_verbs(text)
    if _CONDITION.match(text.strip()) or _SECTION.search(text):
        return None
    said = read_sentence(with_subject(read_sentence(text.strip(), files)), files)
    if wishes_twice(said):
        return None
    found = _ask_which(said, text, files) if said.alike else take_phrase(said) or _take_words(said) or take_terse(said)
    return found if _is_meant(found, said) and not _leaves_out(text, found, files) else None


_TELLS = re.compile(r"\d|[\"'`“«„]")
_DOES = re.compile(
    r"(?:also |please |then )?(?:run|execute|start|delete|remove|add|create|rename|move|replace|f[üu]hre?|starte|"
    r"l[öo]sche|lance|ex[ée]cute|ejecuta|corre|esegui|lancia)\b(?! (?:it|them|that|this|all)\b)",
    re.IGNORECASE,
)
"""The verb of a wish that does more than look."""


def _leaves_out(text: str, found: Route, files: AbstractSet[str]) -> bool:
    """Returns whether a look, or a run of the tests, is what one side of a joint asks for, and the other side tells a
    name, a number or a text. A part of what is wished would then be left out without a word."""
    joints = list(JOINT.finditer(text)) if is_look(found) or runs_tests(found) else []
    for joined in joints if len(joints) <= MOST_JOINTS else ():
        sides = (text[: joined.start()].strip(), text[joined.end() :].strip())
        for side, other in (sides, sides[::-1]):
            tells = _TELLS.search(other) or any(map(is_name, re.findall(r"\w+", other))) or _DOES.match(other)
            if tells and route(side, files) == found != route(other, files):
                return True
    return False


def _is_meant(found: Route, said: Sentence) -> bool:
    """Returns whether a sentence asks for the route that was found, and for nothing else."""
    match found:
        case Routed(tool="list_files") if said.files:  # it asks for something in that file
            return False
        case ValueOf() | Tail() | Routed() if is_look(found):
            return _SECOND_QUESTION.search(said.bare) is None
        case Routed(tool=tool, arguments=arguments):
            answers = tool == "run_tests" or str(arguments.get("command")).startswith(("git log", "git show"))
            return is_wished(said, answers=answers)
        case Edited():
            return is_wished(said)
        case _:
            return True


def _take_words(said: Sentence) -> Route:
    found = (rule(said) for rule in _RULES)
    return None if _NEGATED.search(said.bare) else next((each for each in found if each is not None), None)


def _ask_which(said: Sentence, text: str, files: AbstractSet[str]) -> Route:
    """Asks which of several files with one name is meant, if everything else in the sentence is clear."""
    name = said.alike[0].rpartition("/")[2]
    named = re.sub(rf"(?<![\w./-]){re.escape(name)}", said.alike[0], text, count=1)
    return None if route(named, files) is None else Missing(f"Which file: {' or '.join(said.alike[:4])}?")


_RULES: Sequence[Callable[[Sentence], Route]] = (
    looking.take_help, looking.take_git, looking.take_shell, looking.take_run, changing.take_move,
    changing.take_rename, changing.take_replace, changing.take_remove, changing.take_delete, changing.take_insert,
    changing.take_set_value, changing.take_create, looking.take_search, looking.take_list, looking.take_show,
)  # fmt: skip
"""The rules for single words, in the order in which they are tried; the first that takes a sentence wins."""
