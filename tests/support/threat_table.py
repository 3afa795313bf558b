"""The table of threats, and the doors that its tests go through. The doors are read from the tests' source, because a
test's name alone proves nothing (THR-01)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from shell_cases import TRICKS, name_of

TESTS = Path(__file__).parents[1]
NAME = re.compile(r"THR-[a-z0-9]+(?:-[a-z0-9]+)*")
_BEARS_ONE = re.compile(r"THR-|test_thr_|TRICKS", re.IGNORECASE)
Door = Literal["server", "cli", "editor", "sandbox", "process", "runtime", "pure"]
DOORS: dict[Door, frozenset[str]] = {
    "server": frozenset(
        {"RunningServer", "PipeClient", "GatewayProcess", "RawClient", "LspHammer", "GatewayHammer", "HttpDoor"}
        | {"McpDoor", "McpHttpDoor", "AcpDoor", "NatsServer"}
    ),
    "cli": frozenset({"CommandLine", "Hooked", "REMIT"}),
    "editor": frozenset({"Neovim", "CodeServer", "Emacs"}),
    "sandbox": frozenset({"sandbox", "need_sandbox"}),
    "process": frozenset(
        {"run", "create_subprocess_exec", "fork", "Popen", "Writers", "Servers", "as_somebody_else", "killer", "deeds"}
    ),
    "runtime": frozenset({"make_bench", "benches", "project", "open_runtime", "Bench"}),
}
"""The words that show that a test goes through a door: in the test, or in a fixture or a function that it uses."""


@dataclass(frozen=True)
class Threat:
    """A row: the threat, the tests that try it, and the door they go through."""

    group: str
    what: str
    tests: tuple[str, ...] = ()
    through: str = ""
    why: str = ""
    open: str = ""
    """What is missing before the threat can be tried; a row has either tests or this."""


@dataclass(frozen=True)
class Tried:
    """A test function that bears a threat's name: its place, the doors that it goes through, and whether it is
    skipped."""

    place: str
    doors: frozenset[str]
    skipped: bool


def threats(text: str) -> list[Threat]:
    """Returns the rows of a table."""
    groups: dict[str, list[dict[str, Any]]] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return [
        Threat(group, row.pop("is"), tuple(row.pop("tests", ())), **row)
        for group, rows in groups.items()
        for row in rows
    ]


@cache
def tried() -> Mapping[str, tuple[Tried, ...]]:
    """Returns the test functions that bear each name."""
    found: dict[str, list[Tried]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        # Parse only the files that may bear a name, because parsing takes the time.
        if file.name != "test_threats_table.py" and _BEARS_ONE.search(file.read_text("utf-8")):
            for name, test in found_in(file):
                found.setdefault(name, []).append(test)
    return {name: tuple(tests) for name, tests in found.items()}


def found_in(file: Path) -> Iterator[tuple[str, Tried]]:
    """Yields each test of a module, once for each name that it bears: in its own name, its docstring or its
    decorators."""
    made = parsed(file)
    above = [folder / "conftest.py" for folder in file.parents if folder.is_relative_to(TESTS)]
    modules = [made, *(parsed(place) for place in above if place.exists())]
    for node in made.values():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
            continue
        if names := _names(node, made):
            skipped = bool({"skip", "xfail"} & _marks(node))
            test = Tried(f"{file.name}::{node.name}", doors(_reached(node, modules)), skipped)
            yield from ((name, test) for name in names)


def doors(words: Iterable[str]) -> frozenset[str]:
    """Returns the doors that a test with these words goes through."""
    return frozenset(door for door, signs in DOORS.items() if not signs.isdisjoint(words)) or frozenset({"pure"})


@cache
def parsed(place: Path) -> dict[str, ast.AST]:
    """Returns a module's own functions, classes and constants by name."""
    found: dict[str, ast.AST] = {}
    for node in ast.parse(place.read_text("utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
            case _:
                pass
    return found


def _reached(test: ast.AST, modules: list[dict[str, ast.AST]]) -> set[str]:
    """Returns the words of a test, of the module's functions, classes and constants that it uses, and of its
    fixtures."""
    marks = modules[0].get("pytestmark")
    left = [(test, 0), *([(marks, 0)] if marks else [])]
    seen: set[str] = set()
    while left:
        node, at = left.pop()
        for word, wanted in _words(node):
            for there in range(at, len(modules)) if wanted == "fixture" else (at,):
                if word in modules[there]:
                    if f"{there} {word}" not in seen:
                        left.append((modules[there][word], there))
                    seen.add(f"{there} {word}")
                    break
            seen.add(word)
    return seen


@cache  # because functions that many tests use are looked at for each test
def _words(node: ast.AST) -> tuple[tuple[str, Literal["name", "fixture"]], ...]:
    """Returns the names that the node uses, and the fixtures that it asks for by an argument or by a mark."""
    return tuple(dict.fromkeys(_every_word(node)))


def _every_word(node: ast.AST) -> Iterator[tuple[str, Literal["name", "fixture"]]]:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=word):
                yield word, "name"
            case ast.Attribute(value=ast.Name(id="subprocess" | "os" | "asyncio"), attr=word):
                yield word, "name"
            case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                yield from ((each.arg, "fixture") for each in (*arguments.args, *arguments.kwonlyargs))
            case ast.Call(func=ast.Attribute(attr="usefixtures"), args=named):
                yield from ((str(each.value), "fixture") for each in named if isinstance(each, ast.Constant))
            case _:
                pass


def _marks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {
        part.attr
        for decorator in node.decorator_list
        for part in ast.walk(decorator)
        if isinstance(part, ast.Attribute)
    }


def names_in(node: ast.AST) -> set[str]:
    """Returns the threats' names in the texts of a piece of source."""
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return {name for text in texts for name in NAME.findall(text)}


def _names(node: ast.FunctionDef | ast.AsyncFunctionDef, made: Mapping[str, ast.AST]) -> set[str]:
    """Returns the threats' names in the function's name, its docstring, its decorators, and the constants that these
    use."""
    found = set(NAME.findall(ast.get_docstring(node) or ""))
    if node.name.lower().startswith("test_thr_"):
        found.add("THR-" + node.name.lower().removeprefix("test_thr_").replace("_", "-"))
    given: list[ast.AST] = [*node.decorator_list]
    constants = {word for each in given for word, _ in _words(each)} & made.keys()
    given += [made[word] for word in constants]
    for each in given:
        found |= names_in(each)
    if any(word == "TRICKS" for word, _ in _words(node)):
        found |= {name_of(trick) for trick in TRICKS}
    return found
