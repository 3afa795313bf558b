"""Guesses which setting gets which value (MOD-29). Pure.

A sentence has a literal, and words that are the parts of one setting's name; or words of the record that the setting
is in, as in "the stock of green tea is 40".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_server.models.built_in.edits.kinds import NoPlace, kind_of
from remit_server.models.built_in.edits.spelling import spell
from remit_server.models.built_in.guesses.evidence import FileLine
from remit_server.models.built_in.guesses.guess import Guess, quoted
from remit_server.models.built_in.guesses.words import Wording, alike, stems, tokens
from remit_server.models.built_in.language.words import filling

_SETS = re.compile(
    r"""(?P<head>\s*(?:[-*]\s+)?"""
    r"""(?:(?:export|const|let|var|final|static|public|private|readonly|local|declare|set|val)\s+)*"""
    r"""["']?(?P<name>-{0,2}[A-Za-z][\w.-]*)["']?\s*(?::\s*[\w\[\]<>|, ]+?\s*(?==))?(?:=>|:=|=(?!=)|:(?!:))\s*)"""
    r"""(?P<value>"[^"]*"|'[^']*'|\#[\da-fA-F]+|[^\s,;#"'{\[(][^,;#]*?)(?P<tail>\s*[,;]?\s*(?:(?:#|//|/\*).*)?)"""
)
"""Matches a line that sets a name to a plain value."""
_NUMBER = re.compile(r"-?\d[\d_.]*")
_SWITCH = frozenset({"true", "false", "on", "off", "yes", "no"})
_LEADS = re.compile(
    r"(?:\b(?:to|be|auf|sein|à|a|su|ser|essere|être|read)|=|->|=>|→|:) ?(?P<value>[A-Za-z][\w.+-]*)\W*$",
    re.IGNORECASE,
)
"""A plain word at the end of a sentence that can only be a value."""
_PLACE_WORD = re.compile(r"\b(?:lines?|zeilen?|lignes?|l[ií]neas?|righ?[ae]|linhas?) \d", re.IGNORECASE)
_NEAR = 6


@dataclass(frozen=True, slots=True)
class _Setting:
    """A line that sets a name, how much of the name the sentence has (from 1 to 3), and how many of its other words
    the lines around it have."""

    line: FileLine
    name: str
    value: str
    head: str
    tail: str
    told: int
    beside: int


def guess_value(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the setting of the one name that a sentence is about to the one literal that it has. `lines` are the lines
    of one file, all of them in their order."""
    new, best = _literals(wording), _best(wording, lines)
    if not new or len(best) != 1 or _PLACE_WORD.search(wording.rest):
        return
    at = best[0]
    values = [each for each in new if each.strip('"') != at.value.strip("\"'") and _fits(each, at.value)]
    plain = _sentence(at, _as_switch(values[0], at.value), lines) if len(values) == 1 else None
    if plain is not None:
        clear = at.told > 1 and (
            at.told > _PARTS_OF_NAME or bool(wording.said.files) or at.beside > 0 or len(stems(at.name)) > 1
        )
        yield Guess(plain, sure=clear)


_PARTS_OF_NAME = 2


def file_that_sets(wording: Wording, found: Sequence[FileLine]) -> str | None:
    """Returns the one file that sets the name that a sentence is about, by the lines that a search found."""
    paths = {each.line.path for each in _best(wording, found)} if _literals(wording) else set[str]()
    return paths.pop() if len(paths) == 1 else None


def _best(wording: Wording, lines: Sequence[FileLine]) -> list[_Setting]:
    found = list(_settings(wording, lines))
    most = max(((each.told, each.beside) for each in found), default=None)
    return [each for each in found if (each.told, each.beside) == most]


def _literals(wording: Wording) -> tuple[str, ...]:
    """Returns the literals of a sentence; if it has none, its last word, its name, the text after a sign or the switch
    that it turns."""
    said = wording.said.short
    if wording.literals:
        return wording.literals
    if (word := _LEADS.search(said)) is not None:
        return (word["value"],)
    if (text := _TEXT.search(said) or _NAMED.search(said)) is not None:
        return (f'"{text["text"]}"',)
    turned = [value for value, turns in _TURNS if turns.search(said)]
    return tuple(turned) if len(turned) == 1 else ()


_TEXT = re.compile(r"(?<!\w)[A-Za-z][\w-]* ?[:=] (?P<text>[^\s\"][^\"]*[^\s\".])\W*$")
_NAMED = re.compile(r"\b(?:is|to|be|ist|auf|est|à|es|a|è|é|será) (?P<text>[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)+)")
"""A name of several words, such as a person's."""
_TURNS = (
    ("true", re.compile(
        r"\b(?:enable\w*|(?:turn|switch)(?:ed)? (?:\w+ )*on|activate\w*|aktivier\w*|ein(?:schalt\w*)|schalte? .*\bein|"
        r"activ[ae]\w*|habilit\w*|attiva\w*|abilita\w*|ativ[ae]\w*|allume\w*|accend\w*)\b", re.IGNORECASE)),
    ("false", re.compile(
        r"\b(?:disable\w*|(?:turn|switch)(?:ed)? (?:\w+ )*off|deactivate\w*|deaktivier\w*|aus(?:schalt\w*)|"
        r"schalte? .*\baus|d[ée]sactiv\w*|desactiv\w*|deshabilit\w*|disattiva\w*|disabilita\w*|desativ\w*)\b",
        re.IGNORECASE)),
)  # fmt: skip
_PAIRS = (("true", "false"), ("on", "off"), ("yes", "no"))


def _as_switch(new: str, old: str) -> str:
    """Returns a switch in the words of the old one: `yes` for `true` where it was `no`."""
    at = next((pair.index(new.lower()) for pair in _PAIRS if new.lower() in pair), None)
    pair = next((pair for pair in _PAIRS if old.lower() in pair), None)
    if at is None or pair is None or new.lower() in pair:
        return new
    return pair[at].capitalize() if old[:1].isupper() else pair[at]


def _settings(wording: Wording, lines: Sequence[FileLine]) -> Iterator[_Setting]:
    names = frozenset(name for name in wording.names if _IDENTIFIER.fullmatch(name))
    known = [line for line in lines if any(name in line.text for name in names)]
    literals = {each.strip('"') for each in wording.literals}
    for at, line in enumerate(lines):
        match = _SETS.fullmatch(line.text) or (_DIRECTIVE.fullmatch(line.text) if line.path.endswith(".conf") else None)
        if match is None or not wording.beside_literal <= stems(line.text) or (names and line not in known):
            continue
        parts = stems(match["name"]) - filling() or stems(match["name"])
        had = parts & wording.meant
        spelled = match["name"] in wording.said.bare.split() and match["name"].lower() not in filling()
        named = match["name"] in wording.names or spelled
        whole = had and (had == parts or match["value"].strip("\"'") in literals)
        told = 3 if named else 2 if whole else 1 if any(len(each) > _SHORT or each in _BRIEF for each in had) else 0
        if told:
            near = wording.said_by(" ".join(each.text for each in _record(lines, at)))
            beside = len([word for word in near if parts.isdisjoint(alike(word))])
            yield _Setting(line, match["name"], match["value"], match["head"], match["tail"], told, beside)


_SHORT = 3
_BRIEF = frozenset({"mem", "ram", "age", "key", "vat", "tax", "fee"})
"""Short words that say enough of a setting."""
_IDENTIFIER = re.compile(r"[A-Za-z]\w*_\w+|[a-z]{3,}[A-Z]\w*")
"""A name that must be in the line that sets it."""
_DIRECTIVE = re.compile(r"(?P<head>\s*(?P<name>[a-z]\w+)\s+)(?P<value>[^\s;{]+)(?P<tail>;\s*(?:#.*)?)")
"""Matches a line such as `keepalive_timeout 65s;`."""


def _record(lines: Sequence[FileLine], at: int) -> Iterator[FileLine]:
    """Yields the line, those beside it that are indented as deep, and the one that they stand below."""
    yield lines[at]
    deep = _indent(lines[at].text)
    for step in (-1, 1):
        here = at + step
        while (
            0 <= here < len(lines)
            and abs(here - at) <= _NEAR
            and lines[here].text.strip()
            and _indent(lines[here].text) >= deep
        ):
            yield lines[here]
            here += step
        if step < 0 <= here:
            yield lines[here]


def _indent(text: str) -> int:
    match = re.match(r"\s*(?:-\s+)?", text)
    return match.end() if match else 0


def _fits(new: str, old: str) -> bool:
    """Returns whether a value may stand in the place of another: a number for a number, a switch for a switch, a text
    for a text."""
    plain = old.strip("\"'")
    if new.startswith('"'):
        return not _NUMBER.fullmatch(old) and old.lower() not in _SWITCH
    if new.lower() in _SWITCH or new.lower() in {"null", "none"}:
        return old.lower() in _SWITCH or new.lower() in {"null", "none"}
    if _NUMBER.fullmatch(new):
        return _NUMBER.fullmatch(plain) is not None
    return old.lower() not in _SWITCH and not _NUMBER.fullmatch(old)


def _sentence(at: _Setting, value: str, lines: Sequence[FileLine]) -> str | None:
    """Returns the sentence that sets the value: by its name, or by its line if several lines set the name."""
    path, text = at.line.path, value.strip('"')
    same = [line for line in lines if (match := _SETS.fullmatch(line.text)) and match["name"] == at.name]
    try:
        kind = kind_of(path)
        new = spell(kind, at.value, value)
    except NoPlace:
        new = f"{at.value[0]}{text}{at.value[0]}" if at.value[:1] in "\"'" else text
    if len(same) == 1 and not at.name.startswith("-"):
        return f"set {at.name} to {value} in {path}"
    whole = quoted(f"{at.head}{new}{at.tail}".strip())
    return None if whole is None else f"change line {at.line.number} of {path} to {whole}"


def guess_cell(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the change of one cell of a table. A sentence has words of the row, and either names the column and a
    literal, or has a value that other rows have in one column."""
    if not lines or not lines[0].path.endswith(".csv"):
        return
    header, table = _cells(lines[0].text), [_cells(line.text) for line in lines]
    words = tokens(" ".join((*wording.words, *wording.names)))
    columns = [at for at, name in enumerate(header) if stems(name) and stems(name) <= words]
    told = words - {part for at in columns for part in stems(header[at])}
    had = [len(told & tokens(line.text)) if at else 0 for at, line in enumerate(lines)]
    rows = [at for at, count in enumerate(had) if count and count == max(had)]
    if len(rows) != 1 or len(table[rows[0]]) != len(header):
        return
    row = table[rows[0]]
    said = {each.lower() for each in re.findall(r"[\w.-]*\w", wording.said.text)}
    known = {(at, cells[at]) for cells in table[1:] for at in range(len(header)) if len(cells) == len(header) and at}
    other = {(at, value) for at, value in known if value.lower() in said and value.lower() != row[at].lower()}
    own = {cell.lower() for cell in row}
    literal = [(at, wording.literals[0].strip('"')) for at in columns] if len(wording.literals) == 1 else []
    new = literal or [(at, value) for at, value in other if value.lower() not in own]
    if len(new) != 1:
        return
    at, value = new[0]
    whole = quoted(",".join(value if each == at else cell for each, cell in enumerate(row)))
    if whole is not None and ",".join(row) == lines[rows[0]].text and row[at] != value:
        yield Guess(f"change line {lines[rows[0]].number} of {lines[0].path} to {whole}", sure=bool(literal))


def _cells(text: str) -> list[str]:
    return next(csv.reader([text]), list[str]())
