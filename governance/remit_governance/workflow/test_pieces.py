"""What a test is made of, in the texts of a workspace's tests: by this a changed test is told from an old one (FLW-04).

That is the test itself, what it names in the same file, such as tables and helpers, and the files of data that these
name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TypeAlias

from remit_governance.workflow.python_pieces import python_pieces
from remit_governance.workflow.text_pieces import text_pieces

Pieces: TypeAlias = frozenset[str]

_GO_TEST = re.compile(r"\.((?:Test|Fuzz|Example)\w*)(?:/|$)")


def pieces_of(texts: Mapping[str, str], path: str, test_id: str) -> frozenset[Pieces]:
    """Returns the pieces of each test that an id can mean in a file; empty where it has none, or cannot be read."""
    text, leaf, in_table = texts.get(path, ""), leaf_of(test_id), " > " in test_id
    if leaf not in text and not in_table:
        return frozenset()
    found = python_pieces(text, leaf) if path.endswith(".py") else text_pieces(text, leaf, named_by_table=in_table)
    return frozenset(parts | _data(texts, path, files) for parts, files in found)


def leaf_of(test_id: str) -> str:
    """Returns a test's own name: of pytest's `a.py::C::test_x[1]`, Vitest's `a.ts > adds`, Go's `pkg.TestX/sub`,
    Cargo's `m::x` or unittest's `m.C.test_x`.
    """
    if " > " in test_id:
        return test_id.rpartition(" > ")[2]
    if "::" in test_id:
        return test_id.partition("[")[0].rpartition("::")[2]
    if (go := _GO_TEST.search(test_id)) is not None:
        return go[1]
    return test_id.rpartition(".")[2]


def _data(texts: Mapping[str, str], path: str, files: frozenset[str]) -> Pieces:
    found = ((other, text) for other, text in texts.items() if other != path)
    return frozenset(f"{other}\n{text}" for other, text in found if PurePosixPath(other).name in files)
