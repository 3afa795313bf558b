"""Says which paths a word with wildcards may mean, whether the shell expands it or the program that gets it; pure.

Nobody can see from the word who expands it, and by which rules. So it means every path that it means by any of them:
at any depth, whatever the case of its letters, with a `*` that also takes slashes and leading dots.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

WILD = frozenset("*?[")
MOST_CHARACTERS = 400
"""A longer word may mean any path."""
MOST_LISTS = 3
MOST_GLOBS = 60
_SPECIAL = re.compile(r"[*?\[{(|^~#\\]")
_BRACKET = re.compile(r"\[[!^]?(?:\[[:.=][^\]]*\]|[\s\S])(?:\[[:.=][^\]]*\]|[^\]])*\]")
_PARENTHESES = re.compile(r"[?*+@!]?\([\s\S]*\)")
_LIST = re.compile(r"\{([^{}]*)\}")
_BRACES = re.compile(r"\{[\s\S]*\}")
_ANY_FOLDERS = re.compile(r"(^|/)\*{2,}(?:/+\*{2,})*/+")
_OF_ZSH = re.compile(r"[^/]?[\^~#][\s\S]*")

Token = str | Literal[0, 1]
"""One character, or what takes any characters (`_MANY`) or any one character (`_ONE`)."""
_MANY: Literal[0] = 0
_ONE: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Glob:
    """A word with wildcards: the folder in which it begins, as written, and what follows."""

    folder: str
    rest: str

    def may_reach(self, path: str, is_folder: bool) -> bool:
        """Returns whether it may mean a path, which is relative to its folder, or a folder above the path; or, if the
        path is a folder, something in it. An empty path is the folder itself."""
        if not path or self.means_anything:
            return True
        globs = map(_compile, _alternatives(self.rest))
        return any(_reaches(glob, path.casefold(), glob.before_slash if is_folder else 0) for glob in globs)

    @property
    def means_anything(self) -> bool:
        """Whether nothing is certain of it but the folder in which it begins."""
        return len(self.rest) > MOST_CHARACTERS or ".." in self.rest.split("/")

    def parts(self) -> tuple[str, ...]:
        """Returns what follows, folder by folder; empty if it means anything."""
        if self.means_anything:
            return ()
        return tuple(part for part in self.rest.split("/") if part not in {"", "."})


def glob_of(word: str) -> Glob | None:
    """Returns the glob that a word may be, or None if it has no wildcard."""
    found = None if WILD.isdisjoint(word) else _SPECIAL.search(word)
    if found is None:
        return None
    folder, slash, name = word[: found.start()].rpartition("/")
    return Glob(folder or slash, f"{name}{word[found.start() :]}")


Counts = Callable[[str, bool], bool]
"""Tells whether a path counts, which is relative to a folder (empty for the folder itself), and is a folder or not."""


def any_path(path: str, is_folder: bool) -> bool:
    """Counts every path."""
    del path, is_folder
    return True


def limited_to(globs: Sequence[str]) -> Counts:
    """Returns which paths count for a program that reads only files that one of these globs means: all if there are
    none, or one that programs leave out, as an empty one or a comment. What a folder holds is not known."""
    # A slash at the beginning only says where a glob begins.
    meant = [glob.strip().strip("/") for glob in globs]
    if not meant or not all(glob and glob[0] not in "#!" for glob in meant):
        return any_path
    return lambda path, is_folder: is_folder or any(Glob("", glob).may_reach(path, is_folder) for glob in meant)


def may_be(part: str, name: str) -> bool:
    """Returns whether a word without slashes may mean a name."""
    return any(_ends(_compile(each), name.casefold()) for each in _alternatives(part))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A glob as sets of bits. Bit n stands for the first n tokens: a state is the set of beginnings that have matched.

    `many` are the beginnings that a `*` follows, `one` those that any one character follows, `next` those that a
    certain character follows. `whole` is the set of all tokens.
    """

    many: int
    one: int
    next: dict[str, int]
    whole: int

    def closed(self, state: int) -> int:
        """Returns the state with what matches without a further character."""
        return state | (state & self.many) << 1

    @property
    def before_slash(self) -> int:
        """The beginnings that a slash follows."""
        return self.next.get("/", 0)

    def after(self, state: int, character: str) -> int:
        """Returns the state after a further character."""
        goes_on = state & (self.one | self.next.get(character, 0))
        return self.closed(goes_on << 1 | state & self.many)


def _reaches(glob: _Compiled, path: str, beginnings: int) -> bool:
    """Returns whether the glob, or one of these beginnings of it, means the end of the path, or the glob means the end
    of a folder above it."""
    starts = [0, *(found.end() for found in re.finditer("/", path))]
    return any(_reaches_from(glob, path[start:], beginnings) for start in starts)


def _reaches_from(glob: _Compiled, path: str, beginnings: int) -> bool:
    state = glob.closed(1)
    for character in path:
        if character == "/" and state & glob.whole:
            return True
        state = glob.after(state, character)
    return bool(state & (glob.whole | beginnings))


def _ends(glob: _Compiled, name: str) -> bool:
    state = glob.closed(1)
    for character in name:
        state = glob.after(state, character)
    return bool(state & glob.whole)


@lru_cache(maxsize=256)
def _alternatives(text: str) -> tuple[str, ...]:
    """Returns the globs between which `|` or the commas in braces stand. What is in parentheses or brackets may mean
    anything, and so may braces that are not plain lists or too many."""
    plain = _BRACKET.sub("?", text)
    if not any(map(str.isspace, text)):
        plain = _OF_ZSH.sub("*", plain)
    globs = _PARENTHESES.sub("*", plain).split("|")
    for _ in range(MOST_LISTS):
        globs = [each for glob in globs for each in _with_first_list_expanded(glob)]
        if len(globs) > MOST_GLOBS:
            break
    return tuple(_BRACES.sub("*", glob) for glob in globs)


def _with_first_list_expanded(glob: str) -> Iterator[str]:
    found = _LIST.search(glob)
    if found is None or ".." in found[1]:
        yield glob
    else:
        yield from (f"{glob[: found.start()]}{each}{glob[found.end() :]}" for each in found[1].split(","))


@lru_cache(maxsize=256)
def _compile(text: str) -> _Compiled:
    tokens = _tokens(_ANY_FOLDERS.sub(r"\1*", posixpath.normpath(text)).casefold())
    many = sum(1 << at for at, token in enumerate(tokens) if token == _MANY)
    one = sum(1 << at for at, token in enumerate(tokens) if token == _ONE)
    following: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if isinstance(token, str):
            following[token] = following.get(token, 0) | 1 << at
    return _Compiled(many, one, following, 1 << len(tokens))


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    for found in re.finditer(r"\*+|\?|\\[\s\S]?|[\s\S]", text):
        match found[0][0]:
            case "*":
                tokens.append(_MANY)
            case "?" | "\\":
                tokens.append(_ONE)
            case character:
                tokens.append(character)
    return tokens
