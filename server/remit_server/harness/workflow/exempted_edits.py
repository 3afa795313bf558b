"""Limits edits under an exemption to what the exemption is for: types, prose, pictures (FLW-09).

Also finds the examples in documents that the project's tests run, because no exemption for documents covers these
(FLW-09).
"""

from __future__ import annotations

import doctest
import html
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from remit_governance.policy.matching.paths import compile_globs
from remit_governance.workflow.states import State
from remit_governance.workflow.test_files import Category, is_locked_file
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.turn import Turn
from remit_server.tools.code.types_only.compare import runs_otherwise
from remit_server.tools.spec import FileChange
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.walk import Limits, walk

FIX: Mapping[Category, str] = MappingProxyType(
    {
        "type_refactor": "change annotations and type declarations only; for anything else a failing test comes first",
        "documentation": "change only what is around the examples; for the examples a failing test comes first",
        "asset_update": "leave the program out of the image, or let a failing test come first",
    }
)
_DRAWING = re.compile(r"\.svg$", re.IGNORECASE)
_PROGRAM = re.compile(
    r"<(?:[\w-]+:)?(?:script|foreignobject|handler)\b|\bon[a-z]+\s*=|javascript:|<!entity|\0", re.IGNORECASE
)
"""Parts of a drawing that run a program, or load one, when the drawing is shown, and parts that are ambiguous."""


def edits_beyond(changes: Iterable[FileChange], turn: Turn, workspace: Workspace) -> dict[str, str]:
    """Returns the paths whose changes the exemption does not cover, each with the reason. The person's own changes are
    never limited."""
    position = turn.memory.position
    exemption = position.exemption
    if turn.caller == "human" or exemption is None or position.state is not State.EXPLORING:
        return {}
    exempted = [change for change in changes if change.path.relative in exemption.paths]
    found = {change.path.relative: _why(exemption.category, change, workspace) for change in exempted}
    return {path: reason for path, reason in found.items() if reason is not None}


def refuse_beyond(changes: Iterable[FileChange], turn: Turn, workspace: Workspace) -> None:
    """Raises ToolError (`denied`) if the exemption does not cover one of the changes."""
    exemption = turn.memory.position.exemption
    for path, why in edits_beyond(changes, turn, workspace).items():
        fix = FIX[exemption.category] if exemption else ""
        raise ToolError(f"`{path}` was not changed", why, fix, code=ErrorCode.DENIED)


def _why(category: Category, change: FileChange, workspace: Workspace) -> str | None:
    match category:
        case "type_refactor":
            return _more_than_types(change)
        case "documentation":
            return _other_examples(change, workspace)
        case "asset_update":
            return _more_programs(change)
        case "config_change":
            return None
        case _:
            assert_never(category)


def _more_than_types(change: FileChange) -> str | None:
    why = _runs_otherwise(change)
    return None if why is None else f"the exemption is for types only, and {why}"


def _runs_otherwise(change: FileChange) -> str | None:
    if change.moved_from is not None or change.executable is not None:
        return "a file of code is added, moved or removed, or its mode changes"
    return runs_otherwise(change.path.relative, _before(change), change.after)


def _other_examples(change: FileChange, workspace: Workspace) -> str | None:
    before, after = (data or b"" for data in (_before(change), change.after))
    return next(
        (row.why for row in RUNNERS if row.examples(before) != row.examples(after) and row.runs_in(workspace)), None
    )


def _more_programs(change: FileChange) -> str | None:
    if _DRAWING.search(change.path.relative) is None:
        return None
    before, after = (_programs(data) for data in (_before(change), change.after))
    return "it adds code that runs where the image is shown" if after - before else None


def _programs(data: bytes | None) -> set[str]:
    """Returns the lines of a drawing that hold a program."""
    text = html.unescape((data or b"").decode("latin-1"))
    return {line.strip() for line in text.splitlines() if _PROGRAM.search(line)}


def _before(change: FileChange) -> bytes | None:
    return None if change.before is None or change.before.left_out else change.before.data


_MOST_BYTES = 1_000_000
_NAMES_RUNNERS = compile_globs(
    ("conf.py", "noxfile.py", "Makefile", "*.mk", "justfile", "setup.py", "requirements*.txt", "*.rs", "**/.github/**")
)
"""Files, besides tests and their configuration, that may name programs which run examples."""
_PROGRAM_OF_EXAMPLES = re.compile(
    rb"sybil|mktestdocs|phmdoctest|byexample|skeptic|clitest|markdown-doctest|evaldown|doc[-_]comment|"
    rb"doc *= *include_str|"
    rb"pytest[-_](?:examples|codeblocks|markdown|readme|cram)|--(?:markdown-docs|codeblocks)|\bcram\b|\btxm\b|\bmdsh\b"
)
"""Programs that run the code blocks of a document."""
_FENCE = re.compile(r"[ >\t]*(`{3,}|~{3,})")
_DIRECTIVE = re.compile(r"[ \t]*\.\. ")
_INDENTED = re.compile(r" {3,}|\t")


@dataclass(frozen=True, slots=True)
class Runner:
    """A way to run the examples of documents.

    `named` matches the runner's name in a project's files, `examples` returns the parts of a document that it runs, and
    `why` is the reason that a person is told.
    """

    named: re.Pattern[bytes]
    examples: Callable[[bytes], object]
    why: str

    def runs_in(self, workspace: Workspace) -> bool:
        """Returns whether the project's tests, their configuration or its build files name this runner."""
        files = walk(workspace, WorkspacePath(".", workspace.root), Limits())
        texts = (_read(workspace, file) for file in files if is_locked_file(file) or _NAMES_RUNNERS(file))
        return any(self.named.search(text) for text in texts)


def prompt_examples(data: bytes) -> object:
    """Returns the `>>>` examples of a document, each with its code and its expected output, or None if they cannot be
    read."""
    try:
        found = doctest.DocTestParser().get_examples(data.decode())
    except ValueError:
        return None
    return tuple((example.source, example.want) for example in found)


def code_lines(data: bytes) -> object:
    """Returns the lines of a document that could be code: fenced, indented, or in a directive or comment."""
    text = data.decode("latin-1")
    found = [line for comment in re.findall(r"<!--.*?(?:-->|\Z)", text, re.DOTALL) for line in comment.splitlines()]
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence or mark or _DIRECTIVE.match(line) or _INDENTED.match(line):
            found.append(line.rstrip())
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
    return tuple(line for line in found if line), prompt_examples(data)


def _read(workspace: Workspace, relative: str) -> bytes:
    try:
        with (workspace.root / relative).open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


RUNNERS = (
    Runner(
        re.compile(rb"sphinx\.ext\.doctest|-b *doctest|testcode"),
        code_lines,
        "this project runs the examples of its documents with Sphinx, and the change is to a line of code",
    ),
    Runner(
        re.compile(rb"doctest|DocFile"),
        prompt_examples,
        "the tests of this project run examples of documents (`doctest`), and the change is to one",
    ),
    Runner(
        _PROGRAM_OF_EXAMPLES,
        code_lines,
        "this project names a program that runs the code of documents, and the change is to a line of code",
    ),
)
"""The known runners, the most specific first, because the first one that applies gives the reason."""
