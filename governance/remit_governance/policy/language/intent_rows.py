"""The intent matrix as policy files change it: the person's file replaces, a project's only narrows (INT-08). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from remit_governance.errors import Problem
from remit_governance.intents import INTENT_TOOLS, PERSONS_OWN, IntentRow, Matrix, canonical_tool
from remit_governance.policy.language.document import Document
from remit_governance.policy.language.policy_form import IntentForm, IntentsForm
from remit_governance.values import Intent


def change_matrix(matrix: Matrix, form: IntentsForm, *, narrow: bool) -> Matrix:
    """Returns the matrix with the rows of a file; with `narrow` a row keeps what both have."""
    rows = {intent: _changed(row, _row_of(form, intent), narrow=narrow) for intent, row in matrix.items()}
    return MappingProxyType(rows)


def find_widened(matrix: Matrix, form: IntentsForm, document: Document) -> Iterator[Problem]:
    """Yields what a project's file would open that `matrix` does not."""
    for intent, row in matrix.items():
        if (given := _row_of(form, intent)) is None:
            continue
        more = [name for name in given.tools or () if canonical_tool(name) not in row.tools]
        more += [effect.value for effect in given.effects or () if effect not in row.external]
        if more:
            yield document.problem(
                ("intents", intent.value),
                f"{intent} would open {', '.join(more)}, and a project's policy may only narrow",
                "leave it out, or move it to your own policy file",
            )


def find_unknown_tools(form: IntentsForm, document: Document) -> Iterator[Problem]:
    """Yields a warning for each name that is no tool of Remit's: it opens nothing, unless such a tool is added."""
    known = {name for row in INTENT_TOOLS.values() for name in row.tools}
    for intent in INTENT_TOOLS:
        given = _row_of(form, intent)
        for position, name in enumerate(given.tools or () if given else ()):
            if canonical_tool(name) not in known:
                place = ("intents", intent.value, "tools", position)
                yield document.problem(place, f"`{name}` is no tool of Remit's own", "correct it, if it is not added")


def _row_of(form: IntentsForm, intent: Intent) -> IntentForm | None:
    found: IntentForm | None = getattr(form, intent.value)
    return found


def _changed(row: IntentRow, form: IntentForm | None, *, narrow: bool) -> IntentRow:
    if form is None:
        return row
    own = [name for name in row.tools if name in PERSONS_OWN]
    tools = row.tools if form.tools is None else tuple(dict.fromkeys((*map(canonical_tool, form.tools), *own)))
    effects = row.external if form.effects is None else frozenset(form.effects)
    if narrow:
        return IntentRow(tuple(name for name in row.tools if name in tools), row.external & effects)
    return IntentRow(tools, effects)
