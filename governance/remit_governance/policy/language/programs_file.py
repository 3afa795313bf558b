"""A file of rows of programs that a person or a project adds: its text into rows, or what is wrong with it (CMD-10)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import RootModel

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.compile import Source
from remit_governance.policy.language.document import OF_PROJECT, OWN, Document
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.shell.catalogue.own_rows import OwnRows, Rows
from remit_governance.policy.shell.catalogue.program_form import CommandForm, OwnProgramForm
from remit_governance.policy.shell.catalogue.rows import Program


class _ProgramsForm(RootModel[tuple[OwnProgramForm, ...]]):
    root: tuple[OwnProgramForm, ...] = ()


def parse_programs(source: Source) -> Rows:
    """The rows of a file, by the names of their programs. Raises PolicyError with every problem found."""
    if not source.text.strip():
        return {}
    most = OF_PROJECT if source.project else OWN
    document, form = parse_form(source.file, source.text, _ProgramsForm, {"": OwnProgramForm}, CommandForm, most=most)
    rows: dict[str, Program] = {}
    problems: list[Problem] = []
    for at, row in enumerate(form.root):
        program = row.program("project" if source.project else "person")
        for n, name in enumerate(row.programs):
            if name in rows:
                problems.append(_twice(document, at, n, name))
            rows[name] = program
    if problems:
        raise PolicyError(tuple(problems))
    return rows


def _twice(document: Document, at: int, number: int, name: str) -> Problem:
    return document.problem((at, "programs", number), f"`{name}` has two rows", "put them into one")


def own_rows(sources: Sequence[Source]) -> OwnRows:
    """The rows of the person's file and of the project's, where given. Raises PolicyError with every problem."""
    problems: list[Problem] = []
    rows: dict[bool, Rows] = {}
    for source in sources:
        try:
            rows[source.project] = parse_programs(source)
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    texts = tuple((source.project, source.text) for source in sources)
    files = tuple(source.file for source in sources)
    return OwnRows(rows.get(False, {}), rows.get(True, {}), texts, files)
