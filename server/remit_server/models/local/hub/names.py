"""Names of models on the hub: `org/name`, with `@revision` where it is not the main one."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAIN = "main"
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"(?P<repo>{_PART}/{_PART})(?:@(?P<revision>{_PART}(?:/{_PART})*))?")


@dataclass(frozen=True, slots=True)
class HubName:
    """A repository of the hub at a revision: a branch, a tag or a commit."""

    repo: str
    revision: str = MAIN

    def __str__(self) -> str:
        return self.repo if self.revision == MAIN else f"{self.repo}@{self.revision}"


def hub_name(reference: str) -> HubName | None:
    """Returns the name that `reference` spells; None for other references, such as `./folder`, `/folder` or `folder`.

    An existing folder of that name does not matter: no folder in the workspace replaces a model.
    """
    found = _NAME.fullmatch(reference)
    if found is None or ".." in reference:
        return None
    return HubName(found["repo"], found["revision"] or MAIN)
