"""What waits for a person's answer, and what of it they leave out so far (LSP-09)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit_server.harness.approval.shown_parts import Part, parts_of

if TYPE_CHECKING:  # slow to import
    from remit_server.contract import ApprovalRequired


@dataclass(frozen=True, slots=True)
class Review:
    """A question with changes, in the workspace folder `root`; `left_out` has the person's words for each part.

    `opened` holds the documents that show it, which go with it; `drawn` says that the client draws it itself.
    """

    question: ApprovalRequired
    root: Path
    opened: ExitStack
    drawn: bool = False
    left_out: Mapping[Part, str | None] = field(default_factory=dict[Part, "str | None"])

    @property
    def parts(self) -> tuple[Part, ...]:
        """What can be taken one by one; nothing where the question has one part only."""
        return parts_of(self.question)

    @property
    def taken(self) -> int:
        """How many parts are not left out."""
        return len(self.parts) - len(self.left_out)


def toggled(review: Review, part: Part, comment: str | None) -> Review:
    """Returns the review with a part left out, or taken again; with a comment it is left out in any case."""
    left = dict(review.left_out)
    if part in left and comment is None:
        del left[part]
    else:
        left[part] = comment
    return replace(review, left_out=left)
