"""Parts a sentence into its wishes, in the order in which they are to be done (MOD-23). Pure.

A sentence is parted only if a rule takes every part by itself, so that nothing of what is wished is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from remit_governance.values import Intent
from remit_server.models.built_in.edits.line_edits import SetValue
from remit_server.models.built_in.language.meant import says_it
from remit_server.models.built_in.language.plain import JOINT, MOST_JOINTS, in_order, in_plain_verbs
from remit_server.models.built_in.language.sentences import WISHES, read_sentence, without_courtesy, without_paths
from remit_server.models.built_in.language.wished import is_wished
from remit_server.models.built_in.language.words import says
from remit_server.models.built_in.routes import (
    MESSAGE,
    Edited,
    Missing,
    Route,
    Routed,
    Tail,
    ValueOf,
    is_look,
    runs_tests,
)
from remit_server.models.built_in.routing import may_be_wish, route

_REFERS = re.compile(r"(?:see|cf|compare|as|like|siehe|vgl|voir|v[ée]ase|vedi)\b|@", re.IGNORECASE)
"""Words that begin a reference, which explains the wish before it and is no wish of its own."""
MOST_WISHES = 3


def wishes_in(text: str, files: AbstractSet[str]) -> tuple[str, ...]:
    """Returns the wishes of a sentence in their order, if a rule takes each wish by itself or asks for a part of it;
    none if any wish is left over, or if the sentence is longer than rules look at."""
    if not may_be_wish(text):
        return ()
    text = in_order(in_plain_verbs(text))
    match route(text, files):
        case None | Edited(guessed=True) | Missing(guessed=True):
            whole: tuple[str, ...] = ()
        case found if is_look(found) or runs_tests(found):  # rules may find these beside another wish
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


def _parted(text: str, files: AbstractSet[str], most: int) -> tuple[str, ...]:
    """Returns two or more wishes in their order, or none; if there are more than `most`, returns more than `most`."""
    if most < 1:
        return ()
    wished = is_wished(read_sentence(text, files))
    joints = list(JOINT.finditer(text))
    for joined in joints if len(joints) <= MOST_JOINTS else ():
        first, rest = text[: joined.start()].strip(), text[joined.end() :].strip()
        first = _with_file_of(rest, first, files)
        firsts = _in_two_files(first, files) or (first,)
        done = route(firsts[-1], files)
        rest = _edit_with_verb(firsts[-1], _named_again(rest, done, files), files)
        wishes = _stands_alone(rest) and all(_is_wish(each, files) for each in firsts)
        if not wishes or (isinstance(done, Missing) and not done.sought):
            continue
        after = files_after(done, files)
        alone = _is_wish(rest, after) and (is_look(done) or _is_asked(rest, after))
        following = _parted(rest, after, most - len(firsts)) or ((rest,) if alone else ())
        # What only looks does no harm, so two questions may be answered one after the other.
        if following and (wished or all(is_look(route(each, files)) for each in (*firsts, *following))):
            return (*firsts, *following)
    return ()


@dataclass(frozen=True, slots=True)
class Odd:
    """The one wish of a sentence that no rule takes, and the wishes before and after it, which rules take."""

    before: tuple[str, ...]
    wish: str
    after: tuple[str, ...]


def odd_one(text: str, files: AbstractSet[str]) -> Odd | None:
    """Returns the first wish of a sentence that no rule takes beside one that a rule takes; None if there is none."""
    text = in_order(in_plain_verbs(text.strip()))
    joints = list(JOINT.finditer(text)) if may_be_wish(text) else []
    for joined in joints if len(joints) <= MOST_JOINTS else ():
        first, rest = text[: joined.start()].strip(), text[joined.end() :].strip()
        taken = _is_taken(first, files), _is_taken(rest, files)
        if taken == (False, True) and _stands_alone(rest):
            return Odd((), first, (rest,))
        if taken == (True, False) and _stands_alone(rest):
            return Odd((first,), rest, ())
    return None


def two_odd(text: str, files: AbstractSet[str]) -> tuple[tuple[str, str], ...]:
    """Returns the ways to part a sentence into two wishes that no rule takes. A verb or a file that only one of them
    has may be that of both."""
    text = in_order(in_plain_verbs(text.strip()))
    joints = list(JOINT.finditer(text)) if may_be_wish(text) else []
    parts = ((text[: each.start()].strip(), text[each.end() :].strip()) for each in joints[:MOST_JOINTS])
    ways = list[tuple[str, str]]()
    for first, rest in ((first, _with_verb(first, rest)) for first, rest in parts if first):
        if _stands_alone(rest) and not any(_is_taken(each, files) for each in (first, rest)):
            ways += ((_in_file_of(rest, first, files), _in_file_of(first, rest, files)), (first, rest))
    return tuple(dict.fromkeys(ways))


_VERB = re.compile(r"(?:(?:please|bitte) )?([^\W\d_]+)(?= )")
_VERBS = (*WISHES, "sets", "fixes")


def _with_verb(first: str, rest: str) -> str:
    """Returns the second wish with the verb of the first, if it has none of its own: "tick the one and the other"."""
    verb = _VERB.match(without_courtesy(first))
    if verb is None or " " not in rest or any(says(idea, rest) for idea in _VERBS):
        return rest
    shared = rest[0] in "\"'`“„«" or any(says(idea, verb[1]) for idea in _VERBS)
    return f"{verb[1]} {rest}" if shared else rest


def _edit_with_verb(first: str, rest: str, files: AbstractSet[str]) -> str:
    """Returns the second wish with the verb of the first, if that makes it an edit of a file that it names."""
    told = _with_verb(first, rest)
    if told == rest or isinstance(route(rest, files), Edited) or not read_sentence(rest, files).files:
        return rest
    match route(told, files):
        case Edited(guessed=False):
            return told
        case _:
            return rest


def _in_file_of(other: str, wish: str, files: AbstractSet[str]) -> str:
    """Returns a wish that is no run and no look, with the one file that only the other wish names in full."""
    named, said = read_sentence(other, files).files, read_sentence(wish, files)
    changes = (
        not said.files
        and not said.paths
        and not any(says(idea, said.bare) for idea in ("run", "tests", "shows", "searches", "lists"))
    )
    return f"{wish} in {named[0]}" if changes and len(named) == 1 and named[0].rpartition("/")[2] in other else wish


def _is_taken(text: str, files: AbstractSet[str]) -> bool:
    match route(text, files):
        case Missing() | Edited(guessed=True):
            return False
        case _:
            return _is_wish(text, files)


_FIRST = re.compile(r"^(?:first|firstly|zuerst|d'abord|primero|prima),? (?=\D)", re.IGNORECASE)


def _with_file_of(rest: str, first: str, files: AbstractSet[str]) -> str:
    """Returns a wish to set a value with the file that only the wish after it names: "theme dark and retries 4 in
    settings"."""
    first = _FIRST.sub("", first) if route(first, files) is None else first
    if route(first, files) is not None or read_sentence(first, files).paths:
        return first
    match route(rest, files):
        case Edited(path=path, edit=SetValue()) if isinstance(route(f"{first} in {path}", files), Edited):
            return f"{first} in {path}"
        case _:
            return first


_SHOW_IT = re.compile(
    r"(?:please )?(?:show|open|print|display|read|cat)(?: me)? (?:it|that|this|"
    r"(?:the|this|that) (?:whole |entire |full )?(?:file|result))"
    r"(?: again| then| to me| please)*|zeige? (?:mir )?(?:danach |dann )?(?:sie|es|die datei)|"
    r"montre(?:-le|-la|(?:-moi)? le fichier)|mu[ée]stra(?:lo|me(?:lo)?|me el archivo)|"
    r"mostra(?:lo|mi(?:lo)?|mi il file)",
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
    if _SHOW_IT.fullmatch(rest) and not isinstance(done, Tail) and not is_look(done):
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
            spoken = re.findall(r"[^\W\d_]{2,}", without_paths(read_sentence(text, files)))
            return len(spoken) >= SPOKEN or _is_asked(text, files)
        case _:
            return False


def _is_asked(text: str, files: AbstractSet[str]) -> bool:
    """Returns whether a text has a verb of a wish, or is a wish without one. After a change "the FIXME in a.py" is
    none: the change is meant there too."""
    match route(text, files):
        case Edited() | Routed(intent=Intent.EXECUTE | Intent.CODE):
            return True
        case _:
            bare = read_sentence(text, files).bare
            ideas = (*WISHES, "sets", "status", "diff", "asking")
            return any(says(idea, bare) for idea in ideas) or "commit" in bare
