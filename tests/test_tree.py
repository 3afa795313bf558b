"""Rules for the source tree: only the tools' own code names a tool (TOOL-14), and no call is passed on untyped."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from remit_server.tools.table import TOOLS

ROOT = Path(__file__).parents[1]
CALLERS = {
    "server/remit_server/tools": "it is their own",
    "server/remit_server/models/built_in": "it is a model: it calls tools by their names",
    "server/remit_server/models/profile.py": "a profile names the tools that a small model is offered",
    "server/remit_server/models/check.py": "it has a model call one tool",
    "server/remit_server/models/steps": "it shows a model what calls look like",
    "server/remit_server/cli/commands/turns/demo.py": "it plays a model",
    "server/remit_server/cli/tdd_scenario.py": "it plays a model",
    "governance/remit_governance/intents.py": "it is the table of intents",
    "server/remit_server/hooks/formats/tool_rows.py": "it names the tools of other agents, some of which have these names",
    "server/remit_server/hooks/judging/deciding.py": "it has the intents' table say what opens another agent's tools",
}
"""The modules that may name tools, and why."""


@dataclass(frozen=True)
class Module:
    """What the tests ask about a module: the tools that it names, the functions and classes that say `Any`, what it
    imports, its classes, and its public functions whose docstring begins with no verb."""

    tools: frozenset[str]
    untyped: tuple[str, ...]
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    classes: tuple[str, ...]
    verbless: tuple[str, ...]


@cache  # because parsing a thousand files takes most of the time of each test
def look_at(file: Path) -> Module:
    tree = ast.parse(file.read_bytes())
    nodes = [*ast.walk(tree)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return Module(
        frozenset(texts & TOOLS.keys()),
        tuple(untyped(nodes)),
        tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)),
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
        tuple(begins_without_verb(nodes)),
    )


def names_in(file: Path) -> frozenset[str]:
    return look_at(file).tools


def test_TOOL_14_nobody_outside_the_tools_names_one() -> None:
    allowed = tuple(ROOT / place for place in CALLERS)
    files = [file for top in ("server", "governance") for file in (ROOT / top).rglob("*.py")]
    others = [file for file in files if not any(file == place or place in file.parents for place in allowed)]
    assert {str(file.relative_to(ROOT)): names_in(file) for file in others if names_in(file)} == {}


def test_TOOL_14_whoever_may_name_one_does() -> None:
    named = {place: [*(ROOT / place).rglob("*.py")] or [ROOT / place] for place in CALLERS}
    assert [place for place, files in named.items() if not any(map(names_in, files))] == []


def untyped(nodes: Iterable[ast.AST]) -> list[str]:
    """Returns the functions with `Any` in their signature, and the classes with `Any` in a field."""
    found = list[str]()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
            said = [each.annotation for each in every if each is not None] + [node.returns]
        elif isinstance(node, ast.ClassDef):
            said = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
        else:
            continue
        names = (name for each in said if each is not None for name in ast.walk(each))
        found += [node.name] if any(isinstance(name, ast.Name) and name.id == "Any" for name in names) else []
    return found


def test_what_the_harness_hands_on_is_typed_to_the_last_field() -> None:
    files = (ROOT / "server/remit_server/harness").rglob("*.py")
    found = {str(file.relative_to(ROOT)): look_at(file).untyped for file in files}
    assert {file: names for file, names in found.items() if names} == {}


PACKAGES = {"remit_server": ROOT / "server", "remit_governance": ROOT / "governance"}
INSIDE = "server/remit_server/tools/run/testing/inside_"
"""Programs that run inside a sandbox, where the rest of Remit is missing."""
SMALL, OWN_FILES = (
    60,
    {
        "server/remit_server/cli/commands": "a command is a file, imported when it runs",
        "server/remit_server/transports/lsp/features": "a method is a file, imported when it is called",
        "server/remit_server/tools": "a tool is a file; what runs inside a sandbox, or reads one runner's report, is by itself",
        "server/remit_server/transports/acp/main.py": "a process is a file, imported when it runs",
        "server/remit_server/transports/http/main.py": "a process is a file, imported when it runs",
        "server/remit_server/transports/mcp/web.py": "it imports an HTTP server, which a pipe does not need",
        "server/remit_server/harness": "a stage, or what the workflow looks at, is a file, which the layers of the harness order",
        "server/remit_server/contract": "a part of the contract is a file",
        "governance/remit_governance/policy/shell": "each is a part of the grammar of command lines, or is read by the server",
        "server/remit_server/models/remote/choose.py": "it imports what serves models when one is named",
        "server/remit_server/models/remote/prices.py": "it imports a list of prices when one is asked for",
        "server/remit_server/sandbox/bubblewrap/orphans.py": "it is about processes that nobody runs any more",
    },
)
"""Places where a module of fewer than 60 lines may have only one importer, and why."""


@cache
def modules() -> dict[str, Path]:
    return {
        ".".join(file.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): file
        for package, top in PACKAGES.items()
        for file in (top / package).rglob("*.py")
    }


def imported_by(file: Path) -> Iterator[str]:
    for node in look_at(file).imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.module:
            whole = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules() else str(node.module) for name in whole)


def test_a_small_module_with_one_importer_has_a_reason() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, file in modules().items():
        for other in imported_by(file):
            importers[other].add(name)
    small = {
        str(file.relative_to(ROOT))
        for name, file in modules().items()
        if file.stem != "__init__" and len(importers[name]) == 1 and len(file.read_bytes().splitlines()) < SMALL
    }
    assert {file for file in small if not any(file == place or f"{place}/" in file for place in OWN_FILES)} == set()
    assert {place for place in OWN_FILES if not any(file == place or f"{place}/" in file for file in small)} == set()


def test_no_layer_has_two_public_classes_of_one_name() -> None:
    found = Counter[tuple[str, str]]()
    for name, file in modules().items():
        if INSIDE not in str(file):
            found.update((".".join(name.split(".")[:2]), each) for each in look_at(file).classes if each[0] != "_")
    assert [each for each, count in found.items() if count > 1] == []


NO_VERBS = frozenset(
    [
        "A",
        "All",
        "An",
        "Another",
        "Anything",
        "Both",
        "Each",
        "Every",
        "Everything",
        "How",
        "Its",
        "None",
        "Nobody",
        "Nothing",
        "One",
        "Other",
        "Some",
        "That",
        "The",
        "Their",
        "This",
        "Those",
        "Two",
        "What",
        "Whatever",
        "Where",
        "Whether",
        "Which",
        "Who",
        "Whoever",
        "Why",
    ]
)
"""First words of a docstring that says what a function is, and not what it does."""


def begins_without_verb(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            told = ast.get_docstring(node)
            if (
                told
                and told.split()[0] in NO_VERBS
                and not any("property" in ast.unparse(d) for d in node.decorator_list)
            ):
                yield node.name


def test_a_public_docstring_begins_with_what_is_done() -> None:
    assert [
        f"{file.relative_to(ROOT)}:{found}"
        for file in modules().values()
        if INSIDE not in str(file)
        for found in look_at(file).verbless
    ] == []
