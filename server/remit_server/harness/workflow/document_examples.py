"""Finds the examples of a document that a project runs, which no exemption for documents opens (FLW-09)."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from dataclasses import dataclass

from remit_governance.policy.matching.paths import compile_globs
from remit_governance.workflow.test_files import is_locked_file
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.walk import Limits, walk

_MOST_BYTES = 1_000_000
_NAMES_RUNNERS = compile_globs(
    ("conf.py", "noxfile.py", "Makefile", "*.mk", "justfile", "setup.py", "requirements*.txt", "*.rs", "**/.github/**")
)
"""What names programs that run examples, beside tests and their configuration."""
_PROGRAM_OF_EXAMPLES = re.compile(
    rb"sybil|mktestdocs|phmdoctest|byexample|skeptic|clitest|markdown-doctest|evaldown|doc[-_]comment|"
    rb"doc *= *include_str|"
    rb"pytest[-_](?:examples|codeblocks|markdown|readme|cram)|--(?:markdown-docs|codeblocks)|\bcram\b|\btxm\b|\bmdsh\b"
)
"""Programs that run the blocks of code of a document."""
_FENCE = re.compile(r"[ >\t]*(`{3,}|~{3,})")
_DIRECTIVE = re.compile(r"[ \t]*\.\. ")
_INDENTED = re.compile(r" {3,}|\t")


@dataclass(frozen=True, slots=True)
class Runner:
    """A way to run the examples of documents.

    `named` is what names it in a project; `examples` returns what it reads of a document; `why` is told to a person.
    """

    named: re.Pattern[bytes]
    examples: Callable[[bytes], object]
    why: str

    def runs_in(self, workspace: Workspace) -> bool:
        """Returns whether the project's tests, or what configures them, name it."""
        files = walk(workspace, WorkspacePath(".", workspace.root), Limits())
        texts = (_read(workspace, file) for file in files if is_locked_file(file) or _NAMES_RUNNERS(file))
        return any(self.named.search(text) for text in texts)


def prompt_examples(data: bytes) -> object:
    """Returns the `>>>` examples of a document, what runs and what is wanted of each; None if they cannot be read."""
    try:
        found = doctest.DocTestParser().get_examples(data.decode())
    except ValueError:
        return None
    return tuple((example.source, example.want) for example in found)


def code_lines(data: bytes) -> object:
    """Returns the lines of a document that could be taken for code: fenced, indented, of a directive or comment."""
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
        "this project runs the examples of its documents with Sphinx, and it changes a line of code",
    ),
    Runner(
        re.compile(rb"doctest|DocFile"),
        prompt_examples,
        "the tests of this project run examples of documents (`doctest`), and it changes one",
    ),
    Runner(
        _PROGRAM_OF_EXAMPLES,
        code_lines,
        "this project names a program that runs the code of documents, and it changes a line of code",
    ),
)
"""The ways, the most telling one first."""
