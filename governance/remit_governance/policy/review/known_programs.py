"""What is known of programs, as JSON: the list, and all that the rows of one say (CMD-08, CMD-10)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from remit_governance.canonical import Json
from remit_governance.policy.decision.risk import WEIGHTS, word_of
from remit_governance.policy.shell.catalogue.own_rows import OwnRows
from remit_governance.policy.shell.catalogue.packaged import packaged, packaged_names
from remit_governance.policy.shell.catalogue.rows import EFFECTS, Entry, Program


def known_names(own: OwnRows) -> tuple[str, ...]:
    """The programs that have a row, in the order of their names."""
    return tuple(sorted({*packaged_names(), *own.person, *own.project}))


def like(name: str, own: OwnRows) -> str | None:
    """A program that may have been meant."""
    return next(iter(difflib.get_close_matches(name, known_names(own), n=1)), None)


def describe_program(name: str, own: OwnRows) -> dict[str, Json]:
    """`{name, rows}`: each row of a program, the strongest last; none where nothing is known."""
    rows: list[Json] = [{"from": source, **_describe(row)} for source, row in _rows(name, own)]
    return {"name": name, "rows": rows}


def _rows(name: str, own: OwnRows) -> Iterator[tuple[str, Program]]:
    found = (("remit", packaged(name)), ("person", own.person.get(name)), ("project", own.project.get(name)))
    yield from ((source, row) for source, row in found if row is not None)


def _describe(row: Program) -> dict[str, Json]:
    does: dict[str, Json] = {}
    for effect in EFFECTS:
        words = sorted(_words(entry) for entry in row.entries if entry.effect == effect)
        if words:
            does[effect] = {"risk": word_of(WEIGHTS[effect]), "words": list[Json](words)}
    said: dict[str, Json] = {
        "does": does,
        "otherwise": row.otherwise,
        "unlisted": row.unlisted,
        "writes": list[Json](row.writes),
        "options": list[Json]((row.options or "").split()),
        "subcommands": [command.path for command in row.commands],
        "is": " ".join(row.other_name_of),
        "judge": row.judge,
        "refused": row.refused,
        "wraps": None if row.wraps is None else [*sorted(row.wraps.valued), *sorted(row.wraps.plain)],
    }
    return {key: value for key, value in said.items() if value not in (None, "", [], {})}


def _words(entry: Entry) -> str:
    shown = (*entry.operands, *sorted(entry.options))
    return " ".join((*shown, "$") if entry.ends and not entry.options else shown)
