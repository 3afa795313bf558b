"""Guesses which text of a file is replaced, added, ticked or removed (MOD-29). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from remit_server.models.built_in.guesses.evidence import FileLine, rank
from remit_server.models.built_in.guesses.guess import Guess, quoted
from remit_server.models.built_in.guesses.words import Wording, stem, stems, tokens
from remit_server.models.built_in.language.words import names_new_file

_ARROW = re.compile(r"(?P<old>\S.*?)\s*(?:->|=>|→|-->)\s*(?P<new>.+)")
_CONTRAST = re.compile(
    r"[\"'`]?(?P<one>[\w.-]*\w)[\"'`]?,? (?:(?:and |et |e |y |und )?(?:not|non|no|nicht|pas)|instead of|rather than|"
    r"statt|anstatt|au lieu de|en lugar de|en vez de|invece di|em vez de) (?:\w+ )?[\"'`]?(?P<other>[\w.-]*\w)[\"'`]?",
    re.IGNORECASE,
)
_ITS = re.compile(
    r"\b(?:its|it's|should be|should read|is spelled|must be|correct is|richtig ist|hei(?:ß|ss)t|c'est|es|è|meant|"
    r"means) [\"'`]?(?P<new>[\w-]+)",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    r"[\"'`]?(?P<old>[^\W\d]{3,})[\"'`]?,? (?:and |but )?(?:it |that |which )?(?:should|must|shall) (?:be|read|say) "
    r"[\"'`]?(?P<new>[^\W\d]{3,})",
    re.IGNORECASE,
)
_ALIKE = 0.6
_AFTER_COLON = re.compile(r":\s+(?P<text>\S.*)$")
_END = re.compile(
    r"\b(?:end|bottom|last|below everything|ende|unten|schluss|letzte\w*|fin|bas|dernière?|final|[úu]ltim[oa]|abajo|"
    r"fondo|fine|coda)\b",
    re.IGNORECASE,
)
_TOP = re.compile(r"\b(?:top|first line|anfang|oben|début|haut|principio|inicio|inizio|cima)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:right |directly |just )?(?:after|below|under(?:neath)?|beneath|following|nach|unter|hinter|après|sous|"
    r"después de|debajo de|tras|dopo|sotto|"
    r"(?:list|section|part|heading|liste|abschnitt|lista|sezione) (?:of|on|under|about|called|von|de)) (?P<anchor>.+)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:right |directly |just )?(?:before|above|over|vor|über|avant|au-dessus de|antes de|encima de|prima di|sopra) "
    r"(?P<anchor>.+)",
    re.IGNORECASE,
)
_INTO = re.compile(
    r"\b(?:to|in|into|under|for|an|in|à|a|en|al|alla) (?:the |den |die |das |la |le |el |il )?(?P<anchor>[\w' -]+?) "
    r"(?:list|section|part|heading|liste|abschnitt|lista|sección|sezione)\b",
    re.IGNORECASE,
)
_TICKS = re.compile(
    r"\b(?:tick(?:ed)?|check(?:ed)? (?:\w+ )?off|check (?:that|this|the) (?:box|item|entry)|cross(?:ed)? (?:\w+ )?off|"
    r"mark(?:ed)? (?:\w+ )*(?:as )?done|done|abhaken|hak\w*|erledigt|coche[rz]?|marca\w*|spunta\w*)\b",
    re.IGNORECASE,
)
_UNTICKED = re.compile(r"(?P<head>\s*[-*+] \[) (?P<rest>\].*)")
_REMOVES = re.compile(
    r"\b(?:bin|strip|toss|throw|kick|take|cut|scrap|ditch|zap|kill|lose|weg|raus|tira\w*|retire\w*|enl[eè]ve\w*|"
    r"saca\w*|leva\w*)\b",
    re.IGNORECASE,
)


def guess_replacement(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the replacement of a text that the file has once by another. Which of two quoted texts is the old one, the
    file says."""
    text = "\n".join(line.text for line in lines)
    pairs = [*_told_pairs(wording), *((one, other) for one, other in _quoted_pairs(wording) if not _count(text, other))]
    for old, new in pairs:
        told = (quoted(old), quoted(new))
        if _count(text, old) == 1 and old != new and None not in told:
            yield Guess(f"replace {told[0]} with {told[1]} in {lines[0].path}", sure=True)
            return


def _quoted_pairs(wording: Wording) -> Iterator[tuple[str, str]]:
    if len(wording.said.quoted) == _OLD_AND_NEW and not wording.has("adds"):
        one, other = wording.said.quoted
        yield from ((one, other), (other, one))


def _told_pairs(wording: Wording) -> Iterator[tuple[str, str]]:
    """Yields each old text and its new one, as the sentence says which is which."""
    said = wording.said
    if len(said.quoted) == 1 and (its := _ITS.search(said.bare)) and _is_alike(its["new"], said.quoted[0]):
        yield said.quoted[0], its["new"]
    for found in _SHOULD.finditer(said.short):
        if found["old"] != found["new"] and _is_alike(found["old"], found["new"]):
            yield found["old"], found["new"]
    if (arrow := _ARROW.search(said.short)) is not None:
        new = arrow["new"].strip(" .\"'`")
        words = arrow["old"].strip(" \"'`").split()
        yield from ((" ".join(words[at:]).strip("\"'`"), new) for at in range(len(words)))
    of_more = len(said.quoted) == _OLD_AND_NEW or len(wording.literals) > _OLD_AND_NEW
    for found in () if of_more else _CONTRAST.finditer(said.short):
        yield found["other"], found["one"]


def _is_alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio() >= _ALIKE


def _count(text: str, part: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(part)}(?!\w)", text)) if part else 0


def guess_new_line(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the insertion of the text in quotes, or after a colon, at the end or beside the one line that is named. In
    a table it is a row, in a list it is an entry like those beside it."""
    text, path = _payload(wording, lines), lines[0].path
    if text is not None and path.endswith(".csv"):
        text = _as_row(text, lines)
    if text is None or any(line.text.strip() == text for line in lines):
        return
    rest, placed = wording.said.text.replace(text, " "), False
    for pattern, word in ((_AFTER, "after"), (_BEFORE, "before"), (_INTO, "after")):
        if beside := pattern.search(rest):
            placed = True
            at = _anchor(beside["anchor"], wording, lines)
            anchor, told = (
                (None, None) if at is None else (quoted(lines[at].text.strip()), quoted(_like(lines[at], text)))
            )
            if anchor is not None and told is not None:
                yield Guess(f"add the line {told} {word} the line {anchor} in {path}", sure=True)
                return
    told = quoted(text)
    if told is None or placed:
        return
    if (_END.search(rest) and not _of_a_part(rest, lines)) or (path.endswith(".csv") and wording.has("adds")):
        yield Guess(f"add the line {told} at the end of {path}", sure=True)
    elif _TOP.search(rest):
        yield Guess(f"add the line {told} at the top of {path}")


def _as_row(text: str, lines: Sequence[FileLine]) -> str | None:
    """Returns a text as a row of the table, without the names of columns before its cells; None if it has not as many
    cells."""
    header, cells = lines[0].text.split(","), [cell.strip() for cell in text.split(",")]
    if len(header) != len(cells):
        return None
    bare = (
        re.sub(rf"^{re.escape(name.strip())}:? ", "", cell, flags=re.IGNORECASE)
        for name, cell in zip(header, cells, strict=True)
    )
    return ",".join(bare)


def _like(line: FileLine, text: str) -> str:
    """Returns a text as an entry of the list that a line belongs to."""
    mark = _ENTRY.match(line.text)
    return text if mark is None or _ENTRY.match(text) else f"{mark[1]}{'[ ] ' if mark[2] else ''}{text}"


_ENTRY = re.compile(r"\s*([-*+] )(\[[ xX]\] )?")


def _of_a_part(text: str, lines: Sequence[FileLine]) -> bool:
    """Returns whether the end is that of a part of the file: "at the end of nav"."""
    part = _OF_PART.search(text)
    begins = (re.match(r"[\s#\[\"'-]*([\w-]+)", line.text) for line in lines)
    return part is not None and any(found and found[1].lower() == part[1].lower() for found in begins)


_OF_PART = re.compile(
    r"\b(?:end|bottom|ende|fin|final|fine|fondo) (?:of|von|de|der|des|du|del|della|di|do|da) (?:the |la |el |il )?"
    r"([\w-]+)",
    re.IGNORECASE,
)


def _payload(wording: Wording, lines: Sequence[FileLine]) -> str | None:
    said = wording.said
    if len(said.quoted) == 1:
        return said.quoted[0]
    if said.quoted:
        return None
    if (after := _AFTER_COLON.search(said.text)) is not None:
        return after["text"]
    has = {line.text.strip() for line in lines}
    if not (wording.has("adds") or _END.search(said.text) or _AFTER.search(said.text) or _BEFORE.search(said.text)):
        return None
    odd = [
        each
        for each in re.findall(r"\S*[_*/,]\S*\w\S*", said.bare)
        if each not in has and each.strip("./") not in said.files
    ]
    return odd[0].strip(".") if len(odd) == 1 else None


def file_of_rows(wording: Wording, found: Sequence[FileLine]) -> str | None:
    """Returns the one table with as many columns as the new row of a sentence has."""
    text = _payload(wording, ())
    columns = text.count(",") if text else 0
    tables = {line.path for line in found if line.path.endswith(".csv") and line.text.count(",") == columns}
    return tables.pop() if columns > 1 and len(tables) == 1 else None


def _anchor(text: str, wording: Wording, lines: Sequence[FileLine]) -> int | None:
    """Returns where the one line is that has most of the words that a text begins with; for a heading with a list below
    it, the last entry."""
    words = [each for each in map(stem, re.findall(r"[^\W_]+", text)) if each in wording.words]
    found = list[int]()
    for many in range(len(words), 0, -1):
        found = [at for at, line in enumerate(lines) if frozenset(words[:many]) <= stems(line.text)]
        if found:
            break
    if len(found) != 1:
        return None
    at = found[0]
    if lines[at].text.startswith("#"):
        end = next((each for each in range(at + 1, len(lines)) if lines[each].text.startswith("#")), len(lines))
        at = max((each for each in range(at + 1, end) if _BULLET.match(lines[each].text)), default=at)
    return at


_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)]) ")


def guess_tick(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the tick in the one open box whose line has a word of the sentence."""
    if _TICKS.search(wording.said.text) is None:
        return
    ranked = rank(wording, [line for line in lines if _UNTICKED.fullmatch(line.text)])
    for line in (each.line for each in ranked[:1] if sum(other.share == each.share for other in ranked) == 1):
        ticked = _UNTICKED.sub(r"\g<head>x\g<rest>", line.text)
        told = (quoted(line.text.strip()), quoted(ticked.strip()))
        if None not in told:
            yield Guess(f"replace {told[0]} with {told[1]} in {line.path}", sure=True)


def guess_removal(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the removal of the one line that has most words of a sentence that says that something goes; it is sure
    for the one row of a table that has all of them."""
    if not (wording.has("deletes") or _REMOVES.search(wording.said.text)):
        return
    texts = (*wording.said.quoted, *wording.names)
    wanted = (frozenset(wording.words) | {part for text in texts for part in tokens(text)}) - _OF_A_LINE
    had = [(len(wanted & tokens(line.text)), line) for line in lines]
    most = max((count for count, _ in had), default=0)
    best = [line for count, line in had if count == most]
    told = quoted(best[0].text.strip()) if most and len(best) == 1 else None
    if told is not None:
        row = best[0].path.endswith(".csv") and most == len(wanted) and bool(wording.said.files)
        yield Guess(f"remove the line {told} from {best[0].path}", sure=row)


_OF_A_LINE = frozenset({"line", "row", "entry", "zeil", "lign", "ligne", "riga", "fila", "línea", "linea", "linha"})
"""Words for a line, which it does not have itself."""


def guess_rename(wording: Wording, found: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the renaming of a name that the files have to one that they do not have."""
    names = [name for name in wording.names if not name.startswith("-")]
    if not wording.has("moves") or len(names) != _OLD_AND_NEW:
        return
    text = "\n".join(line.text for line in found)
    has = [bool(_count(text, name)) for name in names]
    if has == [True, False]:
        yield Guess(f"rename {names[0]} to {names[1]} everywhere", sure=True)


_OLD_AND_NEW = 2


def guess_new_file(wording: Wording) -> Iterator[Guess]:
    """Yields the creation of the one file that a sentence names and that does not exist, with the text after a
    colon."""
    said = wording.said
    after = _AFTER_COLON.search(said.text)
    if said.files or len(said.paths) != 1 or not names_new_file(said.paths[0]) or after is None:
        return
    told = quoted(after["text"].strip("\"'`“”"))
    if told is not None:
        yield Guess(f"create {said.paths[0]} with the text {told}", sure=wording.has("creates"))
