"""Finds what a test is made of, in the texts of a workspace's test files, to tell a changed test from an old one
(FLW-04).

A test is made of itself, of what it names in the same file, such as tables and helpers, and of the data files that
these or its parameters name. A test of the same name in another class, file or package is another test. A test whose
name is nowhere is made from data: it is its whole file, with the data files that the file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

from remit_governance.workflow.proof.by_language import loose_text_pieces, python_pieces, text_pieces, whole_python

Pieces: TypeAlias = frozenset[str]

_GO_TEST = re.compile(r"\.((?:Test|Fuzz|Example)\w*)(?:/|$)")
_GO_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_CASE = re.compile(r"^(\w+(?:::\w+)*)::case_\d+(?:_\w+)?$")
"""Matches the id of a row in an rstest table, which is the test's name with a suffix."""
_NAMES_FILE = re.compile(r"(.+?\.py)::|(.+?) > ")


@dataclass(frozen=True, slots=True)
class Named:
    """A test, given by its id as the runner reports it, and the files that may contain it."""

    test_id: str
    files: tuple[str, ...]

    @property
    def leaf(self) -> str:
        """The test's own name."""
        return leaf_of(self.test_id)

    @property
    def parameters(self) -> frozenset[str]:
        """The file names that the test's parameters may be, as pytest puts parameters into the id."""
        given = self.test_id.partition("[")[2].removesuffix("]") if "::" in self.test_id else ""
        return frozenset(PurePosixPath(each).name for each in (given, *given.split("-")) if each)

    def is_there(self, texts: Mapping[str, str]) -> bool:
        """Returns whether one of its files defines exactly this test."""
        return any(found for path in self.files for found in _exactly(texts, path, self))

    def found_in(self, texts: Mapping[str, str]) -> frozenset[str]:
        """Returns the files that define the test: its own files, else files that it may inherit from, else the file and
        data that make it."""
        exactly = frozenset(path for path in self.files for _ in _exactly(texts, path, self))
        loosely = exactly or frozenset(path for path in self._may_be_in(texts) for _ in _loosely(texts, path, self))
        return loosely or self._made_in(texts)

    def is_made(self, texts: Mapping[str, str]) -> bool:
        """Returns whether its file makes the test from data, because its name is nowhere."""
        return not self._all(texts, exact=False) and bool(self._made(texts))

    def is_new(self, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
        """Returns whether the test exists now, and was made of something else, or did not exist, before."""
        if exactly := self._all(now, exact=True):
            return exactly.isdisjoint(self._all(before, exact=True))
        if loosely := self._all(now, exact=False):
            return bool(loosely - self._all(before, exact=False))
        return bool(self._made(now) - self._made(before))

    def _all(self, texts: Mapping[str, str], *, exact: bool) -> frozenset[Pieces]:
        if exact:
            return frozenset(found for path in self.files for found in _exactly(texts, path, self))
        return frozenset(found for path in self._may_be_in(texts) for found in _loosely(texts, path, self))

    def _made(self, texts: Mapping[str, str]) -> frozenset[Pieces]:
        return frozenset(_with_data(texts, path, *whole) for path, whole in self._making(texts))

    def _made_in(self, texts: Mapping[str, str]) -> frozenset[str]:
        found = ((path, names) for path, (_, names) in self._making(texts))
        return frozenset(each for path, names in found for each in (path, *_data(texts, path, names)))

    def _making(self, texts: Mapping[str, str]) -> Iterator[tuple[str, tuple[Pieces, frozenset[str]]]]:
        path = self.files[0] if len(self.files) == 1 else ""
        if path.endswith(".py") and (whole := whole_python(texts.get(path, ""))) is not None:
            yield path, whole

    def _may_be_in(self, texts: Mapping[str, str]) -> Iterable[str]:
        is_there = " > " in self.test_id or any(self.leaf in texts.get(path, "") for path in self.files)
        # A test that a class inherits may be in any other file.
        return self.files if is_there else texts


def name_test(test_id: str, told: str | None, texts: Mapping[str, str]) -> Named:
    """Returns the test of this id with the files that may contain it; `told` is the file named by the runner, if
    any."""
    return Named(test_id, tuple(_files_of(test_id, told, texts)))


def leaf_of(test_id: str) -> str:
    """Returns a test's own name from its id: pytest's `a.py::C::test_x[1]`, Vitest's `a.ts > adds`, Go's
    `pkg.TestX/sub`, Cargo's `m::x` or unittest's `m.C.test_x`.
    """
    if " > " in test_id:
        return test_id.rpartition(" > ")[2]
    if "::" in test_id:
        return whole_of(test_id).rpartition("::")[2]
    if (go := _GO_TEST.search(test_id)) is not None:
        return go[1]
    return test_id.partition(" ")[0].rpartition(".")[2]


def whole_of(test_id: str) -> str:
    """Returns the id without pytest's parameters, Go's subtests and rstest's cases, which may differ in each run."""
    if " > " in test_id:
        return test_id
    if "::" in test_id:
        return _CASE.sub(r"\1", test_id.partition("[")[0])
    return test_id[: go.end(1)] if (go := _GO_TEST.search(test_id)) is not None else test_id


def _files_of(test_id: str, told: str | None, texts: Mapping[str, str]) -> Iterable[str]:
    if (named := _NAMES_FILE.match(test_id)) is not None:
        return (named[1] or named[2],)
    if (go := _GO_TEST.search(test_id)) is not None:
        folder = _go_folder(test_id[: go.start()], texts)
        files = [path for path in texts if path.endswith("_test.go") and str(PurePosixPath(path).parent) == folder]
    elif "." in test_id and "::" not in test_id:
        files = [path for path in texts if path.endswith(".py") and _classes_in(test_id, path) is not None]
    else:
        files = [told] if told is not None and leaf_of(test_id) in texts.get(told, "") else []
    return files or tuple(texts)


def _go_folder(package: str, texts: Mapping[str, str]) -> str | None:
    """Returns the folder of a Go package, whose name begins with its module's name, or None if no module is found."""
    for path, text in texts.items():
        if PurePosixPath(path).name == "go.mod" and (module := _GO_MODULE.search(text)) is not None:
            top = str(PurePosixPath(path).parent)
            name = module[1] if top == "." else f"{top}/{module[1]}"
            if package == name or package.startswith(f"{name}/"):
                return str(PurePosixPath(top, package[len(name) :].lstrip("/")))
    return None


def _classes_in(test_id: str, path: str) -> tuple[str, ...] | None:
    """Returns the classes that contain a unittest test, or None if the test is in another file."""
    parts = test_id.partition(" ")[0].replace("/", ".").split(".")
    module = path.removesuffix(".py").replace("/", ".")
    for end in range(len(parts) - 1, 0, -1):
        if f".{module}".endswith("." + ".".join(parts[:end])):
            return tuple(parts[end:-1])
    return None


def _exactly(texts: Mapping[str, str], path: str, test: Named) -> Iterator[Pieces]:
    text, test_id = texts.get(path, ""), test.test_id
    if test.leaf not in text:
        return
    if path.endswith(".py"):
        inside = tuple(test_id.partition("[")[0].split("::")[1:-1]) if "::" in test_id else _classes_in(test_id, path)
        found = iter(()) if inside is None else python_pieces(text, test.leaf, inside)
    else:
        titles = test_id.split(" > ")[1:-1] or whole_of(test_id).split("::")[:-1]
        found = text_pieces(text, test.leaf, tuple(titles))
    yield from (_with_data(texts, path, parts, files | test.parameters) for parts, files in found)


def _loosely(texts: Mapping[str, str], path: str, test: Named) -> Iterator[Pieces]:
    text, in_table = texts.get(path, ""), " > " in test.test_id
    if test.leaf not in text and not in_table:
        return
    python = path.endswith(".py")
    found = python_pieces(text, test.leaf) if python else loose_text_pieces(text, test.leaf, named_by_table=in_table)
    yield from (_with_data(texts, path, parts, files | test.parameters) for parts, files in found)


def _with_data(texts: Mapping[str, str], path: str, parts: Pieces, names: frozenset[str]) -> Pieces:
    return parts | frozenset(f"{other}\n{texts[other]}" for other in _data(texts, path, names))


def _data(texts: Mapping[str, str], path: str, names: frozenset[str]) -> frozenset[str]:
    """Returns the other files that have one of these names; a file with another suffix than the test's file also
    matches by its name without the suffix."""
    code, others = PurePosixPath(path).suffix, (PurePosixPath(other) for other in texts if other != path)
    return frozenset(
        str(other) for other in others if other.name in names or (other.suffix != code and other.stem in names)
    )
