"""What the built-in model does next: the call that a rule makes of the sentence, or the answer that ends the turn
(MOD-23). Pure.

The rules stand in their order: what a sentence asks for, in six languages. A rule takes a sentence only where all of
it is clear: which file, which text. What no rule takes is declined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import assert_never

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in import changing, looking
from remit_server.models.built_in.answers import (
    HELP,
    NO_DEFINITION,
    NOT_FOUND,
    SOME,
    UNCHANGED,
    Beyond,
    Ending,
    answer,
    answer_edit,
    answer_shown,
    beyond,
    bounded,
    decline,
    definitions,
    files_found,
    subject_of,
    taken_in_part,
)
from remit_server.models.built_in.kinds import NoPlace
from remit_server.models.built_in.looking import definition_of
from remit_server.models.built_in.meant import with_subject
from remit_server.models.built_in.phrased import take_phrase
from remit_server.models.built_in.phrases import find_phrases
from remit_server.models.built_in.routes import (
    Define,
    Edited,
    Help,
    Missing,
    Route,
    Routed,
    lines_of,
    plan_edit,
)
from remit_server.models.built_in.sentences import Sentence, read_sentence
from remit_server.models.built_in.wished import is_wished
from remit_server.models.built_in.words import IDENTIFIER, names_file
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, ToolSpec, UserMessage

_EVERYWHERE = re.compile(
    r"\beverywhere|\ball (?:the )?files|\bevery file|throughout|(?:across|in) the (?:whole |entire )?(?:project|repo)|"
    r"überall|in allen dateien|partout|dans tous les fichiers|en todas partes|en todos los archivos|ovunque|"
    r"dappertutto|in tutti i file|すべてのファイル|全ファイル|全部",
    re.IGNORECASE,
)


Offered = Mapping[Intent, tuple[ToolSpec, ...]]
"""For each intent the tools that it opens."""


def next_step(messages: Sequence[Message], offered: Offered, known: AbstractSet[str] | None) -> Routed | Ending:
    """Returns the next call of a rule, what is answered after it, or a question for what is missing.

    It declines what no rule takes, and what needs a tool that is not offered. `known` are the files that may be named;
    in a tree too large to be listed, where it is None, they are what the sentence names.
    """
    turn = turn_of(messages)
    followed = follow_rules(turn, offered, known)
    if followed is not None:
        return followed
    if turn.call is None or turn.call.name in _FILES_SHOWN:
        return _decline(turn, offered, _files_before(turn, known))
    # The files are others than they were when the call was chosen: what it did is told all the same.
    return answer(Routed(Intent.CODE, turn.call.name, turn.call.arguments), turn.result)


def follow_rules(turn: Turn, offered: Offered, known: AbstractSet[str] | None) -> Routed | Ending | None:
    """Returns what a rule makes of the sentence, as `next_step` does; None where no rule takes it."""
    before = _files_before(turn, known)
    followed = _follow(turn.text, turn, offered, before)
    if followed is None and (named := _named_alone(turn.text, before)):
        return _follow(turn.text, turn, offered, before | {named})  # the call says why it cannot be opened
    return followed


def _files_before(turn: Turn, known: AbstractSet[str] | None) -> AbstractSet[str]:
    files = _named_in(turn.text) if known is None else known
    return files if turn.call is None else _before(turn.call, files)


_TESTS_TOO = re.compile(r",? (?:also|even|including|too) (?:in )?(?:the )?tests?$", re.IGNORECASE)
_FILES_SHOWN = frozenset({"read_file", "search_files", "list_files"})
_LOOKS = _FILES_SHOWN | {"get_symbols", "git_status", "git_diff"}


def _decline(turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending:
    """Says what takes a model; of a name that a question is about first where it is defined."""
    said = read_sentence(turn.text.strip()[:MOST_CHARS], files)  # a pasted line may have any length
    name = subject_of(said) if beyond(said) is Beyond.QUESTION else None
    if name is None:
        return Ending(decline(said, _in_quotes(said, files)))
    look = definition_of(name)
    if turn.call is None:
        return look if _is_offered(look, offered) else Ending(decline(said))
    place = answer(look, turn.result)
    if place.text == NOT_FOUND:
        return Ending(f"{NO_DEFINITION.format(name=name)} {decline(said).removeprefix('I stopped: ')}")
    if not place.done:
        return Ending(decline(said))
    return Ending(f"{decline(said)} {place.text.replace('It is', f'`{name}` is', 1)}")


_QUOTABLE = (
    "change_line", "replace", "insert_end", "insert_top", "insert_after", "insert_before", "insert_after_line",
    "insert_before_line", "append_to", "remove_text",
)  # fmt: skip
_TEXTS = ("old", "new", "text", "anchor", "literal")
"""The parts of a phrase that may be any text, so that plain words leave open where they end or what they mean."""


def _in_quotes(said: Sentence, files: AbstractSet[str]) -> str | None:
    """Returns the sentence with its texts in quotes, where a rule takes it so."""
    if any(mark in said.text for mark in '"`“„«「'):
        return None
    for parts in (found for idea in _QUOTABLE for found in find_phrases(idea, said)):
        told = said.text
        for text in (parts[name] for name in _TEXTS if parts.get(name) and name not in parts.quoted):
            told = re.sub(rf"(?<![\w./\"-]){re.escape(text)}(?![\w/\"-]|\.\w)", lambda found: f'"{found[0]}"', told)
        if told != said.text and isinstance(route(told, files), Edited | Routed):
            return told
    return None


def _named_alone(text: str, files: AbstractSet[str]) -> str | None:
    """Returns the one file that a sentence names and that is not among those known: it is not there, or is hidden."""
    said = read_sentence(text.strip()[:MOST_CHARS], files)
    if len(said.paths) != 1 or said.files or not names_file(path := said.paths[0]) or path in said.folders:
        return None
    return path if _is_below(path, text) else None


def _naming(text: str, path: str) -> str:
    """Returns the sentence with the file that it leaves out."""
    return f"{_TESTS_TOO.sub('', text.rstrip(' .!?'))} in {path}"


def _named_in(text: str) -> AbstractSet[str]:
    made = route(text, frozenset())
    creates = isinstance(made, Routed) and made.tool == "write_file"
    named = read_sentence(text, frozenset()).paths
    return frozenset() if creates else frozenset(path for path in named if _is_below(path, text))


def _is_below(path: str, text: str) -> bool:
    """Returns whether a sentence names a path of this folder: `~/a.py` and `/a.py` are not `a.py`."""
    return re.search(rf"(?<![\w/~.\\:]){re.escape(path)}", text) is not None


def _follow(text: str, turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    found = route(text, files)
    match found:
        case Help(about=about):
            return Ending(HELP[about], done=True)
        case Missing(question=question):
            return _seek(found, text, turn, offered, files) if found.sought else Ending(question)
        case Edited():
            return _edit_line(found, turn, offered)
        case Define():
            return _show(found, turn, offered)
        case Routed():
            return _call(found, turn, offered)
        case None:
            return None
        case _:
            assert_never(found)


def _call(routed: Routed, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the one call, or what is answered after it."""
    if turn.call is None:
        return routed if _is_offered(routed, offered) else None
    made = turn.call.name == routed.tool and dict(turn.call.arguments) == dict(routed.arguments)
    return answer(routed, turn.result) if made else None


def _edit_line(edited: Edited, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next of its two calls, the read and the edit, or what is answered after the second."""
    read = Routed(Intent.ANALYZE, "read_file", {"path": edited.path, "limit": MOST_LINES})
    match turn.call:
        case None:
            return read if _is_offered(read, offered) else None
        case ProposedCall(name="edit_file"):
            return answer_edit(edited.edit, turn.result)
        case _ if turn.refused:
            return answer(read, turn.result)
        case _:
            pass
    try:
        step = Routed(Intent.CODE, "edit_file", plan_edit(edited.path, edited.edit, lines_of(turn.result)))
    except NoPlace as why:
        return Ending(f"{UNCHANGED} {str(why)[:1].upper()}{str(why)[1:]}.")
    return step if _is_offered(step, offered) else Ending(UNCHANGED)


MOST_SHOWN_LINES = 80
MOST_LINES = 5_000
"""The most lines that `read_file` shows at once."""


def _show(shown: Define, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next of its two calls, the search and the read, or what is answered after the second."""
    look = definition_of(shown.name, shown.path)
    if turn.call is None:
        return look if _is_offered(look, offered) else None
    if turn.refused:
        return answer(look, turn.result)
    found = definitions(turn.found)
    if not found:
        return Ending(NO_DEFINITION.format(name=shown.name))
    place = found[0]
    if turn.call.name == "read_file":
        return Ending(bounded(answer_shown(place, turn.result)), done=True)
    lines: dict[str, JsonValue] = {"offset": place.line, "limit": MOST_SHOWN_LINES}
    return Routed(Intent.ANALYZE, "read_file", {"path": place.path, **lines})


MOST_NAMED = 5


def _seek(missing: Missing, text: str, turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    """Looks for the one file that a sentence leaves out, by what is to be changed in it; then goes on as if it were
    named."""
    word = re.fullmatch(IDENTIFIER, missing.sought) is not None
    pattern = rf"\b{missing.sought}\b" if word else re.escape(missing.sought)
    look = Routed(Intent.ANALYZE, "search_files", {"pattern": pattern, "context_lines": 0})
    if turn.call is None:
        return look if _is_offered(look, offered) else Ending(missing.question)
    if turn.made > 1:
        return _in_each(text, turn, offered, files)
    if turn.refused:
        return answer(look, turn.result)
    places = files_found(turn.result)
    if not places:
        return Ending(f"I stopped: {missing.sought} was not found.")
    if len(places) > 1 and not _EVERYWHERE.search(text):
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        named = f"The text `{missing.sought}` is in {', '.join(places[:MOST_NAMED])}{more}."
        return Ending(f"{named} Which file? Name it in the sentence, or say `everywhere`.")
    return _follow(_naming(text, places[0]), replace(turn, call=None), offered, files)


def _in_each(text: str, turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    """Goes on with the file of the last call, then with the next one in which the text was found."""
    assert turn.call is not None
    path, places = str(turn.call.arguments.get("path")), files_found(turn.found)
    if path not in places:
        return None
    came = _follow(_naming(text, path), turn, offered, files)
    at = places.index(path) + 1
    if not isinstance(came, Ending) or not came.done or at == len(places) or not _EVERYWHERE.search(text):
        return came if at == 1 or not isinstance(came, Ending) else _told(came, turn, places[:at])
    return _follow(_naming(text, places[at]), replace(turn, call=None), offered, files)


def _told(came: Ending, turn: Turn, places: Sequence[str]) -> Ending:
    """Returns what is answered where several files were to be changed: all of them, or those before the last, which
    failed."""
    if came.done:
        said = SOME if turn.in_part else came.text
        return Ending(f"{said} In {len(places)} files: {', '.join(places)}.", done=True)
    why = came.text.removeprefix(UNCHANGED).strip()
    before = f"{', '.join(places[:-1])}{', in part' if turn.in_part else ''}"
    return Ending(f"I stopped at {places[-1]}: {why} Changed before that: {before}.")


def _is_offered(step: Routed, offered: Offered) -> bool:
    return any(tool.name == step.tool for tool in offered.get(step.intent, ()))


def _before(call: ProposedCall, files: AbstractSet[str]) -> AbstractSet[str]:
    """Returns the files as they were before a call that may have made, moved or removed one."""
    path, new_path = str(call.arguments.get("path")), str(call.arguments.get("new_path"))
    match call.name:
        case "write_file":
            return files - {path}
        case "delete_file":
            return files | {path}
        case "move_file":
            return (files - {new_path}) | {path}
        case _:
            return files


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
_SECOND_WISH = re.compile(
    r"\b(?:and then|and after that|and afterwards|und dann|und danach|et (?:puis|ensuite)|y (?:luego|despu[ée]s)|"
    r"e (?:poi|dopo))\b",
    re.IGNORECASE,
)
"""What comes after it would be left undone."""
_SECOND_QUESTION = re.compile(
    r"\band (?:also )?(?:what|which|why|how|who|explain|describe|summari[sz]e|tell|say|run|do they|does it)\b"
    r"|\bund (?:was|welche[rs]?|warum|wie|wer|erkl[äa]re?|beschreibe?|sage?|f[üu]hre|starte?)\b"
    r"|\bet (?:que|quel(?:le)?s?|pourquoi|comment|qui|explique|d[ée]cris|dis|lance|ex[ée]cute)\b"
    r"|\by (?:qu[ée]|cu[áa]l(?:es)?|por qu[ée]|c[óo]mo|qui[ée]n|explica|describe|dime|ejecuta|corre)\b"
    r"|\be (?:che|cosa|qual[ei]|perch[ée]|come|chi|spiega|descrivi|dimmi|esegui|lancia)\b",
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
    if _SECOND_WISH.search(said.bare):
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


@dataclass(frozen=True, slots=True)
class Turn:
    """The last sentence of the person, the last call for it with its result, what its first search found, and whether
    the person took a change of it `in_part`."""

    text: str
    call: ProposedCall | None = None
    result: str = ""
    made: int = 0
    found: str = ""
    in_part: bool = False

    @property
    def refused(self) -> bool:
        """Whether the last call was refused or failed."""
        return self.result.startswith("error ")


def turn_of(messages: Sequence[Message]) -> Turn:
    """Returns the state of a conversation's last turn."""
    turn = Turn("")
    for message in messages:
        match message:
            case UserMessage(text):
                turn = Turn(text)
            case AssistantMessage(_, calls):
                turn = replace(turn, call=calls[-1] if calls else None, result="", made=turn.made + bool(calls))
            case ToolMessage(_, tool, text):
                found = text if tool == "search_files" and not turn.found else turn.found
                turn = replace(turn, result=text, found=found, in_part=turn.in_part or taken_in_part(text))
            case _:
                pass
    return turn
