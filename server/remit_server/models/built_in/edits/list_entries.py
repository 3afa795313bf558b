"""Adds an entry to a list in a file of settings, or removes one from it, in the file's language (MOD-23). Pure.

Whatever is changed is parsed: the file has to hold exactly what it held before but for this entry, or it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from remit_server.models.built_in.edits.kinds import NoPlace, kind_of
from remit_server.models.built_in.edits.new_settings import READERS

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LISTING_KINDS = frozenset({"json", "yaml", "toml"})


def can_list(path: str) -> bool:
    """Returns whether a file of this kind can hold lists that are changed here."""
    try:
        return kind_of(path).name in _LISTING_KINDS
    except NoPlace:
        return False


def with_entry(path: str, lines: Sequence[str], name: str, entry: str) -> tuple[int, str]:
    """Returns the number of a line and its new text, which may be two lines, so that a list has one entry more at its
    end. Raises NoPlace unless the file has one list of this name, without this entry."""
    held = _entries(path, lines, name)
    if entry in map(str, held):
        raise NoPlace(f"`{entry}` is in `{name}` already")
    for at, changed in _longer(lines, name, entry, path):
        after = (*lines[: at - 1], *changed.split("\n"), *lines[at:])
        if _is_same_but(path, lines, after, name, lambda now: [str(each) for each in now] == [*map(str, held), entry]):
            return at, changed
    raise NoPlace(f"I cannot tell where `{entry}` belongs in `{name}`")


def without_entry(path: str, lines: Sequence[str], name: str, entry: str) -> tuple[int, str | None]:
    """Returns the number of a line and its new text, or None if the whole line goes, so that a list lacks one entry.
    Raises NoPlace unless the file has one list of this name, with this entry once."""
    held = list(map(str, _entries(path, lines, name)))
    if held.count(entry) != 1:
        raise NoPlace(f"`{entry}` is not in `{name}`" if entry not in held else f"`{entry}` is in `{name}` twice")
    left = [each for each in held if each != entry]
    for at, changed in _shorter(lines, name, entry):
        above = [*lines[: at - 1]]
        if changed is None and at < len(lines) and re.match(r"\s*\]", lines[at]):
            # No comma stays before the closing bracket.
            above[-1] = above[-1].rstrip().removesuffix(",")
        after = (*above, *([] if changed is None else [changed]), *lines[at:])
        if _is_same_but(path, lines, after, name, lambda now: [str(each) for each in now] == left):
            return at, changed
    raise NoPlace(f"I cannot take `{entry}` out of `{name}` without changing more")


def _entries(path: str, lines: Sequence[str], name: str) -> Sequence[object]:
    found = list(_lists(READERS[kind_of(path).name](lines), name))
    if len(found) != 1:
        raise NoPlace(
            f"there is no list `{name}` in the file" if not found else f"there are {len(found)} lists `{name}`"
        )
    return found[0]


def _lists(value: object, name: str) -> Iterator[list[object]]:
    """Yields each list of a name, at any depth."""
    match value:
        case dict():
            for key, held in cast("dict[object, object]", value).items():
                if key == name and isinstance(held, list):
                    yield cast("list[object]", held)
                else:
                    yield from _lists(held, name)
        case list():
            for held in cast("list[object]", value):
                yield from _lists(held, name)
        case _:
            pass


def _is_same_but(
    path: str, before: Sequence[str], after: Sequence[str], name: str, holds: Callable[[Sequence[object]], bool]
) -> bool:
    """Returns whether a file holds the same as before, but for the one list, which `holds` what it shall."""
    read = READERS[kind_of(path).name]
    old, new = read(before), read(after)
    lists = list(_lists(new, name))
    if old is None or new is None or len(lists) != 1 or not holds(lists[0]):
        return False
    lists[0][:] = next(_lists(old, name))
    return old == new


def _begins(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<head>\s*(?:- )?[\"']?{re.escape(name)}[\"']?\s*[:=]\s*)(?P<rest>.*)")


def _longer(lines: Sequence[str], name: str, entry: str, path: str) -> Iterator[tuple[int, str]]:
    """Yields the ways to write a list with one entry more."""
    for number, line in enumerate(lines, 1):
        if (match := _begins(name).fullmatch(line)) is None:
            continue
        if (inline := re.fullmatch(r"\[(.*?)(\s*)\](.*)", match["rest"])) is not None:
            sign = ", " if inline[1].strip() else ""
            spelled = _like(inline[1].rpartition(",")[2], entry, path)
            yield number, f"{match['head']}[{inline[1]}{sign}{spelled}{inline[2]}]{inline[3]}"
        elif (last := _last_item(lines, number)) is not None:
            item = lines[last - 1]
            dash = re.match(r"\s*- ", item)
            if dash is not None:
                yield last, f"{item}\n{dash[0]}{_like(item[dash.end() :], entry, path)}"
            else:
                indent, bare = item[: len(item) - len(item.lstrip())], item.rstrip()
                comma = "," if bare.endswith(",") else ""
                yield last, f"{bare if comma else f'{bare},'}\n{indent}{_like(bare, entry, path)}{comma}"


def _shorter(lines: Sequence[str], name: str, entry: str) -> Iterator[tuple[int, str | None]]:
    """Yields the ways to write a list without an entry."""
    item = rf"[\"']?{re.escape(entry)}[\"']?"
    for number, line in enumerate(lines, 1):
        if (match := _begins(name).fullmatch(line)) is None:
            continue
        for form in (rf",\s*{item}(?=\s*[,\]])", rf"(?<=\[){item}\s*,\s*", rf"(?<=\[)\s*{item}\s*(?=\])"):
            changed = re.sub(form, "", match["rest"], count=1)
            if changed != match["rest"]:
                yield number, f"{match['head']}{changed}"
        last = _last_item(lines, number) or number
        for at in range(number + 1, last + 1):
            if re.fullmatch(rf"\s*(?:- )?{item},?\s*", lines[at - 1]):
                yield at, None


def _last_item(lines: Sequence[str], number: int) -> int | None:
    """Returns the number of the last line of a list that begins below a line: of the items of YAML, or of what stands
    before a closing bracket."""
    if lines[number - 1].rstrip().endswith("["):
        closing = (at for at in range(number + 1, len(lines) + 1) if re.match(r"\s*\]", lines[at - 1]))
        at = next(closing, number + 1) - 1
        return at if at > number else None
    last = number
    while last < len(lines) and re.match(r"\s*- \S", lines[last]):
        last += 1
    return last if last > number else None


def _like(item: str, entry: str, path: str) -> str:
    """Returns an entry with the quotes of another one; with quotes where the language needs them."""
    quote = next((sign for sign in "\"'" if item.strip().rstrip(",").endswith(sign)), "")
    plain = kind_of(path).name == "yaml" or (_NUMBER.fullmatch(entry) and not quote)
    sign = quote or ("" if plain else '"')
    return f"{sign}{entry}{sign}"
