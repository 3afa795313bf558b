"""Translates a path for runners that take no paths of tests: to files for Node, to packages for Go, to targets for
Cargo."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from remit_server.errors import ToolError
from remit_server.tools.run.testing.finding import node_tests

MAX_FILES = 1_000
_GO_TEST = re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\(", re.MULTILINE)
_NAME = re.compile(r"\w[\w-]*")

Files = tuple[str, ...]
"""The files of the folder in which the runner runs, as paths relative to it."""


def narrowing_error(path: str, why: str, fix: str) -> ToolError:
    """Returns the error for a path that would not make the run smaller, because to run everything instead would
    mislead."""
    return ToolError(f"cannot test `{path}` alone", why, fix)


def node_files(path: str, is_folder: bool, files: Files, read: Callable[[str], str]) -> tuple[str, ...]:
    """Returns each file below the path, as `node --test` wants them. Raises ToolError."""
    del read
    if not is_folder:
        return (f"./{path}",)
    below = [file for file in node_tests(files) if path == "." or file.startswith(f"{path}/")]
    if not below:
        raise narrowing_error(path, "no file below it looks like a test for Node", "name a file, or another `runner`")
    if len(below) > MAX_FILES:
        raise narrowing_error(path, f"it has more than {MAX_FILES} files of tests", "name a folder below it")
    return tuple(f"./{file}" for file in below)


def go_packages(path: str, is_folder: bool, files: Files, read: Callable[[str], str]) -> tuple[str, ...]:
    """Returns a folder's packages, or the tests of one file, as arguments of `go test`. Raises ToolError."""
    del files
    if is_folder:
        return ("./..." if path == "." else f"./{path}/...",)
    folder = str(PurePosixPath(path).parent)
    names = _GO_TEST.findall(read(path)) if path.endswith("_test.go") else []
    if not names:
        raise narrowing_error(path, "go runs packages, and this file has no test", f"name the folder `{folder}`")
    return (f"-run=^(?:{'|'.join(names)})$", "." if folder == "." else f"./{folder}")


def cargo_targets(path: str, is_folder: bool, files: Files, read: Callable[[str], str]) -> tuple[str, ...]:
    """Returns the arguments of `cargo test` for the tests of a library or program, of one module, or of one file of
    `tests`. Raises ToolError."""
    del is_folder, read
    parts = PurePosixPath(path).parts
    own = _own_targets(files)
    if not parts:
        return ()
    if parts[0] in {"tests", "examples", "benches"}:
        found = _outer_target(parts, files)
    elif parts[:2] == ("src", "bin"):
        found = _of_bin(parts)
    elif path in {"src", "src/lib.rs", "src/main.rs"}:
        found = {"src": own, "src/lib.rs": ("--lib",), "src/main.rs": ("--bins",)}[path]
    elif parts[0] == "src":
        found = (*own, _module(parts)) if own and _module(parts) else ()
    else:
        found = ()
    if not found:
        raise narrowing_error(
            path,
            "cargo cannot run its tests without the others",
            "name a folder with a `Cargo.toml`, `src` or a file of it, a file of `tests`, or a `filter`",
        )
    return found


def _own_targets(files: Files) -> tuple[str, ...]:
    library = ("--lib",) if "src/lib.rs" in files else ()
    is_program = "src/main.rs" in files or any(file.startswith("src/bin/") for file in files)
    return (*library, "--bins") if is_program else library


def _of_bin(parts: tuple[str, ...]) -> tuple[str, ...]:
    name = parts[2].removesuffix(".rs") if len(parts) > 2 else ""
    return ("--bins",) if not name else (f"--bin={name}",) if _NAME.fullmatch(name) else ()


def _outer_target(parts: tuple[str, ...], files: Files) -> tuple[str, ...]:
    option = {"tests": "--test", "examples": "--example", "benches": "--bench"}[parts[0]]
    if len(parts) == 1:
        return (f"{option}=*",)
    name = parts[1].removesuffix(".rs")
    is_one = f"{parts[0]}/{name}.rs" in files or f"{parts[0]}/{name}/main.rs" in files
    return (f"{option}={name}",) if is_one and _NAME.fullmatch(name) else ()


def _module(parts: tuple[str, ...]) -> str:
    """Returns the prefix that the tests of a file of `src` have in their names, or an empty text."""
    names = [*parts[1:-1], parts[-1].removesuffix(".rs")]
    names = names[:-1] if names[-1] == "mod" else names
    return "::".join([*names, ""]) if all(re.fullmatch(r"\w+", name) for name in names) else ""
