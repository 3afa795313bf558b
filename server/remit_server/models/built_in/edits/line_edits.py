"""Edits of single lines: the edits that a sentence can name, and the `edit_file` call that makes each (MOD-23). Pure.

The model reads the file first and then changes exactly the named place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from remit_server.models.built_in.edits.kinds import NoPlace, is_prose, is_requirements
from remit_server.models.built_in.edits.list_entries import with_entry, without_entry
from remit_server.models.built_in.edits.new_settings import with_setting
from remit_server.models.built_in.edits.values import breaks, with_value


@dataclass(frozen=True, slots=True)
class AtLine:
    """The place before the line with this number, counted from 1; 0 is the end of the file. `beside` is the line that
    the sentence named for it, 0 if it named none."""

    number: int
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Beside:
    """The place before or after the one line that has this text."""

    text: str
    after: bool


@dataclass(frozen=True, slots=True)
class AmongImports:
    """The place after the last unindented import, or else below the comments and the docstring at the top."""


@dataclass(frozen=True, slots=True)
class Insert:
    """A new line at a place."""

    text: str
    place: AtLine | Beside | AmongImports


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, in the file's language."""

    text: str
    place: AtLine | Beside


@dataclass(frozen=True, slots=True)
class Commented:
    """Turns the line with this number or this text into a comment if `out`, or else back into code; -1 is the last
    line."""

    line: int | str
    out: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A new docstring for a Python function or class."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes the line with this number or this text; with `last`, all lines from `line` to `last`. Negative numbers
    count from the end: -1 is the last line."""

    line: int | str
    last: int | None = None


@dataclass(frozen=True, slots=True)
class RemoveEntry:
    """Removes the line of a list with this entry, regardless of a bullet before it and a version after it."""

    name: str


@dataclass(frozen=True, slots=True)
class Title:
    """A new title for a page: its first heading, or the `<title>` of HTML; or another text for the heading `old`."""

    text: str
    old: str | None = None


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A new last entry of the list of this name, or, if it is not `added`, the entry to take out of it."""

    name: str
    entry: str
    added: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """A new version for a requirement. If it is `exact`, the requirement allows no other version."""

    name: str
    version: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class SetValue:
    """A new value for a name, which is a constant or a key."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A new text for the line with this number; -1 is the last line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class AddSetting:
    """A new setting at the top level of a file of settings. A value in quotes is a text."""

    name: str
    value: str


LineEdit = (
    AddSetting
    | Insert
    | Comment
    | Commented
    | Document
    | ListEntry
    | Pin
    | Remove
    | RemoveEntry
    | Rewrite
    | SetValue
    | Title
)
_LINE = re.compile(r"(\d+)\|(.*)")
_IMPORT = re.compile(r"(?:import|from|use|require)\b *[^\s=.:)]|#include\b|(?:const|let|var) .*require\(")
_DEFINITION = re.compile(r"(?:async def|def|class|function|fn|func|export)\b|@")
_TAKES_MORE = re.compile(r".*[{\[(\\|>]|.*\s[|>][+-]?\d?|\s*\[[^,]*\]|\s*(?:fi|done|esac|end\w*|else|then|do|begin)")
"""Matches a line that begins or ends something of several lines: by a sign, a section's header or a keyword."""
_CLOSES = re.compile(r"\s*[}\])]")


def lines_of(result: str) -> tuple[str, ...]:
    """Returns the lines that `read_file` showed. Raises NoPlace if it did not show the whole file."""
    head, *shown = result.split("\n")
    if "; more with offset" in head or "more characters)" in result:
        raise NoPlace("the file is too long for me")
    return tuple(match[2] for line in shown if (match := _LINE.fullmatch(line)))


def plan_edit(path: str, edit: LineEdit, lines: Sequence[str]) -> Mapping[str, JsonValue]:
    """Returns the arguments of the `edit_file` call that makes the edit. Raises NoPlace if it cannot be made."""
    match edit:
        case Insert(text=text, place=place):
            before = _free_place(path, place, lines)
            made = f"{_indent(place, before, lines)}{text}"
            if path.lower().endswith(".json"):  # one comma too few or too many makes the file unreadable
                made = made if made.endswith(",") or not _may_go_on(lines, before) else f"{made},"
                _require_read(path, lines, (*lines[: before - 1], made, *lines[before - 1 :]))
            return _insert(path, made, before, lines)
        case Comment(text=text, place=place):
            before = _free_place(path, place, lines)
            return _insert(path, f"{_indent(place, before, lines)}{_as_comment(text, path)}", before, lines)
        case Document(name=name, text=text):
            before = _below_header(lines, name)
            indent = _indent(AtLine(before, beside=before), before, lines)
            return _insert(path, f'{indent}"""{text}"""', before, lines)
        case ListEntry(name=name, entry=entry, added=False):
            at, changed = without_entry(path, lines, name, entry)
            return _remove(path, lines, at, at) if changed is None else _rewrite(path, at, changed, lines)
        case Remove() | RemoveEntry():
            return _remove(path, lines, *_to_remove(path, edit, lines))
        case AddSetting() | ListEntry() | Rewrite() | SetValue() | Pin() | Commented() | Title():
            return _rewrite(path, *_changed(path, edit, lines), lines)
        case _:
            assert_never(edit)


_COMMENTS: Mapping[str, str] = {
    **dict.fromkeys(("py", "sh", "yaml", "yml", "toml", "ini", "cfg", "conf", "rb", "mk", "env"), "# "),
    **dict.fromkeys(("js", "ts", "jsx", "tsx", "mjs", "java", "go", "rs", "c", "h", "cpp", "cs", "swift", "kt"), "// "),
    **dict.fromkeys(("sql", "lua"), "-- "),
}
"""The sign that begins a comment, by the file's ending."""


def _may_go_on(lines: Sequence[str], before: int) -> bool:
    """Returns whether a line of JSON has another entry below it, so that a comma has to follow it."""
    return before <= len(lines) and _CLOSES.match(lines[before - 1]) is None


def _comment_mark(path: str) -> str:
    mark = "# " if is_requirements(path.rpartition("/")[2].lower()) else _COMMENTS.get(path.rpartition(".")[2].lower())
    if mark is None:
        raise NoPlace("I do not know this file's comment syntax")
    return mark


def _as_comment(text: str, path: str) -> str:
    mark = _comment_mark(path)
    return text if text.startswith(mark.strip()) else f"{mark}{text}"


def _below_header(lines: Sequence[str], name: str) -> int:
    """Returns the number of the line below the header of a function or class that has no docstring."""
    header = re.compile(rf"\s*(?:async )?(?:def|class) {re.escape(name)}\b")
    found = [number for number, line in enumerate(lines, 1) if header.match(line)]
    if len(found) != 1:
        raise NoPlace(
            f"`{name}` is not defined in this file" if not found else f"`{name}` is defined {len(found)} times"
        )
    at = next((number for number in range(found[0], len(lines)) if lines[number - 1].rstrip().endswith(":")), 0)
    if not at or not lines[at].strip():
        raise NoPlace(f"I cannot tell where the body of `{name}` begins")
    if re.match(r"\s*[rRuU]?[\"']", lines[at]):
        raise NoPlace(f"`{name}` has a docstring already")
    return at + 1


def _numbered(number: int, lines: Sequence[str]) -> int:
    at = len(lines) + 1 + number if number < 0 else number
    if not 1 <= at <= len(lines):
        raise NoPlace(f"the file has {len(lines)} lines")
    return at


def _place(place: AtLine | Beside | AmongImports, lines: Sequence[str]) -> int:
    """Returns the number of the line before which the new one goes; for the end, the number of lines plus one."""
    match place:
        case AtLine(number=0):
            return len(lines) + 1
        case AtLine(number=number):
            if not 1 <= number <= len(lines) + 1:
                raise NoPlace(f"the file has {len(lines)} lines")
            return number
        case Beside(text=text, after=after):
            return _only(lines, text) + after
        case AmongImports():
            return _after_imports(lines)
        case _:
            assert_never(place)


def _free_place(path: str, place: AtLine | Beside | AmongImports, lines: Sequence[str]) -> int:
    """Returns the number of the line before which the new one can go. Raises NoPlace if no line can go there."""
    before = _place(place, lines)
    if path.lower().endswith(".json") and not 1 < before <= len(lines):
        raise NoPlace("a new line has to be inside its outermost brackets")
    named = before > 1 and (isinstance(place, Beside) or (isinstance(place, AtLine) and 0 < place.beside < before))
    if named and lines[before - 2].rstrip().endswith("("):
        raise NoPlace("that line begins something that continues below it")
    return 2 if before == 1 and lines and lines[0].startswith("#!") else before


def _whole(path: str, lines: Sequence[str], at: int) -> int:
    """Returns `at` if that line can be removed alone. Raises NoPlace if it is part of something longer."""
    line, above = lines[at - 1], lines[at - 2] if at > 1 else ""
    below = next((text for text in lines[at:] if text.strip()), "")
    more = len(below) - len(below.lstrip()) > len(line) - len(line.lstrip())
    more = more or any(line.count(quotes) % 2 for quotes in ('"""', "'''"))
    if not is_prose(path):
        opened, closed = (sum(map(line.count, signs)) for signs in ("([{", ")]}"))
        more = more or opened != closed or _TAKES_MORE.fullmatch(line.rstrip()) is not None
    if more:
        raise NoPlace("that line begins something that takes several lines; name the lines by their numbers")
    if _leaves_comma(path, lines, at):
        _require_read(path, lines, (*lines[: at - 2], _without_comma(above), *lines[at:]))
        return at
    if path.lower().endswith(".json") and _CLOSES.match(below) and above.rstrip().endswith(","):
        raise NoPlace("the line above would end with a comma that nothing follows")
    _require_read(path, lines, (*lines[: at - 1], *lines[at:]))
    return at


def _leaves_comma(path: str, lines: Sequence[str], at: int) -> bool:
    """Returns whether a JSON file can be read with this line, and cannot without it because of the comma above it."""
    ends = path.lower().endswith(".json") and at > 1 and lines[at - 2].rstrip().endswith(",")
    return ends and breaks(path, lines, (*lines[: at - 1], *lines[at:]))


def _without_comma(line: str) -> str:
    return line.rstrip().removesuffix(",")


def _require_read(path: str, lines: Sequence[str], after: Sequence[str]) -> None:
    if breaks(path, lines, after):
        raise NoPlace("the file would no longer be valid")


def _indent(place: AtLine | Beside | AmongImports, before: int, lines: Sequence[str]) -> str:
    """Returns the indentation of the line that the sentence names; a new line beside it belongs to the same block."""
    match place:
        case AtLine(number=number, beside=beside) if number > beside > 0:
            line = _block_of(lines, beside)
        case AtLine(number=number, beside=beside) if number and beside:
            line = lines[beside - 1] if beside <= len(lines) else ""
        case Beside(after=after):
            line = _block_of(lines, before - 1) if after else lines[before - 1]
        case _:
            line = ""
    return line[: len(line) - len(line.lstrip())]


def _block_of(lines: Sequence[str], number: int) -> str:
    """Returns a line of the block that a new line below this one belongs to: the next line if this one opens a block,
    or else this line itself."""
    line, below = (lines[at - 1] if at <= len(lines) else "" for at in (number, number + 1))
    opens = line.rstrip().endswith((":", "{", "[", "("))
    return below if opens and below.startswith(f"{line[: len(line) - len(line.lstrip())]} ") else line


def _after_imports(lines: Sequence[str]) -> int:
    """Returns the number of the line after the imports at the top, or after the docstring if there are none."""
    start = _after_docstring(lines)
    last = start - 1
    for at in range(start, len(lines)):
        line = lines[at]
        goes_on = last == at - 1 >= start and (line[:1].isspace() or line.startswith((")", "}")))
        if _IMPORT.match(line) or (goes_on and line.strip()):
            last = at
        elif _DEFINITION.match(line) or (last >= start and line.strip() and not line.startswith(("#", "//"))):
            break
    return last + 2


def _after_docstring(lines: Sequence[str]) -> int:
    """Returns the index of the first line after the comments and the docstring that a file begins with."""
    at = 0
    while at < len(lines) and (lines[at].startswith("#") or not lines[at].strip()):
        at += 1
    if at < len(lines) and (quotes := re.match(r'"""|\'\'\'', lines[at])):
        ends = (
            n for n in range(at, len(lines)) if lines[n].count(quotes[0]) == 2 or (n > at and quotes[0] in lines[n])
        )
        at = next(ends, at) + 1
    return at


def _only(lines: Sequence[str], text: str) -> int:
    exact = [number for number, line in enumerate(lines, 1) if line.strip() == text.strip()]
    found = exact or [number for number, line in enumerate(lines, 1) if text in line]
    found = found or [number for number, line in enumerate(lines, 1) if text.lower() in line.lower()]
    if len(found) > 1:  # prefer the line that begins with the text, because it sets, defines or imports that name
        begins = re.compile(rf"\s*(?:import |def |class |const |let |var )?[\"']?{re.escape(text)}\b")
        found = [number for number in found if begins.match(lines[number - 1])] or found
    if len(found) != 1:
        raise NoPlace(f"no line has the text `{text}`" if not found else f"{len(found)} lines have this text")
    return found[0]


def _changed(
    path: str, edit: AddSetting | ListEntry | Rewrite | SetValue | Pin | Commented | Title, lines: Sequence[str]
) -> tuple[int, str]:
    """Returns the number of the line that changes, and its new text."""
    match edit:
        case AddSetting() | ListEntry() | Title():
            return _extended(path, edit, lines)
        case Rewrite(line=line, text=text):
            at = _numbered(line, lines)
            return at, f"{_leading(lines[at - 1])}{text}"
        case SetValue(name=name, value=value):
            at, changed = with_value(path, lines, name, value)
            _require_read(path, lines, (*lines[: at - 1], changed, *lines[at:]))
            return at, changed
        case Pin(name=name, version=version, exact=exact):
            at = _entry(lines, name)
            return at, _pinned(lines[at - 1], version, exact=exact)
        case Commented(line=line, out=out):
            at = _numbered(line, lines) if isinstance(line, int) else _only(lines, line)
            changed = _commented(path, lines[at - 1]) if out else _uncommented(path, lines[at - 1])
            if out and path.endswith(".py"):  # without its only line a block would be empty
                _require_read(path, lines, (*lines[: at - 1], changed, *lines[at:]))
            return at, changed
        case _:
            assert_never(edit)


def _extended(path: str, edit: AddSetting | ListEntry | Title, lines: Sequence[str]) -> tuple[int, str]:
    match edit:
        case AddSetting(name=name, value=value):
            at, above, made = with_setting(path, lines, name, value)
            return at, f"{above}\n{made}"
        case ListEntry(name=name, entry=entry):
            return with_entry(path, lines, name, entry)
        case Title(text=text, old=old):
            return _titled(lines, text, old)


_HEADING = re.compile(r"(#{1,6}\s+|.*<(?:title|h[1-6])>)(.*?)(\s*|</(?:title|h[1-6])>.*)", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_UNDERLINE = re.compile(r"(?:=+|-{3,})\s*")


def _titled(lines: Sequence[str], text: str, old: str | None) -> tuple[int, str]:
    """Returns the number of the line with a page's title or with the heading `old`, and that line with another text.
    Raises NoPlace if the page has none, or has several headings `old`."""
    found = [(at, line) for at, line, told in _headings(lines, text) if old is None or told.lower() == old.lower()]
    if not found:
        raise NoPlace("the file has no title" if old is None else f"the file has no heading `{old}`")
    if old is not None and len(found) > 1:
        raise NoPlace(f"the file has {len(found)} headings `{old}`")
    return found[0]


def _headings(lines: Sequence[str], text: str) -> Iterator[tuple[int, str, str]]:
    """Yields each heading outside blocks of code: its number, its line with another text, and its text."""
    inside, begins = False, _after_front_matter(lines)
    for number, line in enumerate(lines, 1):
        inside ^= _FENCE.match(line) is not None
        if inside or number <= begins:
            continue
        if (found := _HEADING.fullmatch(line)) is not None:
            yield number, f"{found[1]}{text}{found[3]}", found[2]
        elif number < len(lines) and line.strip() and _UNDERLINE.fullmatch(lines[number]):
            yield number, text, line.strip()


def _after_front_matter(lines: Sequence[str]) -> int:
    """Returns the number of the line that ends the settings before the text of a page, or 0 if there are none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((at for at, line in enumerate(lines[1:], 2) if line.rstrip() == "---"), 0)


def _leading(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _commented(path: str, line: str) -> str:
    text = line.lstrip()
    if not text or text.startswith(_comment_mark(path).strip()):
        raise NoPlace("the line is empty" if not text else "the line is a comment already")
    return f"{_leading(line)}{_comment_mark(path)}{text}"


def _uncommented(path: str, line: str) -> str:
    text, mark = line.lstrip(), _comment_mark(path).strip()
    if not text.startswith(mark):
        raise NoPlace("the line is not a comment")
    return f"{_leading(line)}{text.removeprefix(mark).removeprefix(' ')}"


_PINNED = re.compile(r"(?P<name>[^=<>~!#;]*?)\s*(?P<sign>[=<>~!]=?|===)\s*[\w.*]+(?P<rest>\s*(?:[;#].*)?)")
_UNPINNED = re.compile(r"(?P<name>[^=<>~!#;,]*?)(?P<rest>\s*(?:[;#].*)?)")


def _pinned(line: str, version: str, *, exact: bool) -> str:
    """Returns a requirement with another version. One that has no version is pinned to this one with `==`, and if the
    version is `exact`, so is any other."""
    if (pinned := _PINNED.fullmatch(line)) is not None and pinned["sign"] in {"==", "===", ">=", "~="}:
        sign = "==" if exact and pinned["sign"] != "===" else pinned["sign"]
        return f"{pinned['name']}{sign}{version}{pinned['rest']}"
    if (unpinned := _UNPINNED.fullmatch(line)) is not None:
        return f"{unpinned['name']}=={version}{unpinned['rest']}"
    raise NoPlace("the requirement has more than one version, or an upper limit")


def _to_remove(path: str, edit: Remove | RemoveEntry, lines: Sequence[str]) -> tuple[int, int]:
    match edit:
        case RemoveEntry(name=name):
            return (at := _entry(lines, name)), at
        case Remove(line=line, last=last):
            at = _numbered(line, lines) if isinstance(line, int) else _whole(path, lines, _only(lines, line))
            return at, at if last is None else _numbered(last, lines)
        case _:
            assert_never(edit)


def _entry(lines: Sequence[str], name: str) -> int:
    """Returns the number of the one line that is this entry of a list. A bullet or a checkbox may stand before the
    entry, and the rest of a requirement after it ("flask>=2 ; python_version > '3'")."""
    entry = re.compile(
        rf"\s*(?:[-*+•]\s+)?(?:\[[ xX]?\]\s+)?{re.escape(name)}\s*(?:\[[^\]]*\]\s*)?(?:(?:[=<>~!]=?|===)\s*[\w.*].*)?",
        re.IGNORECASE,
    )
    found = [number for number, line in enumerate(lines, 1) if entry.fullmatch(line.partition(" #")[0].rstrip())]
    if len(found) != 1:
        raise NoPlace(f"no line consists of `{name}` alone" if not found else f"{len(found)} lines are `{name}`")
    return found[0]


def _insert(path: str, text: str, before: int, lines: Sequence[str]) -> Mapping[str, JsonValue]:
    if not lines:
        raise NoPlace("the file is empty")
    # `edit_file` replaces a text, so it needs a neighbouring line that is not empty: the one above, or else below.
    if before > 1 and (line := lines[before - 2]):
        return {"path": path, "old_text": line, "new_text": f"{line}\n{text}", "line": before - 1}
    if before <= len(lines) and (line := lines[before - 1]):
        return {"path": path, "old_text": line, "new_text": f"{text}\n{line}", "line": before}
    raise NoPlace("there are only empty lines")


def _rewrite(path: str, at: int, changed: str, lines: Sequence[str]) -> Mapping[str, JsonValue]:
    return {"path": path, "old_text": lines[at - 1], "new_text": changed, "line": at}


def _remove(path: str, lines: Sequence[str], first: int, last: int) -> Mapping[str, JsonValue]:
    if last < first:
        raise NoPlace(f"line {last} comes before line {first}")
    text = "\n".join(lines[first - 1 : last])
    if first == last and _leaves_comma(path, lines, first):
        above = lines[first - 2]
        return {"path": path, "old_text": f"{above}\n{text}", "new_text": _without_comma(above), "line": first - 1}
    if last < len(lines) or first == 1:
        return {"path": path, "old_text": f"{text}\n", "new_text": "", "line": first}
    before = lines[first - 2]
    return {"path": path, "old_text": f"{before}\n{text}", "new_text": before, "line": first - 1}
