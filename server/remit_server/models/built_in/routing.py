"""Finds what a sentence asks for, in six languages: one route, or none if no rule is sure (MOD-23). Pure.

The rules are tried in order, whole phrases first. A rule takes a sentence only if all of it is clear, such as which
file and which text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from remit_governance.values import Intent
from remit_server.models.built_in.edits.line_edits import SetValue
from remit_server.models.built_in.language.meant import says_it, with_subject
from remit_server.models.built_in.language.sentences import (
    WISHES,
    Sentence,
    is_name,
    read_sentence,
    without_courtesy,
    without_paths,
)
from remit_server.models.built_in.language.wished import is_wished, wishes_twice
from remit_server.models.built_in.language.words import says, with_file_spelled
from remit_server.models.built_in.routes import MESSAGE, Define, Edited, Missing, Route, Routed, Tail, ValueOf
from remit_server.models.built_in.rules import changing, looking
from remit_server.models.built_in.rules.phrased import take_phrase
from remit_server.models.built_in.rules.terse import take_terse

_LOOKS = frozenset({"read_file", "search_files", "list_files", "get_symbols", "git_status", "git_diff"})
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


_GERUNDS = {
    "adding": "add", "appending": "append", "changing": "change", "committing": "commit", "creating": "create",
    "deleting": "delete", "finding": "find", "inserting": "insert", "listing": "list", "making": "make",
    "moving": "move", "opening": "open", "printing": "print", "putting": "put", "removing": "remove",
    "renaming": "rename", "replacing": "replace", "running": "run", "searching": "search", "setting": "set",
    "showing": "show",
}  # fmt: skip
_PAST = {
    "added": "add", "changed": "change", "created": "create", "deleted": "delete", "moved": "move", "removed": "remove",
    "renamed": "rename", "replaced": "replace",
}  # fmt: skip
_MIND = re.compile(r"(?:(?:would|do) you mind|mind|how about|what about) (\w+ing)\b(.*?)\??", re.IGNORECASE)
_AND_GERUND = re.compile(rf"\b(and|then|or|,) ({'|'.join(_GERUNDS)})\b", re.IGNORECASE)


def in_plain_verbs(text: str) -> str:
    """Returns "would you mind removing …" as "remove …"."""
    found = _MIND.fullmatch(text.strip())
    if found is None or (verb := _GERUNDS.get(found[1].lower())) is None:
        return text
    return f"{verb}{_AND_GERUND.sub(lambda more: f'{more[1]} {_GERUNDS[more[2].lower()]}', found[2])}"


def route(text: str, files: AbstractSet[str]) -> Route:
    """Returns what a sentence asks for, or None if no rule takes it. If none does, a plain word may name a file ("in
    settings"), but not one that is deleted, moved or made."""
    return _routed(text, frozenset(files))


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
        case look if _is_look(look) and not isinstance(found, Define):
            return again
        case _:
            return found


def _route(text: str, files: AbstractSet[str]) -> Route:
    if not text.strip() or len(text) > MOST_CHARS or "\n" in text.strip():
        return None
    text = in_plain_verbs(text)
    if _CONDITION.match(text.strip()) or _SECTION.search(text):
        return None
    said = read_sentence(with_subject(read_sentence(text.strip(), files)), files)
    if wishes_twice(said):
        return None
    found = _ask_which(said, text, files) if said.alike else take_phrase(said) or _take_words(said) or take_terse(said)
    return found if _is_meant(found, said) and not _leaves_out(text, found, files) else None


_AFTER = re.compile(
    r"(?P<last>.+?),? (?:after|once) (?:you(?: have|'ve)? )?(?P<first>(?:VERBS)\b.+)|"
    r"(?:after|once) (?:you(?: have|'ve)? )?(?P<begins>(?:VERBS)\b.+?), ?(?:then )?(?P<ends>.+)".replace(
        "VERBS", "|".join((*_GERUNDS, *_GERUNDS.values(), *_PAST))
    ),
    re.IGNORECASE,
)


def in_order(text: str) -> str:
    """Returns "run the tests after you change …" with the wishes in the order in which they are to be done."""
    found = _AFTER.fullmatch(text.strip().rstrip("."))
    if found is None:
        return text
    verb, _, rest = (found["first"] or found["begins"]).partition(" ")
    plain = _GERUNDS.get(verb.lower()) or _PAST.get(verb.lower()) or verb
    return f"{plain} {rest}, then {found['last'] or found['ends']}"


_AND = r"and|then|after that|afterwards|also|und|dann|danach|et|puis|ensuite|y|luego|despu[ée]s|ed?|poi|dopo"
_JOINED = re.compile(
    rf" & |[,;.]? +(?:(?:{_AND})\b,? *)+|[,;.] +|(?:(?<=[てでし])、|。)(?:(?:それから|その後|次に)、?)?", re.IGNORECASE
)
"""What may stand between two wishes."""
_REFERS = re.compile(r"(?:see|cf|compare|as|like|siehe|vgl|voir|v[ée]ase|vedi)\b|@", re.IGNORECASE)
"""Words that begin a reference, which explains the wish before it and is no wish of its own."""
MOST_WISHES = 3
MOST_JOINTS = 12
"""The most joints to try. A sentence with more is no list of three wishes, and trying each would take seconds."""


def wishes_in(text: str, files: AbstractSet[str]) -> tuple[str, ...]:
    """Returns the wishes of a sentence in their order, if a rule takes each wish by itself or asks for a part of it;
    none if any wish is left over."""
    text = in_order(in_plain_verbs(text))
    match route(text, files):
        case None | Edited(guessed=True) | Missing(guessed=True):
            whole: tuple[str, ...] = ()
        case found if _is_look(found) or _runs_tests(found):  # rules may find these beside another wish
            whole = (text,)
        case found:
            parts = _parted(text.strip(), files, MOST_WISHES)
            ignored = 1 < len(parts) <= MOST_WISHES and route(parts[0], files) == found
            return _with_messages(parts, files) if ignored else (text,)
    wishes = _in_two_files(text, files) or _parted(text.strip(), files, MOST_WISHES)
    return _with_messages(wishes, files) if 0 < len(wishes) <= MOST_WISHES else whole


_ALL = re.compile(r"\b(?:everything|all|alles|tout|todo|tutto)\b", re.IGNORECASE)


def _with_messages(wishes: Sequence[str], files: AbstractSet[str]) -> tuple[str, ...]:
    """Returns the wishes with a message for each commit that has none: the person's own words for the changes before
    it. A commit of nothing that was changed here keeps its question."""
    told, changed = list[str](), ""
    for wish in wishes:
        match found := route(wish, files):
            case Missing(question=question) if question == MESSAGE and changed:
                everything = " everything" if _ALL.search(wish) else ""
                told.append(f"commit{everything} with the message “{changed.replace('“', '').replace('”', '')}”")
                changed = ""
            case Edited() | Routed(intent=Intent.CODE):
                changed = _told_also(changed, without_courtesy(wish))
                told.append(wish)
            case _:
                told.append(wish)
        files = files_after(found, files)
    return tuple(told)


def _told_also(changed: str, wish: str) -> str:
    """Returns what was changed and then this too; of a wish that differs only in its last word, only that word."""
    wish = wish if changed else f"{wish[:1].upper()}{wish[1:]}"
    same, _, last = wish.rpartition(" ")
    return " and ".join(filter(None, (changed, last if same and same.lower() in changed.lower() else wish)))


_TWO_NAMED = re.compile(
    r"([\w./-]*\w),? (?:and|und|et|y|ed?|&)(?: (?:in|to|from|of|also))*,? ([\w./-]*\w)", re.IGNORECASE
)


_BETWEEN = re.compile(r"\b(?:between|zwischen|entre|tra|fra) $", re.IGNORECASE)


def _in_two_files(text: str, files: AbstractSet[str]) -> tuple[str, ...]:
    """Returns one wish for each of two files that a sentence names side by side, if it is the same edit or look in each
    of them; none otherwise. A file is never deleted or moved for such a sentence."""
    for named in _TWO_NAMED.finditer(text):
        apart = _BETWEEN.search(text[: named.start()]) is None
        if apart and all(len(read_sentence(name, files).files) == 1 for name in named.groups()):
            each = tuple(f"{text[: named.start()]}{name}{text[named.end() :]}" for name in named.groups())
            if all(_changes_or_shows(route(wish, files)) for wish in each):
                return each
    return ()


def _changes_or_shows(found: Route) -> bool:
    match found:
        case Edited(guessed=False) | Routed(tool="edit_file" | "read_file"):
            return True
        case _:
            return False


_TELLS = re.compile(r"\d|[\"'`“«„]")


def _leaves_out(text: str, found: Route, files: AbstractSet[str]) -> bool:
    """Returns whether a look, or a run of the tests, is what one side of a joint asks for, and the other side tells a
    name, a number or a text. A part of what is wished would then be left out without a word."""
    joints = list(_JOINED.finditer(text)) if _is_look(found) or _runs_tests(found) else []
    for joined in joints if len(joints) <= MOST_JOINTS else ():
        sides = (text[: joined.start()].strip(), text[joined.end() :].strip())
        for side, other in (sides, sides[::-1]):
            tells = _TELLS.search(other) or any(map(is_name, re.findall(r"\w+", other)))
            if tells and route(side, files) == found != route(other, files):
                return True
    return False


def _runs_tests(found: Route) -> bool:
    return isinstance(found, Routed) and found.tool == "run_tests"


def _parted(text: str, files: AbstractSet[str], most: int) -> tuple[str, ...]:
    """Returns two or more wishes in their order, or none; if there are more than `most`, returns more than `most`."""
    if most < 1 or len(text) > MOST_CHARS or "\n" in text:
        return ()
    wished = is_wished(read_sentence(text, files))
    joints = list(_JOINED.finditer(text))
    for joined in joints if len(joints) <= MOST_JOINTS else ():
        first, rest = text[: joined.start()].strip(), text[joined.end() :].strip()
        first = _with_file_of(rest, first, files)
        firsts = _in_two_files(first, files) or (first,)
        done = route(firsts[-1], files)
        rest = _named_again(rest, done, files)
        wishes = _stands_alone(rest) and all(_is_wish(each, files) for each in firsts)
        if not wishes or (isinstance(done, Missing) and not done.sought):
            continue
        after = files_after(done, files)
        following = _parted(rest, after, most - len(firsts)) or ((rest,) if _is_wish(rest, after) else ())
        # What only looks does no harm, so two questions may be answered one after the other.
        if following and (wished or all(_is_look(route(each, files)) for each in (*firsts, *following))):
            return (*firsts, *following)
    return ()


_FIRST = re.compile(r"^(?:first|firstly|zuerst|d'abord|primero|prima),? (?=\D)", re.IGNORECASE)


def _is_look(found: Route) -> bool:
    match found:
        case Define() | ValueOf() | Tail():
            return True
        case Routed(tool="run_command", arguments=arguments):
            return str(arguments.get("command")).startswith(("git log ", "git show "))
        case Routed(tool=tool):
            return tool in _LOOKS
        case _:
            return False


def _with_file_of(rest: str, first: str, files: AbstractSet[str]) -> str:
    """Returns a wish to set a value with the file that only the wish after it names: "theme dark and retries 4 in
    settings"."""
    first = _FIRST.sub("", first) if route(first, files) is None else first
    if route(first, files) is not None:
        return first
    match route(rest, files):
        case Edited(path=path, edit=SetValue()) if isinstance(route(f"{first} in {path}", files), Edited):
            return f"{first} in {path}"
        case _:
            return first


_SHOW_IT = re.compile(
    r"(?:please )?(?:show|open|print|display|read|cat)(?: me)? (?:it|that|this|"
    r"(?:the|this|that) (?:whole |entire |full )?(?:file|result))"
    r"(?: again| then| to me| please)*|zeige? (?:mir )?(?:sie|es|die datei)|montre(?:-le|-la|(?:-moi)? le fichier)|"
    r"mu[ée]stra(?:lo|me(?:lo)?|me el archivo)|mostra(?:lo|mi(?:lo)?|mi il file)",
    re.IGNORECASE,
)


_THERE = re.compile(r" (?:there|in (?:it|there|that file|the same file))$", re.IGNORECASE)
_ALSO = re.compile(r"(?:also |auch |aussi |tambi[ée]n |anche )?(?:the )?(\S+)", re.IGNORECASE)


def _named_again(rest: str, done: Route, files: AbstractSet[str]) -> str:
    """Returns the text after a wish with the path of the file that the wish is about, if it means that file: "show it",
    "… in it", a file alone after a file was shown, or a change that lacks a file."""
    path = _path_after(done)
    if path is None:
        return rest
    if _SHOW_IT.fullmatch(rest) and not isinstance(done, Tail) and not _is_look(done):
        return f"show {path}"
    if _THERE.search(rest):
        return _THERE.sub(f" in {path}", rest)
    also = _ALSO.fullmatch(rest)
    if also and isinstance(done, Routed) and done.tool == "read_file" and read_sentence(also[1], files).files:
        return f"show {also[1]}"
    shares = isinstance(done, Edited) and _lacks_file(rest, files)
    match route(f"{rest} in {path}", files) if shares else None:
        case Edited(guessed=False):
            return f"{rest} in {path}"
        case _:
            return rest


def _path_after(done: Route) -> str | None:
    """Returns the path of the one file that a wish is about, as it is after the wish is done."""
    match done:
        case Edited(path=path) | Tail(path=path):
            return path
        case Routed(tool="move_file", arguments={"new_path": str(path)}):
            return path
        case Routed(tool="write_file" | "edit_file" | "read_file" | "get_symbols", arguments={"path": str(path)}):
            return path
        case _:
            return None


def _lacks_file(text: str, files: AbstractSet[str]) -> bool:
    """Returns whether a wish names no file, and no rule takes it without one."""
    said = read_sentence(text, files)
    return not said.files and not said.paths and isinstance(route(text, files), Missing | None)


_COMMITS_IT = re.compile(
    r"(?:git )?commit (?:it|this|that)(?: all)?(?:$| (?:as|with)\b(?!.*\b(?:it|this|that)\b))", re.IGNORECASE
)


def _stands_alone(rest: str) -> bool:
    """Returns whether the text after a wish is clear without that wish: it has no "it", and begins no reference."""
    return rest != "" and (not says_it(rest) or _COMMITS_IT.match(rest) is not None) and _REFERS.match(rest) is None


def files_after(done: Route, files: AbstractSet[str]) -> AbstractSet[str]:
    """Returns the files that exist after a wish is done."""
    match done:
        case Routed(tool="write_file", arguments=arguments):
            return files | {str(arguments["path"])}
        case Routed(tool="move_file", arguments=arguments):
            return (files - {str(arguments["path"])}) | {str(arguments["new_path"])}
        case Routed(tool="delete_file", arguments=arguments):
            return files - {str(arguments["path"])}
        case _:
            return files


SPOKEN = 4
"""With so many words beside its files, a text that a rule takes is a wish, whatever its verb."""


def _is_wish(text: str, files: AbstractSet[str]) -> bool:
    """Returns whether a rule takes a text as a wish, or asks for a part of it. The text needs a verb, because a file
    alone belongs to the wish before it ("delete a.py and b.py")."""
    match route(text, files):
        case Edited() | Routed(intent=Intent.EXECUTE | Intent.CODE):
            return True
        case Routed() | Tail() | ValueOf() | Missing():
            said = read_sentence(text, files)
            bare, spoken = said.bare, re.findall(r"[^\W\d_]{2,}", without_paths(said))
            return (
                len(spoken) >= SPOKEN
                or any(says(idea, bare) for idea in (*WISHES, "sets", "status", "diff", "asking"))
                or "commit" in bare
            )
        case _:
            return False


def _is_meant(found: Route, said: Sentence) -> bool:
    """Returns whether a sentence asks for the route that was found, and for nothing else."""
    match found:
        case ValueOf() | Tail() | Routed() if _is_look(found):
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
