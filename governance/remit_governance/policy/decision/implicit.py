"""The files that start programs or steer agents without being called, from a table that is loaded once (POL-04)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple


class ImplicitFiles(NamedTuple):
    """Files by their folded globs, the program that reads or runs them, and the address of the page that says so."""

    globs: tuple[str, ...]
    reader: str
    source: str


def _rows(text: str) -> Iterator[ImplicitFiles]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            globs, reader, source = line.split(" | ")
            yield ImplicitFiles(tuple(globs.split()), reader, source)


IMPLICIT_FILES = tuple(_rows((files("remit_governance.policy") / "implicit_files.txt").read_text(encoding="utf-8")))
"""The rows of `implicit_files.txt`."""
