"""The map in ARCHITECTURE.md is short enough to be read, and no package contains what the map says is absent
(DOC-05)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from rows import rows

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
MAP = TEXT[TEXT.index("## Code map") : TEXT.index("## The way of a call")]
MOST_BYTES = 18_000
CLIENT_IMPORT = r"""(?:from|require|import)\b[ (]*['"]?{}[.'")\s]"""


def table() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yields for each row the folder of its heading, what lies there, and what is absent from it."""
    root = ""
    for line in MAP.splitlines():
        if line.startswith("**"):
            root = next(iter(re.findall(r"`([^`]+)/`", line)), "")
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[0]:
            yield root, tuple(cells[0]), tuple(cells[2])


ROWS = [(root, where, absent) for root, places, absent in table() for where in places]


def test_DOC_05_the_page_can_be_read_at_once() -> None:
    assert len(TEXT.encode()) <= MOST_BYTES


def test_DOC_05_every_package_is_on_the_map_and_says_what_is_absent() -> None:
    on_map = {f"{root}/{where}".rstrip("/") for root, where, _ in ROWS}
    for root in ("governance/remit_governance", "server/remit_server"):
        packages = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / root).glob("*/__init__.py")}
        here = {f"{root}/{where.split('/')[0]}" for each, where, _ in ROWS if each == root}
        assert packages - here - UNMAPPED == set()
    assert [where for _, where, absent in ROWS if not absent] == []
    assert len(on_map) == len(ROWS)


UNMAPPED = {"server/remit_server/demo", "server/remit_server/transports", "governance/remit_governance/policy"}
"""A sample workspace, which is not our code, and folders whose parts are on the map."""


def files(root: str, where: str) -> list[Path]:
    """Returns the source files of a place."""
    place = ROOT / root / where
    found = [place] if place.is_file() else sorted(place.rglob("*"))
    return [
        path
        for path in found
        if path.suffix in {".py", ".ts", ".tsx", ".lua", ".el"} and "node_modules" not in path.parts
    ]


@cache
def python_names(path: Path) -> frozenset[str]:
    """Returns what a module imports, anywhere in it, and `name()` for each function that it calls."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module, *(f"{module}.{each.name}" for each in names)}
            case ast.Call():
                found.add(f"{getattr(node.func, 'id', getattr(node.func, 'attr', ''))}()")
            case _:
                pass
    return frozenset(found)


def has(path: Path, root: str, name: str) -> bool:
    """Returns whether a file imports the module or package, or calls the function."""
    if path.suffix != ".py":
        return re.search(CLIENT_IMPORT.format(re.escape(name)), path.read_text("utf-8")) is not None
    if "/" in name:
        name = f"{root.rpartition('/')[2]}.{name.removesuffix('.py').rstrip('/').replace('/', '.')}"
    return any(each == name or each.startswith(f"{name}.") for each in python_names(path))


@rows(("root", "where", "absent"), ROWS)
def test_DOC_05_what_the_map_says_is_absent_is_absent(root: str, where: str, absent: tuple[str, ...]) -> None:
    found = files(root, where)
    assert found, where
    assert [(path.name, name) for path in found for name in absent if has(path, root, name)] == []


@rows("package", sorted((ROOT / "governance").rglob("__init__.py")) + sorted((ROOT / "server").rglob("__init__.py")))
def test_DOC_05_the_files_that_a_package_tells_are_there(package: Path) -> None:
    told = re.findall(r"`([\w/]+\.(?:py|yaml|txt))`", ast.get_docstring(ast.parse(package.read_text("utf-8"))) or "")
    assert [name for name in told if not any(path.endswith(f"/{name}") for path in all_files())] == []


@cache
def all_files() -> tuple[str, ...]:
    """Returns every file of the packages."""
    return tuple(path.as_posix() for root in ("governance", "server") for path in (ROOT / root).rglob("*.*"))


def test_DOC_05_what_is_there_is_found(tmp_path: Path) -> None:
    """Shows that the test above can fail: imports inside functions, names from a package, and calls are found."""
    module = tmp_path / "a.py"
    module.write_text(
        "def f(x):\n    from remit_server.tools import table\n    import os.path\n    x.write()\n    open('a')\n"
    )
    found = [
        has(module, "server/remit_server", name) for name in ("tools/", "tools/table.py", "os", "write()", "open()")
    ]
    assert found == [True] * 5
    assert not any(has(module, "server/remit_server", name) for name in ("harness/", "path", "read()", "tool/"))
    client = tmp_path / "a.ts"
    client.write_text("import * as http from 'http';\n")
    assert has(client, "", "http")
    assert not has(client, "", "net")
    plugin = tmp_path / "a.lua"
    plugin.write_text("local job = require('plenary.job')\n")
    assert has(plugin, "", "plenary")
