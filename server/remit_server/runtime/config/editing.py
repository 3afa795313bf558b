"""What an editor shows in a configuration file: completions, explanations and problems (CFG-04)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, create_model

from remit_governance.errors import PolicyError
from remit_governance.policy.editing import completion as files
from remit_governance.policy.editing.completion import Completion, Finding, placed
from remit_governance.policy.editing.hover import Hover
from remit_governance.policy.editing.hover import hover as explain
from remit_governance.policy.editing.schema import Slot
from remit_server.runtime.config.form import SECTIONS, ConfigForm, project_may, variable_of, written
from remit_server.runtime.config.layers import parse

INVALID = "config_invalid"
"""The code of problems that keep a configuration from being used."""


def completions(text: str, offset: int, *, project: bool) -> tuple[Completion, ...]:
    """Finds the keys and words that fit at the offset; for a project's file, those that it may set."""
    return files.completions(text, offset, whole=_PROJECT if project else _WHOLE)


def hover(text: str, offset: int) -> Hover | None:
    """Returns what the setting at the offset means, or None if there is none."""
    return explain(text, offset, whole=_WHOLE)


def findings(file: str, text: str, *, project: bool) -> tuple[Finding, ...]:
    """Finds what is wrong with the text of a file."""
    try:
        parse(file, text, project=project)
    except PolicyError as error:
        return placed(text, error.problems, "error", INVALID, whole=_WHOLE)
    return ()


def _form(*, project: bool) -> type[BaseModel]:
    """Returns the form with descriptions for a person who edits a file: defaults, variables, and what a project may
    do."""
    sections: dict[str, Any] = {}
    for section, form in SECTIONS.items():
        fields: dict[str, Any] = {
            name: (field.annotation, Field(field.default, description=_described(section, name)))
            for name, field in form.model_fields.items()
            if not project or project_may(section, name) != "no"
        }
        if fields:
            made = create_model(form.__name__, __doc__=form.__doc__, **fields)
            sections[section] = (made, made())
    return create_model(ConfigForm.__name__, **sections)


_MAY = {"free": "a project may set it", "tighten": "a project may lower it", "no": "a project may not set it"}


def _described(section: str, name: str) -> str:
    field = SECTIONS[section].model_fields[name]
    default = "" if field.default in (None, ()) else f"; by default `{written(field.default)}`"
    return f"{field.description}{default}; `{variable_of(section, name)}`; {_MAY[project_may(section, name)]}"


_WHOLE = Slot(_form(project=False))
_PROJECT = Slot(_form(project=True))
