"""Finds the one line that sets a value, by the kind of its file, and changes the value (MOD-23). Pure.

If a line could mean anything but one plain value, it is left as it is, and a NoPlace tells the reason.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from remit_server.models.built_in.edits.kinds import (
    NUMBER,
    PYTHON,
    QUOTED,
    SCRIPT,
    WORDS_BEFORE,
    Kind,
    NoPlace,
    is_requirements,
    kind_of,
)
from remit_server.models.built_in.edits.new_settings import can_add
from remit_server.models.built_in.edits.spelling import spell

_REQUIREMENT = r"(\s*NAME(?:\[[^\]]*\])?\s*(?:==|>=|~=)\s*)(\d[\w.!+*-]*)(\s*(?:;.*)?(?:\s#.*)?)"
_LONGEST = 1000
_TYPES = re.compile(r"\s*(?:(?:export|default|declare)\s+)*(?:interface|type)\s+\w")


def with_value(path: str, lines: Sequence[str], name: str, value: str) -> tuple[int, str]:
    """Returns the number of the one line that sets the name, and that line with another value. Raises NoPlace unless
    exactly one line sets it to a plain value, or if the new value cannot stand there."""
    if re.search(r"[\x00-\x1f\x7f\x85\u2028\u2029]", value):
        raise NoPlace("the value has more than one line")
    if is_requirements(path.rpartition("/")[2].lower()):
        return _with_version(lines, name, value)
    kind = kind_of(path)
    if any(len(line) > _LONGEST and name in line for line in lines):  # to match such a line would take minutes
        raise NoPlace(f"a line that contains `{name}` is too long for me")
    name = _as_spelled(kind, lines, name)
    found = list(_settings(kind, lines, name))
    if len(found) > 1:
        raise NoPlace(f"`{name}` is set {len(found)} times")
    split = _split(kind, lines, *found[0]) if found else None
    if split is None and kind.code:
        split = _passed(kind, lines, name)
    if split is None:
        if found:
            raise NoPlace(f"the value of `{name}` is not a plain one")
        raise NoPlace(f"`{name}` is not set in the file{_instead(path, kind, lines, name, value)}")
    number, head, old, tail = split
    return number, f"{head}{spell(kind, old, value)}{tail}"


def _instead(path: str, kind: Kind, lines: Sequence[str], name: str, value: str) -> str:
    """Returns the sentence that sets the one name that is spelled almost like this one, or that adds this one."""
    words = {word for line in lines for word in re.findall(r"[A-Za-z_][\w-]*", line)}
    close = get_close_matches(name, words, n=3, cutoff=0.8)
    if meant := [word for word in close if any(True for _ in _settings(kind, lines, word))]:
        return f"; perhaps you mean: set {meant[0]} to {value} in {path}"
    return f"; to add it: add {name}: {value} to {path}" if can_add(path, name) else ""


def _as_spelled(kind: Kind, lines: Sequence[str], name: str) -> str:
    """Returns the name as the file spells it, if the file sets exactly one name that differs only in capitals, blanks,
    `_` and `-`: `MAX_ITEMS` for "max items". A section may come first: `name` for "project name" below `[project]`."""
    if " " not in name and any(True for _ in _settings(kind, lines, name)):
        return name
    first, _, rest = name.partition(" ")
    if rest and any(line.strip().lower() == f"[{first.lower()}]" for line in lines):
        name = rest
    alike = {word for line in lines for word in re.findall(r"[A-Za-z_][\w-]*", line) if _plain(word) == _plain(name)}
    spelled = [word for word in alike if any(True for _ in _settings(kind, lines, word))]
    spelled = spelled or _begun_by(kind, lines, name)
    # A line that begins with the very name may set it in a way that is not understood here.
    itself = re.compile(rf"\s*[\"']?{re.escape(name)}(?![\w-])")
    return spelled[0] if len(spelled) == 1 and not any(map(itself.match, lines)) else name


def _begun_by(kind: Kind, lines: Sequence[str], name: str) -> list[str]:
    """Returns the names that begin with all words of a name of several words: `wind_limit_knots` for "wind limit"."""
    if " " not in name:
        return []
    begins = re.compile(rf"{'[_-]'.join(map(re.escape, name.split()))}[_-]\w+", re.IGNORECASE)
    words = {word for line in lines for word in re.findall(r"[A-Za-z_][\w-]*", line) if begins.fullmatch(word)}
    return [word for word in words if any(True for _ in _settings(kind, lines, word))]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _with_version(lines: Sequence[str], name: str, value: str) -> tuple[int, str]:
    begins = re.compile(rf"\s*{re.escape(name)}(?![\w.-])", re.IGNORECASE)
    found = [number for number, line in enumerate(lines, 1) if begins.match(line)]
    if len(found) != 1:
        raise NoPlace(f"`{name}` is not in the file" if not found else f"`{name}` is in the file {len(found)} times")
    form = re.compile(_REQUIREMENT.replace("NAME", re.escape(name)), re.IGNORECASE)
    match = form.fullmatch(lines[found[0] - 1])
    if match is None or not re.fullmatch(r"\d[\w.!+*-]*", value):
        raise NoPlace(
            f"the file does not give `{name}` one version" if match is None else f"`{value}` is not a version"
        )
    return found[0], f"{match[1]}{value}{match[3]}"


def _settings(kind: Kind, lines: Sequence[str], name: str) -> Iterator[tuple[int, str, str]]:
    """Yields each line that sets the name: its number, the text before the value, and the pattern that may end it."""
    forms = [(re.compile(form.head.replace("NAME", re.escape(name))), form.end) for form in kind.forms]
    inside = _inside(kind, lines)
    for number, line in enumerate(lines, 1):
        for form, end in forms:
            if (match := form.match(line)) is None or match.end() == len(line) or number in inside:
                continue
            if kind.opens and any(not re.search(kind.opens, lines[at - 1]) for at in _above(lines, number)):
                continue
            # Within a type or an interface `kind: "a"` is a type, which only looks like a key and its text.
            key = kind is SCRIPT and match[0].rstrip().endswith(":")
            if not (key and any(_TYPES.match(lines[at - 1]) for at in _above(lines, number))):
                yield number, match[0], end
                break


def _inside(kind: Kind, lines: Sequence[str]) -> frozenset[int]:
    """Returns the numbers of the lines that begin within a string or a comment, or that continue the line above."""
    if not kind.spans:
        return frozenset()
    text = "\n".join(lines)
    found: set[int] = set()
    for match in re.finditer(kind.spans, text, re.DOTALL | re.MULTILINE):
        first = text.count("\n", 0, match.start()) + 1
        found.update(range(first + 1, first + 1 + match[0].count("\n")))
    return frozenset(found)


def _column(line: str) -> int:
    """Returns the column where the text of a line begins, after the dashes of a list item."""
    match = re.match(r"\s*(?:-\s+)*", line)
    return match.end() if match and line[match.end() :].strip() else len(line) - len(line.lstrip())


def _above(lines: Sequence[str], number: int) -> Iterator[int]:
    """Yields the numbers of the lines that enclose this one by indentation, the nearest first."""
    column = len(lines[number - 1]) - len(lines[number - 1].lstrip())
    for at in range(number - 1, 0, -1):
        if not column:
            return
        line = lines[at - 1]
        if line.strip() and not line.lstrip().startswith("#") and _column(line) < column:
            yield at
        if line.strip():
            column = min(column, len(line) - len(line.lstrip()))


def _split(kind: Kind, lines: Sequence[str], number: int, head: str, end: str) -> tuple[int, str, str, str] | None:
    """Returns the line's number, the text before its value, the value, and the text after it; None if the value is no
    literal."""
    literal = rf"{NUMBER}|{QUOTED}|(?i:true|false|null|none)"
    literal = f"{literal}|(?i:yes|no|on|off)|{kind.plain}" if kind.plain else literal
    comment = f"(?:{kind.comment})?" if kind.comment else ""
    ends = rf"\s*{end}" if end else ""
    match = re.fullmatch(rf"({literal})({ends}{comment}\s*)", lines[number - 1][len(head) :])
    if match is None or (kind.name == "json" and match[1].startswith("'")):
        return None
    if (
        kind is PYTHON
        and head.rstrip().endswith("=")
        and match[2].lstrip().startswith(",")
        and not _open_bracket(_blanked(kind, "\n".join(lines[: number - 1])))
    ):
        return None  # a tuple
    below = next((line for line in lines[number:] if line.strip() and not re.match(r"\s*[#;]", line)), "")
    if kind.opens and len(below) - len(below.lstrip()) > _column(head + "x"):
        return None
    if kind.code and match[2].lstrip()[:1] not in {",", ";"} and _goes_on(kind, lines, number, below):
        return None
    return number, head, match[1], match[2]


def _goes_on(kind: Kind, lines: Sequence[str], number: int, below: str) -> bool:
    """Returns whether the line below continues the value, for example with an operator or another part of a string."""
    if kind is PYTHON and not _open_bracket(_blanked(kind, "\n".join(lines[: number - 1]))):
        return False
    words = "if|for|or|and|in|is|not" if kind is PYTHON else "instanceof"
    return re.match(rf"\s*(?:[.?+*%&|<>=\"'(\[-]|/(?![/*])|(?:{words})\b)", below) is not None


def _passed(kind: Kind, lines: Sequence[str], name: str) -> tuple[int, str, str, str] | None:
    """Returns the one place where a call passes a literal by this name, or where it is a parameter's default, as
    `_split` does; None if there is no such place, or more than one."""
    text = "\n".join(lines)
    blanked = _blanked(kind, text)
    typed = r"(?:[ \t]*:[ \t]*[\w.\[\]| ]+)?"
    found = list(re.finditer(rf"(?<![\w.]){re.escape(name)}{typed}[ \t]*=(?![=>])[ \t]*", blanked))
    if len(found) != 1 or _open_bracket(blanked[: found[0].start()]) != "(":
        return None
    words = "" if kind is PYTHON else WORDS_BEFORE
    if not re.search(rf"[(,][\s\0]*{words}$", blanked[: found[0].start()]):
        return None
    number = text.count("\n", 0, found[0].start()) + 1
    head = text[text.rfind("\n", 0, found[0].start()) + 1 : found[0].end()]
    rest = lines[number - 1][len(head) :]
    match = re.fullmatch(rf"({NUMBER}|{QUOTED}|(?i:true|false|null|none))(\s*[,)].*|{kind.comment}|\s*)", rest)
    below = lines[number] if number < len(lines) else ""
    if match is None or (match[2].strip()[:1] not in {",", ")"} and _goes_on(kind, lines, number, below)):
        return None
    return number, head, match[1], match[2]


def _blanked(kind: Kind, text: str) -> str:
    """Returns a text with its strings and comments blanked out, so that all positions stay the same."""
    return re.sub(kind.spans, lambda match: re.sub(r"[^\n]", "\0", match[0]), text, flags=re.DOTALL | re.MULTILINE)


def _open_bracket(text: str) -> str:
    """Returns the innermost bracket that is open at the end of a text, or an empty string if all are closed."""
    opened: list[str] = []
    for sign in re.findall(r"[()\[\]{}]", text):
        if sign in "([{":
            opened.append(sign)
        elif opened:
            opened.pop()
    return opened[-1] if opened else ""


def breaks(path: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Returns whether a file could be parsed before a change and no longer can after it."""
    ending = path.rpartition(".")[2].lower()
    return ending in _READERS and _reads(ending, before) and not _reads(ending, after)


_READERS: Mapping[str, Callable[[str], object]] = {
    "py": ast.parse,
    "json": json.loads,
    "toml": tomllib.loads,
}


def _reads(ending: str, lines: Sequence[str]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parsing may warn about the code in the file
            _READERS[ending]("\n".join((*lines, "")))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
