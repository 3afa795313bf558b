"""The effect of a command by Remit's own rows and by the rows that a person and a project add (CMD-10)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import partial
from itertools import chain

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import Effect, Entry, OwnRows, Program, Rows, strongest
from remit_governance.policy.shell.effects.judging import effect_in_project, effect_of, plain_name
from remit_governance.policy.shell.effects.program_row import (
    Given,
    effects_said,
    in_every_reading,
    raised_by,
    written_by,
)
from remit_governance.policy.shell.programs import is_known_place


def effect_with(command: tuple[str, ...], own: OwnRows) -> Effect:
    """Returns the effect of a command of at least one word: what the person's row says, or else what Remit knows, but
    at least what the project's rows say.
    """
    known = effect_of(command) if is_known_place(command[0]) else effect_in_project(command)
    if (mine := _row_of_person(command[0], own.person)) is not None:
        name = posixpath.basename(command[0])
        known = in_every_reading(name, command[1:], partial(_by_person, mine, packaged(plain_name(name)), known), mine)
    for row, name in _rows_of_project(command[0], own.project):
        known = strongest([known, in_every_reading(name, command[1:], partial(_by_project, row), row)])
    return known


def files_with(command: tuple[str, ...], own: OwnRows) -> Iterator[str]:
    """Yields the files that a command writes because options name them, by the rows of the person and the project."""
    mine = _row_of_person(command[0], own.person)
    rows = [] if mine is None else [(mine, posixpath.basename(command[0]))]
    for row, name in chain(rows, _rows_of_project(command[0], own.project)):
        yield from written_by(row, name, command[1:], row)


def _row_of_person(program: str, rows: Rows) -> Program | None:
    """Returns the person's row of exactly this program: `./ls` is not `ls`, and may have a row of its own."""
    if program in rows:
        return rows[program]
    return rows.get(posixpath.basename(program)) if is_known_place(program) else None


def _rows_of_project(program: str, rows: Rows) -> Iterator[tuple[Program, str]]:
    """Yields the project's rows that may be about this program, in any folder and of any version, each with the
    program's name."""
    name = posixpath.basename(program)
    for each in dict.fromkeys((program, name, plain_name(name))):
        if each in rows:
            yield rows[each], name


def _by_person(row: Program, known: Program | None, effect: Effect, given: Given) -> Effect:
    said, raising = effects_said(row, given)
    if said is None:
        return strongest((effect, *raising))
    # An option that raises the effect by Remit's row still does, unless the person's row names that option.
    named = frozenset(option for entry in row.entries for option in entry.options)
    return strongest((said, *raising, *(() if known is None else raised_by(known, given, partial(_is_new, named)))))


def _is_new(named: frozenset[str], entry: Entry) -> bool:
    return named.isdisjoint(entry.options)


def _by_project(row: Program, given: Given) -> Effect:
    said, raising = effects_said(row, given)
    return strongest((said or "reads", *raising))
