"""The built-in model's next step: the call that a rule derives from the sentence, or the answer that ends the turn
(MOD-23). Pure.

A sentence that no rule takes is declined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import count
from typing import assert_never

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.answers import (
    ASKED_FOR,
    HELP,
    NO_DEFINITION,
    NOT_GONE_ON,
    ONLY_WITHIN,
    SOME,
    UNCHANGED,
    Ending,
    answer,
    answer_edit,
    answer_shown,
    definitions,
    files_found,
    has_failed,
    settings_found,
    total_lines,
    verbatim,
)
from remit_server.models.built_in.declined import decline
from remit_server.models.built_in.edits.kinds import NoPlace
from remit_server.models.built_in.edits.planning import lines_of, plan_edit
from remit_server.models.built_in.language.sentences import WHERE, read_sentence, without_courtesy
from remit_server.models.built_in.language.words import IDENTIFIER, names_file
from remit_server.models.built_in.questions import whole_wish
from remit_server.models.built_in.routes import Define, Edited, Help, Missing, Routed, Tail, ValueOf
from remit_server.models.built_in.routing import MOST_CHARS, route
from remit_server.models.built_in.rules.looking import definition_of
from remit_server.models.built_in.turns import LOOKS, MOST_LINES, Offered, TriedCall, Turn, is_offered, turn_of
from remit_server.models.built_in.wishes import files_after, wishes_in
from remit_server.models.built_in.without_rule import Follow, guess_wish, step_without_rule
from remit_server.models.ports import (
    ATTACHED,
    Message,
    ProposedCall,
)

_EVERYWHERE = re.compile(
    r"\beverywhere|\ball (?:the )?files|\bevery file|throughout|(?:across|in) the (?:whole |entire )?(?:project|repo)|"
    r"überall|in allen dateien|partout|dans tous les fichiers|en todas partes|en todos los archivos|ovunque|"
    r"dappertutto|in tutti i file|すべてのファイル|全ファイル|全部",
    re.IGNORECASE,
)


def next_step(messages: Sequence[Message], offered: Offered, known: AbstractSet[str] | None) -> Routed | Ending:
    """Returns a rule's next call, the answer after its last call, or a question for a missing part.

    Declines a sentence that no rule takes, or that needs a tool that is not offered. `known` are the files that may be
    named; it is None if the tree is too large to list, and then the files are those that the sentence names.
    """
    turn = turn_of(messages)
    files = _files_before(turn, known)
    turn = replace(turn, text=_with_attached(whole_wish(turn, files), files))
    followed, left = _rules_so_far(turn, offered, files)
    if left is None:
        assert followed is not None
        return followed
    if followed is not None:
        return guess_wish(left, offered, files, _follower(offered, files)) or followed
    came = step_without_rule(left, offered, files, _follower(offered, files))
    if turn.call is None or turn.tried[0].call.name in LOOKS or (isinstance(came, Ending) and came.done):
        return came
    # The files changed after the call was chosen, so that no rule takes the sentence now. Still tell what the call did.
    return answer(Routed(Intent.CODE, turn.call.name, turn.call.arguments), turn.result)


def follow_surely(turn: Turn, offered: Offered, known: AbstractSet[str] | None) -> Routed | Ending | None:
    """Returns the step that a rule derives from the sentence, as `next_step` does, or that the file which it names
    shows to be meant; None if there is none."""
    files = _files_before(turn, known)
    followed, left = _rules_so_far(turn, offered, files)
    guessed = None if left is None else guess_wish(left, offered, files, _follower(offered, files), searches=False)
    return followed if guessed is None or (isinstance(guessed, Ending) and guessed.asks) else guessed


def _follower(offered: Offered, files: AbstractSet[str]) -> Follow:
    def follow(wishes: Sequence[str], rest: Turn) -> Routed | Ending | None:
        (wish, *more) = wishes
        return _follow_each(wishes, rest, offered, files) if more else _follow(wish, rest, offered, files)

    return follow


def _rules_so_far(turn: Turn, offered: Offered, files: AbstractSet[str]) -> tuple[Routed | Ending | None, Turn | None]:
    """Returns what the rules answered, or their next step after all calls; and, if something else may be meant because
    no rule takes the sentence, one asks for a part or one found no place for a change, the turn that is left."""
    steps = ((_follow_rules(replace(turn, tried=turn.tried[:made]), offered, files), made) for made in count())
    came, made = next((came, made) for came, made in steps if not isinstance(came, Routed) or made == len(turn.tried))
    looked = all(each.call.name in LOOKS and not each.result.startswith("error ") for each in turn.tried[:made])
    match came:
        case None:
            open_ = True
        case Ending(done=False, text=text, asks=asks):
            open_ = looked and (asks or text.startswith(UNCHANGED))
        case _:
            open_ = False
    return came, replace(turn, tried=turn.tried[made:], before=turn.tried[:made]) if open_ else None


def _follow_rules(turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    if len(wishes := wishes_in(turn.text, files)) > 1:
        return _follow_each(wishes, turn, offered, files)
    followed = _follow(turn.text, turn, offered, files)
    if followed is None and (named := _named_alone(turn.text, files)):
        return _follow(turn.text, turn, offered, files | {named})  # the call's error says why it cannot be opened
    return followed


def _with_attached(text: str, files: AbstractSet[str]) -> str:
    """Returns the sentence in which an attached file is the file that the sentence leaves out."""
    sentence, *names = text.split(f"\n\n{ATTACHED}")
    if not names:
        return text
    if read_sentence(sentence[:MOST_CHARS], files).files:
        return sentence
    told = [text, _naming(sentence, names[0])] if len(names) == 1 else [text]
    return next((each for each in told if not isinstance(route(each, files), Missing | None)), sentence)


PARTED = "\n\n"
"""The separator between the answers to several wishes."""


def _follow_each(
    wishes: Sequence[str], turn: Turn, offered: Offered, files: AbstractSet[str]
) -> Routed | Ending | None:
    """Returns the next step of the first wish that is not done yet, or the answers to all wishes after the last one.
    If a wish lacks a part, the model asks for that part before it does anything."""
    known = list[AbstractSet[str]]()
    for wish in wishes:
        found = route(wish, files)
        if isinstance(found, Missing) and not found.sought:
            return Ending.asking(ASKED_FOR.format(wish=wish, question=found.question))
        known.append(files)
        files = files_after(found, files)
    told, left = list[str](), turn.tried
    for at, wish in enumerate(wishes):
        came, made = _follow_so_far(wish, left, offered, known[at])
        if came is None and at:  # a guess that the file does not bear out
            came = Ending(decline(read_sentence(wish, known[at])))
        if not isinstance(came, Ending):
            return came
        told.append(came.text)
        if not came.done or (made and has_failed(left[made - 1].result)):
            undone = " ".join(NOT_GONE_ON.format(wish=each) for each in wishes[at + 1 :])
            return Ending(PARTED.join((*told, undone)).rstrip(), done=came.done)
        left = left[made:]
    return Ending(PARTED.join(told), done=True)


def _follow_so_far(
    wish: str, tried: Sequence[TriedCall], offered: Offered, files: AbstractSet[str]
) -> tuple[Routed | Ending | None, int]:
    """Returns the first answer to a wish and the number of calls made for it, or the next step after all `tried`."""
    steps = ((_follow(wish, Turn(wish, tuple(tried[:made])), offered, files), made) for made in count())
    return next((came, made) for came, made in steps if not isinstance(came, Routed) or made == len(tried))


def _files_before(turn: Turn, known: AbstractSet[str] | None) -> AbstractSet[str]:
    files = _named_in(turn.text) if known is None else known
    for tried in reversed(turn.tried):
        files = _before(tried.call, files)
    return files


_TESTS_TOO = re.compile(r",? (?:also|even|including|too) (?:in )?(?:the )?tests?$", re.IGNORECASE)


def _named_alone(text: str, files: AbstractSet[str]) -> str | None:
    """Returns the one file that a sentence names but that is not known, because it does not exist or is hidden."""
    said = read_sentence(text.strip()[:MOST_CHARS], files)
    if len(said.paths) != 1 or said.files or not names_file(path := said.paths[0]) or path in said.folders:
        return None
    return path if _is_below(path, text) else None


def _naming(text: str, path: str) -> str:
    """Returns the sentence with "in" and the path of the file that it left out, in place of "everywhere"."""
    text = WHERE.sub("", without_courtesy(text))
    return f"{_TESTS_TOO.sub('', text.rstrip(' .!?'))} in {path}"


def _named_in(text: str) -> AbstractSet[str]:
    made = route(text, frozenset())
    creates = isinstance(made, Routed) and made.tool == "write_file"
    named = read_sentence(text, frozenset()).paths
    return frozenset() if creates else frozenset(path for path in named if _is_below(path, text))


def _is_below(path: str, text: str) -> bool:
    """Returns whether a sentence names the path relative to the workspace: `~/a.py` and `/a.py` are not `a.py`."""
    return re.search(rf"(?<![\w/~.\\:]){re.escape(path)}", text) is not None


def _follow(text: str, turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    came: Routed | Ending | None
    match found := route(text, files):
        case Help(about=about):
            came = Ending(HELP[about], done=about != "undo")
        case Missing(question=question):
            came = _seek(found, text, turn, offered, files) if found.sought else Ending.asking(question)
        case Edited():
            came = _edit_line(found, turn, offered)
        case Define():
            came = _show(found, turn, offered)
        case ValueOf():
            came = _tell_value(found, turn, offered)
        case Tail():
            came = _show_end(found, turn, offered)
        case Routed():
            came = _call(found, turn, offered)
        case None:
            came = None
        case _:
            assert_never(found)
    return came


def _call(routed: Routed, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the one call, or the answer after it; None if the call is not offered or another one was made."""
    if turn.call is None:
        return routed if is_offered(routed, offered) else None
    made = turn.call.name == routed.tool and dict(turn.call.arguments) == dict(routed.arguments)
    if made and ONLY_WITHIN in turn.result and routed.tool == "edit_file":
        return _within_words(routed)  # the person gave the exact text, which is nowhere a word of its own
    within = turn.call.name == routed.tool and dict(turn.call.arguments) == dict(_within_words(routed).arguments)
    return answer(_within_words(routed) if within else routed, turn.result) if made or within else None


def _within_words(routed: Routed) -> Routed:
    return replace(routed, arguments={name: each for name, each in routed.arguments.items() if name != "whole_word"})


def _edit_line(edited: Edited, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next of an edit's two calls, the read and the edit, or the answer after the second."""
    read = Routed(Intent.ANALYZE, "read_file", {"path": edited.path, "limit": MOST_LINES})
    match turn.call:
        case None:
            return read if is_offered(read, offered) else None
        case ProposedCall(name="edit_file"):
            return answer_edit(edited.edit, turn.result)
        case _ if turn.refused:
            return answer(read, turn.result)
        case _:
            pass
    try:
        step = Routed(Intent.CODE, "edit_file", plan_edit(edited.path, edited.edit, lines_of(turn.result)))
    except NoPlace as why:
        if edited.guessed:
            return None
        return Ending(f"{UNCHANGED} {str(why)[:1].upper()}{str(why)[1:]}.")
    return step if is_offered(step, offered) else Ending(UNCHANGED)


MOST_SHOWN_LINES = 80


def _show(shown: Define, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next of the two calls for a definition, the search and the read, or the answer after the second."""
    look = definition_of(shown.name, shown.path)
    if turn.call is None:
        return look if is_offered(look, offered) else None
    if turn.refused:
        return answer(look, turn.result)
    found = definitions(turn.found)
    if not found:
        return Ending(NO_DEFINITION.format(name=shown.name))
    place = found[0]
    if turn.call.name == "read_file":
        return Ending(answer_shown(place, turn.result), done=True)
    lines: dict[str, JsonValue] = {"offset": place.line, "limit": MOST_SHOWN_LINES}
    return Routed(Intent.ANALYZE, "read_file", {"path": place.path, **lines})


MOST_VALUES = 6


def _tell_value(asked: ValueOf, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next search for the lines that set a value, or the answer: those lines, or the one block that a line
    begins. None if no line sets it, or so many do that none of them is the one."""
    names = list(dict.fromkeys(("[-_. ]?".join(asked.words), asked.words[-1])))
    searches = [_values_of(name, asked.path) for name in names]
    if turn.call is None:
        return searches[0] if is_offered(searches[0], offered) else None
    if turn.refused:
        return answer(searches[0], turn.result)
    looked = [tried for tried in turn.tried if tried.call.name == "search_files"]
    found = settings_found(looked[-1].result, anywhere=asked.path is not None)
    if turn.call.name == "read_file":
        return Ending(answer_shown(found[0], turn.result), done=True)
    if not found and len(looked) < len(searches):
        return searches[len(looked)]
    if len(found) == 1 and found[0].text.endswith(_OPENS):
        lines: dict[str, JsonValue] = {"offset": found[0].line, "limit": MOST_SHOWN_LINES}
        return Routed(Intent.ANALYZE, "read_file", {"path": found[0].path, **lines})
    told = "\n".join(f"{each.path}:{each.line}: {each.text}" for each in found)
    most = MOST_VALUES if len(looked) == 1 else 1  # the last word alone may be that of other settings too
    return Ending(verbatim(told), done=True) if 0 < len(found) <= most else None


_OPENS = ("[", "{", "(", ":")
"""The ends of a line that begins a block of values."""


def _values_of(name: str, path: str | None) -> Routed:
    pattern = rf"(?i)(?:\b|_){name}(?:[_-]\w+)?[\"']?\s*[:=]"
    where: dict[str, JsonValue] = {} if path is None else {"path": path}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": pattern, "context_lines": 0, **where})


def _show_end(shown: Tail, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the next read, or the answer: the first read tells how many lines the file has, the second shows the last
    ones."""
    first = Routed(Intent.ANALYZE, "read_file", {"path": shown.path, "limit": 1})
    if turn.call is None:
        return first if is_offered(first, offered) else None
    if turn.refused:
        return answer(first, turn.result)
    total = total_lines(turn.tried[0].result)
    if not shown.count:
        return Ending(f"{shown.path} has {total:,} {'line' if total == 1 else 'lines'}.", done=True)
    start = max(1, total - shown.count + 1)
    last = Routed(Intent.ANALYZE, "read_file", {"path": shown.path, "offset": start, "limit": max(shown.count, 1)})
    return last if len(turn.tried) == 1 and total > 1 else answer(last, turn.result)


MOST_NAMED = 5


def _seek(missing: Missing, text: str, turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    """Searches for the text that is to be changed, to find the file that the sentence leaves out; then goes on as if
    the sentence named that file."""
    word = re.fullmatch(IDENTIFIER, missing.sought) is not None
    pattern = rf"\b{missing.sought}\b" if word else re.escape(missing.sought)
    if missing.guessed:  # the words may be one name in the file
        pattern = rf"(?i)(?:\b|_){'[_-]?'.join(map(re.escape, missing.sought.split()))}(?:\b|_)"
    look = Routed(Intent.ANALYZE, "search_files", {"pattern": pattern, "context_lines": 0})
    if turn.call is None:
        return look if is_offered(look, offered) else Ending.asking(missing.question)
    if len(turn.tried) > 1:
        return _in_each(text, turn, offered, files)
    if turn.refused:
        return answer(look, turn.result)
    places = files_found(turn.result)
    if not places:
        return None if missing.guessed else Ending(f"I stopped: {missing.sought} was not found.")
    if len(places) > 1 and not _EVERYWHERE.search(text):
        more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        named = f"The text `{missing.sought}` is in {', '.join(places[:MOST_NAMED])}{more}."
        return Ending.asking(f"{named} Which file? Name it in the sentence, or say `everywhere`.")
    return _follow(_naming(text, places[0]), Turn(turn.text), offered, files)


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
    return _follow(_naming(text, places[at]), Turn(turn.text), offered, files)


def _told(came: Ending, turn: Turn, places: Sequence[str]) -> Ending:
    """Returns the answer after changes to several files. It names all of them, or, if the last change failed, those
    before it."""
    if came.done:
        said = SOME if turn.in_part else came.text
        return Ending(f"{said} In {len(places)} files: {', '.join(places)}.", done=True)
    why = came.text.removeprefix(UNCHANGED).strip()
    before = f"{', '.join(places[:-1])}{', in part' if turn.in_part else ''}"
    return Ending(f"I stopped at {places[-1]}: {why} Changed before that: {before}.")


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
