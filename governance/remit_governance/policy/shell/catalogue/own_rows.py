"""Rows of programs beside Remit's own: those of the person, which replace what they name, and those of a project, which
only add to what a program is known to do (CMD-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from remit_governance.policy.shell.catalogue.rows import Program

Rows = Mapping[str, Program]
"""Rows by the name of a program, or by how a file of the project is called: `./scripts/lint.sh`."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows:
    """The rows of a person and of a project; two are the same only where they are one.

    `texts` are what they were read from, each with whether it is a project's, and `files` where that lies.
    """

    person: Rows = field(default_factory=dict[str, Program])
    project: Rows = field(default_factory=dict[str, Program])
    texts: tuple[tuple[bool, str], ...] = ()
    files: tuple[str, ...] = ()

    def without_project(self) -> OwnRows:
        """Returns the rows of the person, without those of the project."""
        return replace(self, project={})


NO_ROWS = OwnRows()
"""Remit's own rows alone."""
