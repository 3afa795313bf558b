"""What a sentence asks for, in six languages: one route, or none where no rule is sure of it (MOD-23). Pure.

The rules stand in their order, whole phrases first. A rule takes a sentence only where all of it is clear: which file,
which text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from remit_server.models.built_in import changing, looking
from remit_server.models.built_in.meant import with_subject
from remit_server.models.built_in.phrased import take_phrase
from remit_server.models.built_in.routes import Edited, Missing, Route, Routed
from remit_server.models.built_in.sentences import Sentence, read_sentence
from remit_server.models.built_in.wished import is_wished, wishes_twice

_LOOKS = frozenset({"read_file", "search_files", "list_files", "get_symbols", "git_status", "git_diff"})
_CONDITION = re.compile(r"(?:if|unless|when|in case|wenn|falls|si|se|quando|cuando|もし)\b", re.IGNORECASE)
"""What begins so is done only where something holds, which no rule looks at."""
_NEGATED = re.compile(
    r"\b(?:do(?:es)?(?: not|n['’]?t)|is(?: not|n['’]t)|not|except|unless|nicht|kein\w*|außer|pas|sauf|excepto|salvo|"
    r"tranne|eccetto|non)\b|ない|以外",
    re.IGNORECASE,
)
"""What is not meant: a rule that looks for words would take it for what is."""
_SECTION = re.compile(r"\b(?:section|paragraph|chapter|abschnitt|absatz|kapitel|secci[oó]n|sezione)\b", re.IGNORECASE)
"""A part of a file that no rule finds."""
_SECOND_QUESTION = re.compile(
    r"\band (?:also )?(?:what|which|why|how|who|explain|describe|summari[sz]e|tell|say|do they|does it)\b"
    r"|\bund (?:was|welche[rs]?|warum|wie|wer|erkl[äa]re?|beschreibe?|sage?)\b"
    r"|\bet (?:que|quel(?:le)?s?|pourquoi|comment|qui|explique|d[ée]cris|dis)\b"
    r"|\by (?:qu[ée]|cu[áa]l(?:es)?|por qu[ée]|c[óo]mo|qui[ée]n|explica|describe|dime)\b"
    r"|\be (?:che|cosa|qual[ei]|perch[ée]|come|chi|spiega|descrivi|dimmi)\b",
    re.IGNORECASE,
)
"""What a list of files or the text of one does not answer."""
MOST_CHARS = 600
"""A longer sentence is no simple one."""


def route(text: str, files: AbstractSet[str]) -> Route:
    """Returns what a sentence asks for; None where no rule takes it."""
    if not text.strip() or len(text) > MOST_CHARS or "\n" in text.strip():
        return None
    if _CONDITION.match(text.strip()) or _SECTION.search(text):
        return None
    said = read_sentence(with_subject(read_sentence(text.strip(), files)), files)
    if wishes_twice(said):
        return None
    found = _ask_which(said, text, files) if said.alike else take_phrase(said) or _take_words(said)
    return found if _is_meant(found, said) else None


def _is_meant(found: Route, said: Sentence) -> bool:
    """Returns whether a sentence asks for what was found in it, and for nothing besides."""
    match found:
        case Routed(tool=tool) if tool in _LOOKS:
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
    """Asks which of several files of one name is meant, where the sentence is clear but for that."""
    name = said.alike[0].rpartition("/")[2]
    named = re.sub(rf"(?<![\w./-]){re.escape(name)}", said.alike[0], text, count=1)
    return None if route(named, files) is None else Missing(f"Which file: {' or '.join(said.alike[:4])}?")


_RULES: Sequence[Callable[[Sentence], Route]] = (
    looking.take_help, looking.take_git, looking.take_shell, looking.take_run, changing.take_move,
    changing.take_rename, changing.take_replace, changing.take_remove, changing.take_delete, changing.take_insert,
    changing.take_set_value, changing.take_create, looking.take_search, looking.take_list, looking.take_show,
)  # fmt: skip
"""In this order; the first that takes a sentence has it."""
