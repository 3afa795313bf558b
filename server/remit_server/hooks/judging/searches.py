"""Reads the command line of a program that searches: whether it searches whole folders, and what it certainly names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from remit_governance.policy.shell.options import Call, calls_of, family_of
from remit_governance.policy.shell.texts import SEARCH_OPTIONS

_READ_ALL = frozenset({"rg", "rga", "ag", "ack", "ack-grep", "pt", "sift", "ugrep", "ug", "rgrep"})
"""Programs that read the folder they are in if none is named."""
_READ_BY_THEMSELVES = frozenset({"codespell", "typos", "ast-grep", "sg", "semgrep", "detect-secrets", "trufflehog"})
"""Programs that show lines of all files where they are, and whose options are not looked at."""
_PATTERNS = frozenset({"--regexp", "--file", "--match"})
_SHOW_HIDDEN = frozenset({"--hidden", "--unrestricted", "--ignore-file", "--glob", "--iglob"})
_FOLLOW = frozenset({"--dereference-recursive", "--follow"})


@dataclass(frozen=True, slots=True)
class Search:
    """A search: whether it certainly names what it searches, whether it follows links, whether it only lists files.

    If `only` has globs, it reads only files that one of them means, in the folders that it searches. `skips_hidden`
    tells whether it certainly leaves out files and folders whose names begin with a dot.
    """

    names_all: bool
    follows: bool
    names_only: bool = False
    only: tuple[str, ...] = ()
    skips_hidden: bool = False


def search_of(program: str, words: Sequence[str]) -> Search | None:
    """Returns the search of whole folders that a command is, or None if it is none."""
    if program in _READ_BY_THEMSELVES:
        return Search(names_all=False, follows=False)
    row = SEARCH_OPTIONS.get(program)
    if row is None:
        return None
    call = next(calls_of((program, *words), family=family_of(row, program)))
    if "--files" in call.options and not call.unknown:
        return Search(names_all=True, follows=False, names_only=True)
    given = dict(call.values)
    goes_down = not call.options.isdisjoint({"--recursive", *_FOLLOW}) or call.unknown
    # A value may be abbreviated, as in `-d rec`.
    by_value = any(name == "--directories" and value not in {"read", "skip"} for name, value in call.values)
    if not (program in _READ_ALL or goes_down or by_value):
        return None
    pattern = 0 if _PATTERNS & given.keys() else 1
    names_all = not call.unknown and not call.wild and len(call.operands) > pattern
    follows = not call.options.isdisjoint(_FOLLOW)
    if call.unknown or call.wild:
        return Search(names_all, follows)
    skips_hidden = program == "rg" and call.options.isdisjoint(_SHOW_HIDDEN)
    return Search(names_all, follows, only=_only(program, call), skips_hidden=skips_hidden)


def _only(program: str, call: Call) -> tuple[str, ...]:
    """Returns the globs that limit what is searched. Of grep's `--include` and `--exclude` the first and the last one
    decide, so both together limit nothing for certain; of ripgrep's globs, those without `!` limit it."""
    given = [(name, value) for name, value in call.values if name in _LIMITS.get(program, ())]
    if program in _GREPS and not call.options.isdisjoint({"--exclude", "--exclude-from"}):
        return ()
    if any(value.startswith("-") for _, value in given):
        return ()  # it may be an option
    return tuple(value for _, value in given if not value.startswith("!"))


_GREPS = frozenset({"grep", "egrep", "fgrep", "rgrep"})
_LIMITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {**dict.fromkeys(_GREPS, ("--include",)), "rg": ("--glob", "--iglob")}
)

_TESTED = frozenset({"-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-atime", "-ctime"})
_READ_NAMED = frozenset(
    {"cat", "cksum", "file", "head", "ls", "md5sum", "sha1sum", "sha256sum", "stat", "tail", "wc"} | _GREPS
)
"""Programs that read nothing else than the files that their words name."""


def found_by_name(program: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns the glob that each file has for which `find` starts its one program, or nothing if that is not certain.

    It is certain only if all tests before `-exec` have to hold, and no link is followed."""
    at = next((at for at, word in enumerate(words) if word in {"-exec", "-execdir"}), len(words))
    started = words[at + 1 : -1]
    begins = next((n for n, word in enumerate(words) if word.startswith(("-", "(", "!"))), at)
    tests = list(zip(words[begins:at:2], words[begins + 1 : at : 2], strict=False))
    plain = all(name in {*_TESTED, "-name", "-iname"} or (name, value) == ("-type", "f") for name, value in tests)
    alone = not {";", "+", *_STARTS} & {*started} and all(word == "{}" or "{}" not in word for word in started)
    if program != "find" or not plain or not alone or started[:1] != [*_READ_NAMED & {*started[:1]}]:
        return ()
    names = tuple(value for name, value in tests if name in {"-name", "-iname"})[:1]
    return names if ("-type", "f") in tests and (at - begins) % 2 == 0 else ()


_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
