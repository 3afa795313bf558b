"""The step for a sentence that no rule takes: the files say what it may mean, or it is declined (MOD-23, MOD-29). Pure.

What is surely meant is done, and the answer says how the sentence was read. What may be meant is asked back. A question
is answered with the lines that have its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from remit_governance.values import Intent
from remit_server.models.built_in.answers import NO_DEFINITION, NOT_FOUND, Ending, answer, shown_lines
from remit_server.models.built_in.declined import Beyond, beyond, decline, in_quotes, maybe_name, subject_of
from remit_server.models.built_in.edits.kinds import NoPlace
from remit_server.models.built_in.edits.planning import lines_of
from remit_server.models.built_in.guesses.evidence import FileLine, lines_found, search_for
from remit_server.models.built_in.guesses.guess import Guess
from remit_server.models.built_in.guesses.guessing import file_of_most, guesses_before, guesses_in
from remit_server.models.built_in.guesses.looks import around, best_lines, may_answer, told, told_around, told_whole
from remit_server.models.built_in.guesses.words import Wording
from remit_server.models.built_in.language.sentences import Sentence, read_sentence
from remit_server.models.built_in.routes import Edited, Routed
from remit_server.models.built_in.routing import MOST_CHARS, may_be_wish, route
from remit_server.models.built_in.rules.looking import definition_of
from remit_server.models.built_in.turns import LOOKS, MOST_LINES, Offered, TriedCall, Turn, is_offered
from remit_server.models.built_in.wishes import odd_one

Follow = Callable[[Sequence[str], Turn], Routed | Ending | None]
"""Follows the rules for plain wishes, from a turn in which the calls are those that were made for them."""
_ELSEWHERE = re.compile(r"(?<![\w:/.])(?:~?/|[A-Za-z]:[\\/])\w")
"""A path that no file of the workspace has."""
READ_AS = "I read that as: `{plain}`. {answer}"


def step_without_rule(turn: Turn, offered: Offered, files: AbstractSet[str], follow: Follow) -> Routed | Ending:
    """Returns the next step for a sentence that no rule takes."""
    said = read_sentence(turn.text.strip()[:MOST_CHARS], files)
    declined = Ending(decline(said))
    if not may_be_wish(turn.text) or _ELSEWHERE.search(turn.text):  # a pasted text may have any length
        return declined
    if (guessed := guess_wish(turn, offered, files, follow)) is not None:
        return guessed
    if (plain := in_quotes(said, files)) is not None:
        return Ending.suggesting(plain)
    return _look(turn, offered, files) or declined


def guess_wish(
    turn: Turn, offered: Offered, files: AbstractSet[str], follow: Follow, *, searches: bool = True
) -> Routed | Ending | None:
    """Returns the next step of what a sentence may wish to be done, as a whole or beside a wish that a rule takes; None
    if nothing shows what. Unless it `searches`, it looks only into the file that the sentence names."""
    if not may_be_wish(turn.text) or _ELSEWHERE.search(turn.text):
        return None
    if (odd := odd_one(turn.text, files)) is not None:

        def follow_all(plain: Sequence[str], rest: Turn) -> Routed | Ending | None:
            return follow((*odd.before, *plain, *odd.after), rest)

        came = _guess(replace(turn, text=odd.wish), offered, files, follow_all, searches=searches)
        if came is not None and not (isinstance(came, Ending) and came.asks):
            return came
    return _guess(turn, offered, files, follow, searches=searches)


def _guess(
    turn: Turn, offered: Offered, files: AbstractSet[str], follow: Follow, *, searches: bool
) -> Routed | Ending | None:
    """Returns the next step of what a sentence may wish to be done; None if nothing shows what."""
    wording = Wording(read_sentence(turn.text.strip(), files))
    if before := guesses_before(wording, files):
        return _take(before[0], turn.tried, follow)
    looks = not wording.literals and any(map(wording.has, ("shows", "searches", "lists")))
    if looks or beyond(wording.said) is Beyond.QUESTION or not (searches or len(wording.said.files) == 1):
        return None
    return _guess_edit(wording, turn, offered, follow)


def _look(turn: Turn, offered: Offered, files: AbstractSet[str]) -> Routed | Ending | None:
    """Returns the next step of what answers a question; None if it is none, or no line has its words."""
    wording = Wording(read_sentence(turn.text.strip(), files))
    changes = any(map(wording.has, _CHANGES))
    if beyond(wording.said) is Beyond.WRITING or (changes and beyond(wording.said) is not Beyond.QUESTION):
        return None
    if (came := _answer_with_lines(wording, turn, offered)) is not None:
        return came
    asks = beyond(wording.said) is Beyond.QUESTION and (subject_of(wording.said) or maybe_name(wording.said))
    return _tell_place(wording.said, turn, offered) if asks else None


_CHANGES = ("adds", "replaces", "deletes", "moves", "sets", "creates", "fixes")


def _take(guess: Guess, tried: Sequence[TriedCall], follow: Follow) -> Routed | Ending | None:
    """Returns the next step of what is surely meant, after the calls that were made for it, or asks for what may be
    meant. None if it cannot be done."""
    if not guess.sure:
        return Ending.suggesting(guess.plain)
    came = follow((guess.plain,), Turn(guess.plain, tuple(tried)))
    if not isinstance(came, Ending):
        return came
    acted = any(each.call.name not in LOOKS for each in tried)
    return replace(came, text=READ_AS.format(plain=guess.plain, answer=came.text)) if came.done or acted else None


def _answer_with_lines(wording: Wording, turn: Turn, offered: Offered) -> Routed | Ending | None:
    """Returns the search for the words of a question, the read of the file that it names or around the one line that
    has most of them, or the answer."""
    look = search_for(wording) if may_answer(wording) else None
    if look is None or not is_offered(look, offered):
        return None
    if (result := turn.result_of(look)) is None:
        return look
    best = best_lines(wording, lines_found(result))
    named = wording.said.files[0] if len(wording.said.files) == 1 else None
    if len(best) == 1:
        line = best[0].line
        first, count = around(line)
        read = Routed(Intent.ANALYZE, "read_file", {"path": line.path, "offset": first, "limit": count})
        shown = turn.result_of(read)
        return read if shown is None else Ending(told_around(line, shown_lines(shown)), done=True)
    if not best and named is not None:
        read = Routed(Intent.ANALYZE, "read_file", {"path": named, "limit": MOST_SHOWN_LINES})
        shown = turn.result_of(read)
        return read if shown is None else Ending(told_whole(named, shown_lines(shown)), done=True)
    return Ending(told(best), done=True) if best else None


MOST_SHOWN_LINES = 80


def _guess_edit(wording: Wording, turn: Turn, offered: Offered, follow: Follow) -> Routed | Ending | None:
    """Returns the next look for what a sentence may mean: a search, unless it names its file, and a read of the file;
    after them, what it means."""
    look, found = search_for(wording), tuple[FileLine, ...]()
    if len(wording.said.files) != 1:
        if look is None or not is_offered(look, offered):
            return None
        if (result := turn.result_of(look)) is None:
            return look
        found = lines_found(result)
    path = file_of_most(wording, found)
    read = Routed(Intent.ANALYZE, "read_file", {"path": path, "limit": MOST_LINES})
    shown = None if path is None else turn.result_of(read)
    if path is not None and shown is None:
        return read if is_offered(read, offered) else None
    guesses = guesses_in(wording, _lines(path or "", shown or ""), found)
    if not guesses:
        return None
    again = isinstance(route(guesses[0].plain, frozenset({path or ""})), Edited)  # begins with the same read
    last = read if path is not None or look is None else look
    made = turn.calls_after(last, itself=again)
    return _take(guesses[0], made, follow)


def _lines(path: str, result: str) -> tuple[FileLine, ...]:
    """Returns the lines of a file that was read; none if not all of it was, or if a line is too long to look at."""
    try:
        texts = lines_of(result)
    except NoPlace:
        return ()
    plain = all(len(text) <= MOST_CHARS for text in texts)
    return tuple(FileLine(path, number, text) for number, text in enumerate(texts, 1)) if plain else ()


def _tell_place(said: Sentence, turn: Turn, offered: Offered) -> Routed | Ending:
    """Declines a question about one name; first looks up where that name is defined."""
    name = subject_of(said) or maybe_name(said)
    declined = Ending(decline(said))
    look = definition_of(name or "")
    if (result := turn.result_of(look)) is None:
        return look if is_offered(look, offered) else declined
    place = answer(look, result)
    if place.text == NOT_FOUND and subject_of(said) is not None:
        return Ending(f"{NO_DEFINITION.format(name=name)} {declined.text.removeprefix('I stopped: ')}")
    if place.text == NOT_FOUND or not place.done:
        return declined
    return Ending(f"{declined.text} {place.text.replace('It is', f'`{name}` is', 1)}")
