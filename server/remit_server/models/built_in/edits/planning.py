"""Plans the `edit_file` call that makes an edit of single lines (MOD-23). Pure.

The model reads the file first and then changes exactly the named place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue

from remit_server.models.built_in.edits.kinds import NoPlace, is_prose, is_requirements
from remit_server.models.built_in.edits.line_edits import (
    AddSetting,
    AtLine,
    Comment,
    Commented,
    Document,
    Insert,
    LineEdit,
    ListEntry,
    Pin,
    Remove,
    RemoveEntry,
    Rewrite,
    SetValue,
    Title,
)
from remit_server.models.built_in.edits.list_entries import with_entry, without_entry
from remit_server.models.built_in.edits.new_settings import with_setting
from remit_server.models.built_in.edits.places import (
    below_header,
    entry_line,
    free_place,
    indent_at,
    numbered,
    only_line,
)
from remit_server.models.built_in.edits.values import breaks, with_value

_LINE = re.compile(r"(\d+)\|(.*)")
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
            before = free_place(path, place, lines)
            made = f"{indent_at(place, before, lines)}{text}"
            if path.lower().endswith(".json"):  # one comma too few or too many makes the file unreadable
                made = made if made.endswith(",") or not _may_go_on(lines, before) else f"{made},"
                _require_read(path, lines, (*lines[: before - 1], made, *lines[before - 1 :]))
            return _insert(path, made, before, lines)
        case Comment(text=text, place=place):
            before = free_place(path, place, lines)
            return _insert(path, f"{indent_at(place, before, lines)}{_as_comment(text, path)}", before, lines)
        case Document(name=name, text=text):
            before = below_header(lines, name)
            indent = indent_at(AtLine(before, beside=before), before, lines)
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


def _changed(
    path: str, edit: AddSetting | ListEntry | Rewrite | SetValue | Pin | Commented | Title, lines: Sequence[str]
) -> tuple[int, str]:
    """Returns the number of the line that changes, and its new text."""
    match edit:
        case AddSetting() | ListEntry() | Title():
            return _extended(path, edit, lines)
        case Rewrite(line=line, text=text):
            at = numbered(line, lines)
            return at, f"{_leading(lines[at - 1])}{text}"
        case SetValue(name=name, value=value):
            at, changed = with_value(path, lines, name, value)
            _require_read(path, lines, (*lines[: at - 1], changed, *lines[at:]))
            return at, changed
        case Pin(name=name, version=version, exact=exact):
            at = entry_line(lines, name)
            return at, _pinned(lines[at - 1], version, exact=exact)
        case Commented(line=line, out=out):
            at = numbered(line, lines) if isinstance(line, int) else only_line(lines, line)
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
            return (at := entry_line(lines, name)), at
        case Remove(line=line, last=last):
            at = numbered(line, lines) if isinstance(line, int) else _whole(path, lines, only_line(lines, line))
            return at, at if last is None else numbered(last, lines)
        case _:
            assert_never(edit)


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
