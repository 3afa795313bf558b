"""The step for a sentence that no rule takes: the files say what it may mean, or it is declined (MOD-23, MOD-29). Pure.

What is surely meant is done, and the answer says how the sentence was read. What may be meant is asked back. A question
is declined with the lines that have its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

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
from remit_server.models.built_in.language.words import says
from remit_server.models.built_in.questions import as_code, suggest
from remit_server.models.built_in.routes import Edited, Routed
from remit_server.models.built_in.routing import MOST_CHARS, may_be_wish, route
from remit_server.models.built_in.rules.looking import definition_of
from remit_server.models.built_in.turns import LOOKS, MOST_LINES, Offered, TriedCall, Turn, is_offered
from remit_server.models.built_in.wishes import odd_one, two_odd, wishes_in

Follow = Callable[[Sequence[str], Turn], Routed | Ending | None]
"""Follows the rules for plain wishes, from a turn in which the calls are those that were made for them."""
_ELSEWHERE = re.compile(r"(?<![\w:/.])(?:~?/|[A-Za-z]:[\\/])\w")
"""A path that no file of the workspace has."""
READ_AS = "I read that as: {plain}."


def step_without_rule(turn: Turn, offered: Offered, files: AbstractSet[str], follow: Follow) -> Routed | Ending:
    """Returns the next step for a sentence that no rule takes."""
    said = read_sentence(turn.text.strip()[:MOST_CHARS], files)
    declined = Ending(decline(said))
    if not may_be_wish(turn.text) or _ELSEWHERE.search(turn.text):  # a pasted text may have any length
        return declined
    if (guessed := guess_wish(turn, offered, files, follow)) is not None:
        return guessed
    if (plain := in_quotes(said, files)) is not None:
        return suggest(plain)
    return _look(turn, offered, files) or declined


def guess_wish(
    turn: Turn, offered: Offered, files: AbstractSet[str], follow: Follow, *, searches: bool = True
) -> Routed | Ending | None:
    """Returns the next step of what a sentence may wish to be done: one wish beside those that rules take, or two
    wishes, or the whole sentence. None if nothing shows what. Unless it `searches`, it looks only into the file that
    the sentence names."""
    if not may_be_wish(turn.text) or _ELSEWHERE.search(turn.text):
        return None
    find = partial(_find, turn, offered=offered, files=files, searches=searches)
    odd, looks = odd_one(turn.text, files), list[Routed]()
    beside = () if odd is None else ((*odd.before, find(odd.wish), *odd.after),)
    parted = ((find(first), find(rest)) for first, rest in two_odd(turn.text, files))
    for wishes in (*beside, *parted, (find(turn.text),)):
        looks += [look for each in wishes if isinstance(each, _Found) for look in each.looks]
        if (came := _take(wishes, turn, files, follow, looks)) is not None:
            return came
    return None


@dataclass(frozen=True, slots=True)
class _Found:
    """What a wish may mean, if anything shows it, after these looks; and whether doing it begins with the last look."""

    guess: Guess | None
    looks: tuple[Routed, ...] = ()
    again: bool = False


def _find(turn: Turn, text: str, *, offered: Offered, files: AbstractSet[str], searches: bool) -> Routed | _Found:
    """Returns the next look for what one wish of a turn may mean, or what it means after these looks."""
    wording = Wording(read_sentence(text.strip(), files))
    if before := guesses_before(wording, files):
        return _Found(before[0])
    looks = not wording.literals and any(map(wording.has, ("shows", "searches", "lists")))
    if looks or beyond(wording.said) is Beyond.QUESTION or not (searches or len(wording.said.files) == 1):
        return _Found(None)
    return _find_edit(wording, turn, offered)


def _find_edit(wording: Wording, turn: Turn, offered: Offered) -> Routed | _Found:
    """Returns the next look for what a wish may mean: a search, unless it names its file, and a read of the file; after
    them, what it means."""
    looks, found = tuple[Routed, ...](), tuple[FileLine, ...]()
    if len(wording.said.files) != 1:
        look = search_for(wording)
        if look is None or not is_offered(look, offered):
            return _Found(None)
        if (result := turn.result_of(look)) is None:
            return look
        looks, found = (look,), lines_found(result)
    path, lines = file_of_most(wording, found), tuple[FileLine, ...]()
    if path is not None:
        read = Routed(Intent.ANALYZE, "read_file", {"path": path, "limit": MOST_LINES})
        if (shown := turn.result_of(read)) is None:
            return read if is_offered(read, offered) else _Found(None, looks)
        looks, lines = (*looks, read), _lines(path, shown)
    guess = next(iter(guesses_in(wording, lines, found)), None)
    again = guess is not None and isinstance(route(guess.plain, frozenset({path or ""})), Edited)
    return _Found(guess, looks, again and path is not None)


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


def _take(
    wishes: Sequence[str | Routed | _Found],
    turn: Turn,
    files: AbstractSet[str],
    follow: Follow,
    looks: Sequence[Routed],
) -> Routed | Ending | None:
    """Returns the next look for the wishes that are guessed; after all `looks`, the next step of what is surely meant,
    or a question for what may be meant. None if nothing shows what, or it cannot be done."""
    plain, guesses = list[str](), list[Guess]()
    for wish in wishes:
        match wish:
            case Routed():
                return wish
            case _Found(guess=guess):
                if guess is None:
                    return None
                guesses.append(guess)
                plain.append(guess.plain)
            case str():
                plain.append(wish)
    if _collide(plain):
        return None
    if not all(guess.sure for guess in guesses):
        return _ask(plain, files, in_part=any(guess.in_part for guess in guesses))
    made = _calls_after(looks, wishes[0], turn)
    came = follow(plain, Turn(plain[0], made))
    if not isinstance(came, Ending):
        return came
    acted = any(each.call.name not in LOOKS for each in made)
    read_as = THEN.join(guess.plain for guess in guesses)
    return replace(came, text=_read_as(read_as, came.text)) if came.done or acted else None


def _read_as(plain: str, told: str) -> str:
    gap = "\n\n" if told.startswith("```") else " "
    return f"{READ_AS.format(plain=as_code(plain))}{gap}{told}"


THEN = ", then "


def _ask(plain: Sequence[str], files: AbstractSet[str], *, in_part: bool) -> Ending | None:
    """Returns the question whether the plain sentences are meant; None if a yes would not do all of them."""
    told = THEN.join(plain)
    understood = len(plain) == 1 or wishes_in(told, files) == tuple(plain)
    return suggest(told, in_part=in_part) if understood else None


def _collide(plain: Sequence[str]) -> bool:
    """Returns whether a wish changes a line by its number after another changed it, or added or removed lines."""
    before = list[str]()
    for wish in plain:
        line = _BY_NUMBER.match(wish)
        if line and any(each.startswith(line[0]) or says("adds", each) or says("deletes", each) for each in before):
            return True
        before.append(wish)
    return False


_BY_NUMBER = re.compile(r"change line \d+ of .+? to ")


def _calls_after(looks: Sequence[Routed], first: str | Routed | _Found, turn: Turn) -> tuple[TriedCall, ...]:
    """Returns the calls that were made after all looks. If doing the first wish begins with a look, that look is one of
    them; later wishes look again, because those before them may change the file."""
    made = min((turn.calls_after(look) for look in looks), key=len, default=turn.tried)
    begun = turn.made(first.looks[-1]) if isinstance(first, _Found) and first.again else None
    return made if begun is None else (begun, *made)


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
        return read if shown is None else Ending(told_around(line, shown_lines(shown)))
    if not best and named is not None:
        read = Routed(Intent.ANALYZE, "read_file", {"path": named, "limit": MOST_SHOWN_LINES})
        shown = turn.result_of(read)
        return read if shown is None else Ending(told_whole(named, shown_lines(shown)))
    return Ending(told(best)) if best else None


MOST_SHOWN_LINES = 80


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
